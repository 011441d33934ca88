"""Steelyard: trains neural networks on machines of unequal speed.

`steelyard.torch`, `steelyard.keras` and `steelyard.jax` train models of these frameworks,
`steelyard.arrays` trains with any code that computes gradients of arrays. `steelyard.balance`
divides batches for your own training loop. `steelyard.ray` and `steelyard.dask` run jobs on
clusters of these engines, and `steelyard.track` logs runs to MLflow and Weights & Biases. Each is imported
on first use, and none needs the others.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import typing

from steelyard._errors import Failure

if typing.TYPE_CHECKING:
    from steelyard import arrays, balance, jax, keras, torch

    __version__: str

__all__ = ['Failure', 'arrays', 'balance', 'jax', 'keras', 'torch']

_SUBMODULES = frozenset(
    'accelerate arrays balance dask jax keras lightning ray torch track transformers'.split()
)


def _version() -> str:
    try:
        return importlib.metadata.version('steelyard')
    except importlib.metadata.PackageNotFoundError:  # the source tree, or a distribution's package
        library = importlib.import_module('steelyard._library').library()
        return str(library.steelyard_version().decode())


def __getattr__(name: str) -> typing.Any:
    if name == '__version__':
        return _version()
    if name in _SUBMODULES:
        return importlib.import_module(f'steelyard.{name}')
    raise AttributeError(f'module steelyard has no attribute {name!r}')


def __dir__() -> list[str]:
    return sorted(set(globals()) | _SUBMODULES | {'__version__'})
