"""Trains any JAX function of parameters and samples on machines of unequal speed.

    params = steelyard.jax.placed(model.init(key))
    job = steelyard.jax.join(params, (x, y), optimizer={'name': 'adamw', 'lr': 0.001}, batch=512)

    @jax.jit
    @jax.value_and_grad
    def step(params, x, y, weights):
        return jnp.mean(weights * losses(params, x, y))

    for params, (x, y, weights) in job:                  # micro-batches of this worker's share
        job.push(*step(params, x, y, weights))
    if job.main:
        save(job.params)

This is steelyard.arrays for any pytree of parameters. All micro-batches have the same shape, so that
the step is compiled once. They are on the device of the parameters. Gradients are summed on that
device, and copied to the host at the end of a piece. For random numbers use
jax.random.key(job.draw), which is the same on every worker that computes the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

import jax as _jax
import jax.numpy as _jnp
import numpy as np

from steelyard import _cluster, _own_card
from steelyard._errors import refuse
from steelyard._flat import require_float
from steelyard._job_keys import JobKeys
from steelyard._push_job import Request, Score
from steelyard.arrays import ArraysJob, Tree

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ['JaxJob', 'device', 'join', 'placed']

_card = _own_card.with_jax(_jax)


def device() -> Any:
    """The device of this process: $STEELYARD_DEVICE ("cpu", "cuda:0"), otherwise JAX's first device. Of
    several workers that a launcher starts on a machine, each gets its own GPU, as far as there are enough."""
    if _card is not None:
        return _own_card.jax_device(_jax, _card)
    name = _cluster.device_name()
    if name is None:
        return _jax.local_devices()[0]
    kind, _, number = name.partition(':')
    try:
        return _jax.local_devices(backend=kind)[int(number or 0)]
    except (RuntimeError, IndexError, ValueError) as why:
        raise refuse(f'STEELYARD_DEVICE = {name}: JAX has no such device here ({why})') from why


def placed(params: Any) -> Any:
    """Copies the parameters to device()."""
    return _jax.device_put(params, device())


class JaxJob(ArraysJob):
    """A job with a pytree as parameters; see steelyard.arrays.ArraysJob."""

    def __init__(
        self, request: Request, tree: 'PyTree', optimizer: Mapping[str, Any], place: Any
    ) -> None:
        self._place = place
        super().__init__(request, tree, optimizer, 'cpu' if place.platform == 'cpu' else 'gpu')

    def _leaf(self, first: Any, part: np.ndarray) -> Any:
        return _jax.device_put(part.astype(first.dtype, copy=False), self._place)

    def _given(self, batch: tuple[np.ndarray, ...]) -> Any:
        return self.params, _jax.device_put(batch, self._place)

    def _scored(self, score: Score, batch: tuple[np.ndarray, ...]) -> Any:
        return score(self.params, *_jax.device_put(batch, self._place))

    def _added(self, total: Any, gradients: list[Any], weight: float) -> list[Any]:
        return _scaled(gradients, weight) if total is None else _plus(total, gradients, weight)


class PyTree(Tree):
    """The leaves of a pytree, and their paths, joined by dots."""

    def __init__(self, params: Any) -> None:
        paths, self._shape = _jax.tree_util.tree_flatten_with_path(params)
        self.names = ['.'.join(map(_word, path)) or 'params' for path, _ in paths]
        self.leaves = [_jnp.asarray(leaf) for _, leaf in paths]
        for name, leaf in zip(self.names, self.leaves):
            require_float(name, leaf.dtype)

    def rebuilt(self, leaves: Sequence[Any]) -> Any:
        return _jax.tree_util.tree_unflatten(self._shape, leaves)

    def matched(self, gradients: Any) -> list[Any]:
        leaves, shape = _jax.tree_util.tree_flatten(gradients)
        if shape != self._shape:
            raise refuse(
                f'the gradients are not arranged like the parameters: {shape} is not {self._shape}'
            )
        return leaves


def join(
    params: Any,
    train: Any,
    *,
    optimizer: Mapping[str, Any],
    batch: int,
    epochs: Optional[int] = None,
    rounds: Optional[int] = None,
    test: Any = None,
    score: Optional[Score] = None,
    clip_norm: float = 0,
    micro_batch: Optional[int] = None,
    seed: int = 1,
    name: Optional[str] = None,
    job: Optional[Mapping[str, Any]] = None,
    resume: bool = False,
    run_dir: Optional[str] = None,
    verbose: bool = True,
    **more: Unpack[JobKeys],
) -> JaxJob:
    """Joins a job, or starts one, and returns it. Arguments as for steelyard.arrays.join(), except

    params   a pytree of real arrays. The device of its first leaf is used; see placed()"""
    request = Request.of(locals())
    tree = PyTree(params)
    place = next(iter(tree.leaves[0].devices())) if tree.leaves else device()
    return JaxJob(request, tree, optimizer, place)


def _word(key: Any) -> str:
    """One element of a path as text: a dictionary's key, an index, or an attribute's name."""
    for attribute in ('key', 'idx', 'name'):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


@_jax.jit
def _scaled(gradients: list[Any], weight: float) -> list[Any]:
    return [it.astype(_jnp.float32) * weight for it in gradients]


@_jax.jit
def _plus(total: list[Any], gradients: list[Any], weight: float) -> list[Any]:
    return [it + more.astype(_jnp.float32) * weight for it, more in zip(total, gradients)]
