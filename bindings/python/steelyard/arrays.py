"""Trains with any code that computes gradients of arrays: NumPy, autograd, or your own library.

    job = steelyard.arrays.join(params, (x, y), optimizer={'name': 'adamw', 'lr': 0.001},
                                batch=512, epochs=10)
    for params, (x, y, weights) in job:                  # micro-batches of this worker's share
        loss, gradients = value_and_grad(params, x, y, weights)
        job.push(loss, gradients)
    if job.main:
        numpy.savez('model.npz', **job.params)

Run alone, such a script starts a private cluster; docs/python.md explains how to run it with many
workers. Servers take the optimizer steps.

`params` is an array, or a nested dictionary, list, or tuple of arrays. Gradients must have the same
structure and shapes. All micro-batches have one size. `weights` has a number for each sample, so that
mean(weights * losses) is the mean loss. If a micro-batch is padded, the weights of padding are zero,
and the others are above one.

Memory is never shared: arrays are copied in and out, by NumPy's protocol or by DLPack. Arrays that
the loop yields are read-only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence

import numpy as np

from steelyard._errors import refuse
from steelyard._flat import Entry, Flat, require_float
from steelyard._job_keys import JobKeys
from steelyard._plain_optimizer import translated
from steelyard._push_job import PushJob, Request, Score

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ['ArraysJob', 'join']


class ArraysJob(PushJob):
    """A job with arrays as parameters; see PushJob. job.params: the current parameters; after the
    loop, the final ones."""

    def __init__(
        self, request: Request, tree: 'Tree', optimizer: Mapping[str, Any], kind: str
    ) -> None:
        self._tree = tree
        self.params: Any = None
        entries = [Entry(name, tuple(leaf.shape)) for name, leaf in zip(tree.names, tree.leaves)]
        super().__init__(request, Flat(entries), tree.leaves, translated(optimizer), kind)

    def _take(self, parts: list[np.ndarray]) -> None:
        self.params = self._tree.rebuilt(
            [self._leaf(*pair) for pair in zip(self._tree.leaves, parts)]
        )

    def _leaf(self, first: Any, part: np.ndarray) -> Any:
        """Converts a part of the buffer to the type of the user's array."""
        leaf = part.astype(first.dtype, copy=False)
        leaf.flags.writeable = False
        return leaf

    def _given(self, batch: tuple[np.ndarray, ...]) -> Any:
        return self.params, batch

    def _listed(self, gradients: Any) -> list[Any]:
        return self._tree.matched(gradients)

    def _scored(self, score: Score, batch: tuple[np.ndarray, ...]) -> Any:
        return score(self.params, *batch)


class Tree:
    """Arrays in nested dictionaries, lists and tuples. `leaves`: the arrays in order; `names`: their
    paths, joined by dots."""

    def __init__(self, params: Any) -> None:
        self._params = params
        named = _walked(params, '')
        self.names = [name or 'params' for name, _ in named]
        self.leaves: list[Any] = [leaf for _, leaf in named]
        for name, leaf in zip(self.names, self.leaves):
            if not hasattr(leaf, 'dtype') or not hasattr(leaf, 'shape'):
                raise refuse(
                    f'{name} is a {type(leaf).__name__}: give an array, or arrays in '
                    'dictionaries, lists and tuples'
                )
            require_float(name, leaf.dtype)

    def rebuilt(self, leaves: Sequence[Any]) -> Any:
        """The same structure with other arrays."""
        return _replaced(self._params, iter(leaves))

    def matched(self, gradients: Any) -> list[Any]:
        """The arrays of gradients in the order of the leaves; raises Failure if the structure differs."""
        named = _walked(gradients, '')
        names = [name or 'params' for name, _ in named]
        if names != self.names:
            other = next(iter(set(names) ^ set(self.names)), 'their order')
            raise refuse(f'the gradients are not arranged like the parameters: {other} differs')
        return [leaf for _, leaf in named]


def join(
    params: Any,
    train: Any,
    *,
    optimizer: Mapping[str, Any],
    batch: int,
    epochs: Optional[int] = None,
    rounds: Optional[int] = None,
    test: Any = None,
    score: Optional[Callable[..., Any]] = None,
    clip_norm: float = 0,
    micro_batch: Optional[int] = None,
    seed: int = 1,
    name: Optional[str] = None,
    job: Optional[Mapping[str, Any]] = None,
    resume: bool = False,
    run_dir: Optional[str] = None,
    verbose: bool = True,
    **more: Unpack[JobKeys],
) -> ArraysJob:
    """Joins a job, or starts one, and returns it.

    params        initial parameters; those of the first worker are used
    train, test   tuples of arrays with one row for each sample, or data sets with __getitem__ and
                  __len__ that return tuples
    optimizer     {'name': 'adamw', 'lr': 0.001} and further keys of [train] (weight_decay,
                  momentum, beta1, ...). Names: sgd, momentum, nesterov, adam, adamw, lars, lamb
    batch         samples in a round, over all workers
    epochs, rounds  length of the job; default 10 epochs
    score         score(params, x, y, weights) returns the mean loss of a micro-batch of `test`, or
                  (mean loss, boolean array of correct answers)
    clip_norm     the gradient of a round is scaled down to this norm if it is longer; 0: never
    micro_batch   samples per micro-batch, on all workers; shares are multiples of it. Default 32,
                  or less if 32 does not divide the batch
    seed          of the order of samples
    name          of the job; run directories are named after it
    resume, run_dir  for a private cluster: whether to resume from a checkpoint, and the directory
                  of results. In other clusters the command line sets these
    verbose       for a private cluster: whether it shows progress and a summary
    job           further keys of a job file: {"policy.lb-bsp.predictor": "ema"}
    more          further keys of [train] and [cluster] without section: policy="equal"

    Workers that join later must have the same shapes, sizes and lengths; all other settings are
    those of the first worker."""
    request = Request.of(locals())
    return ArraysJob(request, Tree(params), optimizer, 'cpu')


def _walked(tree: Any, name: str) -> list[tuple[str, Any]]:
    """(name, leaf) in order; dictionaries are sorted by their keys as strings."""
    if isinstance(tree, Mapping):
        inner = [(str(key), tree[key]) for key in sorted(tree, key=str)]
    elif isinstance(tree, (list, tuple)):
        inner = [(str(number), it) for number, it in enumerate(tree)]
    else:
        return [(name, tree)]
    return [leaf for key, it in inner for leaf in _walked(it, f'{name}.{key}' if name else key)]


def _replaced(tree: Any, leaves: Any) -> Any:
    if isinstance(tree, Mapping):
        found = {key: _replaced(tree[key], leaves) for key in sorted(tree, key=str)}
        return {key: found[key] for key in tree}
    if isinstance(tree, tuple) and hasattr(tree, '_fields'):
        return type(tree)(*(_replaced(it, leaves) for it in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_replaced(it, leaves) for it in tree)
    return next(leaves)
