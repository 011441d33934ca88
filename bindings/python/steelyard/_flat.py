"""Copies arrays to and from one flat buffer of 32-bit floats, with NumPy. Memory is never shared."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Iterable, Sequence

import numpy as np

from steelyard._errors import refuse

_FLOATS = ('float32', 'float64', 'bfloat16')


@dataclasses.dataclass
class Entry:
    """A tensor at floats [begin, end) of the buffer. `decay`: a factor on the job's weight decay.
    `averaged`: without optimizer step; workers push its change, and servers average the changes."""

    name: str
    shape: tuple[int, ...]
    averaged: bool = False
    decay: float = 1.0
    begin: int = 0

    @property
    def end(self) -> int:
        return self.begin + math.prod(self.shape)

    def described(self) -> dict[str, Any]:
        """This tensor's entry in "tensors" of steelyard_join()."""
        about: dict[str, Any] = {'name': self.name, 'shape': list(self.shape)}
        if self.averaged:
            return {**about, 'rule': 'mean'}
        return {**about, 'decay': self.decay}


class Flat:
    """The layout of a buffer: contiguous entries, in this order."""

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
        """The list "tensors" of steelyard_join()."""
        return [it.described() for it in self.entries]

    def gathered(self, arrays: Sequence[Any]) -> np.ndarray:
        """Copies all arrays into a new buffer. `arrays`: one for each entry, anything that
        numpy.asarray() accepts."""
        into = np.empty(self.size, np.float32)
        for part, array in zip(self.parts(into), arrays):
            part[...] = as_numpy(array)
        return into

    def parts(self, flat: np.ndarray) -> list[np.ndarray]:
        """A view of each entry in a flat buffer, with the entry's shape."""
        return [flat[it.begin : it.end].reshape(it.shape) for it in self.entries]


def as_numpy(array: Any) -> np.ndarray:
    """Converts objects that support NumPy's array protocol or DLPack; copies only if necessary."""
    if hasattr(array, '__dlpack__') and not hasattr(array, '__array__'):
        return np.from_dlpack(array)
    return np.asarray(array)


def require_float(name: str, dtype: Any) -> None:
    """Raises Failure if the dtype cannot be sent as 32-bit floats."""
    if str(dtype) == 'float16':
        raise refuse(
            f'{name} is of float16, and its range is too small for parameters: keep the '
            'parameters in float32; computation may use any type'
        )
    if str(dtype) not in _FLOATS:
        raise refuse(
            f'{name} is of {dtype}, but servers support real numbers only: remove it from the '
            'parameters'
        )
