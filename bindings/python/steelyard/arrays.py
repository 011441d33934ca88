"""Any code that computes gradients of arrays: NumPy, autograd, a library of your own.

    job = steelyard.arrays.join(params, (x, y), optimizer={'name': 'adamw', 'lr': 0.001},
                                batch=512, epochs=10)
    for params, (x, y, weights) in job:                  # micro-batches of this worker's share
        loss, gradients = value_and_grad(params, x, y, weights)
        job.push(loss, gradients)
    if job.main:
        numpy.savez('model.npz', **job.params)

Run alone, such a script is a whole cluster; docs/python.md says how it has many workers. Servers
take the steps.

`params` is an array, or a dictionary, list, or tuple of such, of any depth. Gradients have the same
shape. All micro-batches have one size. `weights` has a number for each sample: mean(weights *
losses) is the mean loss. Where a micro-batch is not full some of them are zero, and the others are
above one.

What may be aliased: nothing. Arrays are copied in and out, by NumPy's
protocol or by DLPack; those that the loop gives cannot be
written to.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from steelyard._errors import refuse
from steelyard._flat import Entry, Flat, require_float
from steelyard._plain_optimizer import translated
from steelyard._push_job import PushJob, Request, Score

__all__ = ['ArraysJob', 'join']


class ArraysJob(PushJob):
    """A job whose parameters are arrays; see PushJob. job.params are those at hand; after the loop,
    the final ones."""

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
        """An array of the user's kind."""
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
    """Arrays in dictionaries, lists and tuples. `leaves`: in order; `names`: where each is, with
    points."""

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
        """The same with other arrays."""
        return _replaced(self._params, iter(leaves))

    def matched(self, gradients: Any) -> list[Any]:
        """Arrays of something of the same shape, in the order of the leaves."""
        named = _walked(gradients, '')
        names = [name or 'params' for name, _ in named]
        if names != self.names:
            other = next(iter(set(names) ^ set(self.names)), 'their order')
            raise refuse(f'the gradients are not arranged as the parameters are: {other} differs')
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
    **more: Any,
) -> ArraysJob:
    """Joins a job, or begins one, and returns it.

    params        the first parameters. Those of the first worker count
    train, test   a tuple of arrays, whose first axis is that of the samples; or data sets with
                  __getitem__ and __len__ whose samples are tuples
    optimizer     {'name': 'adamw', 'lr': 0.001} and further keys of [train] (weight_decay,
                  momentum, beta1, ...); or sgd, momentum, nesterov, adam, lars, lamb
    batch         samples in a round, over all workers
    epochs, rounds  how long; neither: 10 epochs
    score         score(params, x, y, weights) gives the mean loss of a micro-batch of `test`, or
                  (mean loss, an array that says for each sample whether its answer is right)
    clip_norm     longer gradients of a round are scaled down to this norm; 0: never
    micro_batch   samples computed at once, by all workers; shares are multiples of it. Left out:
                  32, or less if that does not divide the batch
    seed          of the order of samples
    name          of the job; run directories are called after it
    resume, run_dir  of the cluster of a lone process: where results are written, and whether to go
                  on from the checkpoint there. Else the command line says so
    job           further keys of a job file: {"policy.lb-bsp.predictor": "ema"}
    more          further keys of [train] and [cluster] by their bare names: policy="equal"

    Later workers have to come with the same shapes, sizes and lengths; the rest is that of the
    job."""
    request = Request.of(locals())
    return ArraysJob(request, Tree(params), optimizer, 'cpu')


def _walked(tree: Any, name: str) -> list[tuple[str, Any]]:
    """Leaves with their names, in order; dictionaries in the order of their keys as text."""
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
