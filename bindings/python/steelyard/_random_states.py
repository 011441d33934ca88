"""Random generators that are seeded for a purpose, without a trace in the rest of the program."""

from __future__ import annotations

import hashlib
import random
import sys
from typing import Any, Iterator

import torch

_LIMIT = 2**32  # of numpy.random.seed


class RandomStates:
    """`with RandomStates(text, owner): ...` seeds the global generators of torch (CPU), random and
    numpy.random by `text`, and restores them afterwards. It does the same for generators in attributes
    of `owner`, and mixes in the seed that each of them has. Entered again, it continues the sequences."""

    def __init__(self, text: str, owner: Any = None) -> None:
        self._text = text
        self._generators = list(_generators_of(owner))
        self._inner: Any = None

    def __enter__(self) -> None:
        self._outer = self._states()
        if self._inner is None:
            self._seed()
        else:
            self._load(self._inner)

    def __exit__(self, *error: object) -> None:
        self._inner = self._states()
        self._load(self._outer)

    def _seed(self) -> None:
        torch.default_generator.manual_seed(_number(self._text))
        random.seed(_number(self._text))
        if _numpy() is not None:
            _numpy().seed(_number(self._text) % _LIMIT)
        for it in self._generators:
            it.manual_seed(_number(f'{self._text} {it.initial_seed()}'))

    def _states(self) -> tuple[Any, ...]:
        numpy = _numpy().get_state() if _numpy() is not None else None
        own = [it.get_state() for it in self._generators]
        return torch.get_rng_state(), random.getstate(), numpy, own

    def _load(self, states: tuple[Any, ...]) -> None:
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        if states[2] is not None:
            _numpy().set_state(states[2])
        for it, state in zip(self._generators, states[3]):
            it.set_state(state)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), 'little') >> 1


def _numpy() -> Any:
    """numpy.random if the program uses NumPy."""
    numpy = sys.modules.get('numpy')
    return getattr(numpy, 'random', None)


def _generators_of(owner: Any) -> Iterator[torch.Generator]:
    """Generators of torch in attributes of a sampler, and of samplers inside it."""
    for it in vars(owner).values() if hasattr(owner, '__dict__') else ():
        if isinstance(it, torch.Generator):
            yield it
        elif isinstance(it, torch.utils.data.Sampler):
            yield from _generators_of(it)
