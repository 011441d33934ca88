"""Tensors as one flat buffer of 32-bit floats, and back, by NumPy. They are copied, never
shared."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Iterable, Sequence

import numpy as np

from steelyard._errors import refuse

_FLOATS = ('float32', 'float64', 'bfloat16')


@dataclasses.dataclass
class Entry:
    """A tensor at [begin, end) of the buffer. `decay`: a factor on the job's weight decay.
    `averaged`: not stepped; what is pushed is how far it moved."""

    name: str
    shape: tuple[int, ...]
    averaged: bool = False
    decay: float = 1.0
    begin: int = 0

    @property
    def end(self) -> int:
        return self.begin + math.prod(self.shape)

    def described(self) -> dict[str, Any]:
        """As a description of steelyard_join() lists it."""
        about: dict[str, Any] = {'name': self.name, 'shape': list(self.shape)}
        if self.averaged:
            return {**about, 'rule': 'mean'}
        return {**about, 'decay': self.decay}


class Flat:
    """The layout of a buffer: entries behind one another, in this order."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = list(entries)
        at = 0
        for entry in self.entries:
            entry.begin = at
            at = entry.end
        self.size = at
        names: set[str] = set()
        for entry in self.entries:
            if entry.name in names:
                raise refuse(f'two tensors are called {entry.name}: give them different names')
            names.add(entry.name)
        if not any(it.end > it.begin for it in self.entries if not it.averaged):
            raise refuse('there are no parameters to train')

    def described(self) -> list[dict[str, Any]]:
        """The tensors of a description of steelyard_join()."""
        return [it.described() for it in self.entries]

    def gathered(self, arrays: Sequence[Any]) -> np.ndarray:
        """All of them in a new buffer. `arrays`: one for each entry, anything that numpy.asarray()
        takes."""
        into = np.empty(self.size, np.float32)
        for part, array in zip(self.parts(into), arrays):
            part[...] = as_numpy(array)
        return into

    def parts(self, flat: np.ndarray) -> list[np.ndarray]:
        """Each entry's place in a buffer, in its shape."""
        return [flat[it.begin : it.end].reshape(it.shape) for it in self.entries]


def as_numpy(array: Any) -> np.ndarray:
    """Anything that speaks NumPy's protocol, or DLPack; copied only if need be."""
    if hasattr(array, '__dlpack__') and not hasattr(array, '__array__'):
        return np.from_dlpack(array)
    return np.asarray(array)


def require_float(name: str, dtype: Any) -> None:
    """Raises for what cannot be sent as 32-bit floats."""
    if str(dtype) == 'float16':
        raise refuse(
            f'{name} is of float16, which is too narrow for what servers send: keep the '
            'parameters in float32, and compute in what you like'
        )
    if str(dtype) not in _FLOATS:
        raise refuse(
            f'{name} is of {dtype}, and servers have real numbers only: keep it out of the '
            'parameters'
        )
