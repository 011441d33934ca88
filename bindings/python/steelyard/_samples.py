"""Batches of samples by number, from arrays or a map-style data set, as NumPy arrays."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from steelyard._errors import refuse
from steelyard._pieces import filled, weights_of


class SampleSource:
    """`data`: an array, a tuple of arrays of equal length, or a data set with __getitem__ and __len__
    that returns arrays, numbers, or tuples of these. `name`: of the argument, for errors."""

    def __init__(self, data: Any, name: str) -> None:
        self.kind = type(data).__name__
        self._arrays = _arrays_of(data, name)
        self._data = data
        if not self._arrays and not (hasattr(data, '__getitem__') and hasattr(data, '__len__')):
            raise refuse(
                f'{name} has no samples by number: give arrays, as in {name}=(x, y), or a data set '
                'with __getitem__ and __len__'
            )
        self._count = len(self._arrays[0]) if self._arrays else len(data)
        if not self._count:
            raise refuse(f'{name} has no samples')

    def __len__(self) -> int:
        return self._count

    def batch(self, numbers: Sequence[int], size: int) -> tuple[np.ndarray, ...]:
        """New arrays: the fields of these samples, padded to `size`, and last their weights."""
        fields = self._fields(list(numbers))
        if len(numbers) < size:
            again = filled(len(numbers), size)
            fields = [it[again] for it in fields]
        return (*fields, np.array(weights_of(len(numbers), size), np.float32))

    def _fields(self, numbers: list[int]) -> list[np.ndarray]:
        if self._arrays:
            return [it[numbers] for it in self._arrays]
        samples = [self._data[it] for it in numbers]
        if isinstance(samples[0], (tuple, list)):
            return [np.stack([np.asarray(it) for it in field]) for field in zip(*samples)]
        return [np.stack([np.asarray(it) for it in samples])]


def _arrays_of(data: Any, name: str) -> list[Any]:
    """The arrays in `data`; an empty list if it is a data set."""
    if _is_array(data):
        data = (data,)
    if not isinstance(data, tuple):
        return []
    for number, field in enumerate(data):
        if not _is_array(field):
            raise refuse(
                f'{name}[{number}] is a {type(field).__name__}: give a tuple of arrays with one '
                'row for each sample'
            )
    lengths = [len(it) for it in data]
    if len(set(lengths)) != 1:
        raise refuse(
            f'the arrays of {name} have {", ".join(map(str, lengths))} samples: give arrays of '
            'equal length'
        )
    return [it if isinstance(it, np.ndarray) else np.asarray(it) for it in data]


def _is_array(it: Any) -> bool:
    return hasattr(it, 'dtype') and len(getattr(it, 'shape', ())) > 0
