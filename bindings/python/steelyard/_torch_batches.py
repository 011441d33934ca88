"""steelyard.torch.loader(): the batches of a script that keeps its loop; and the order of samples if a batch
has several exchanges."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, cast

import torch
from torch.utils.data import RandomSampler

from steelyard import _joining
from steelyard._errors import refuse
from steelyard._job_keys import check_arguments
from steelyard._joining import job_keys, placed
from steelyard._ordered_worker import ordered
from steelyard._pieces import dividing
from steelyard._torch_copy import OwnLayout
from steelyard._torch_data import Reader, refuse_in_reader
from steelyard._torch_loader import Data, Given, data_of, either, options_of
from steelyard._torch_module import Parallel
from steelyard._torch_order import Order, SampledOrder
from steelyard._torch_parallel import ParallelJob
from steelyard._torch_parameters import has_batch_norm


class Loader:
    """Yields this worker's batches: its shares of the global batches. Each `for` over it is one epoch; the job
    ends with its last one.

    loader.dataset     the data set
    loader.batch_size  samples of a global batch
    loader.job         the job: job.main, job.epoch, job.worker, job.about"""

    def __init__(self, job: ParallelJob, dataset: Any, batch: int, rounds: int) -> None:
        self.job, self.dataset, self.batch_size = job, dataset, batch
        self.sampler, self.batch_sampler, self.drop_last = self, None, False
        self._rounds = rounds

    def __iter__(self) -> Iterator[Any]:
        return self.job.batches()

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        return self._rounds

    def set_epoch(self, epoch: int) -> None:
        """For scripts that set the epoch of a DistributedSampler. Has no effect: the job counts epochs."""


class RepeatedOrder(Order):
    """An order in which each global batch comes `times` times, as rounds of their own. Numbers of -1 fill the
    last batch of an epoch. `rounds`: batches of an epoch that are used; default: all.

    order.start  batches that an earlier run has used, over all epochs; they are left out"""

    own = True

    def __init__(self, inner: Order, batch: int, times: int, rounds: Optional[int] = None) -> None:
        self._rounds = -(-inner.length // batch) if rounds is None else rounds
        super().__init__(self._rounds * batch * times, f'{inner.mark}, {times} times')
        self._inner, self._batch, self._times = inner, batch, times
        self.start = 0

    def numbers(self, seed: int, epoch: int, begin: int, end: int) -> Sequence[int]:
        numbers: list[int] = []
        while begin < end:
            number, offset = divmod(begin, self._batch)
            its_epoch, row = divmod(
                self.start + epoch * self._rounds + number // self._times, self._rounds
            )
            first = row * self._batch + offset
            count = min(end - begin, self._batch - offset)
            there = max(0, min(count, self._inner.length - first))
            if there:
                numbers += self._inner.numbers(seed, its_epoch, first, first + there)
            numbers += [-1] * (count - there)
            begin += count
        return numbers

    def ends(self, seed: int, epoch: int) -> Optional[Sequence[int]]:
        return None


def parallel(model: torch.nn.Module) -> Parallel:
    """Prepares a model whose script keeps its loop: gradients are averaged over all workers at the end of each
    loss.backward(), as with DistributedDataParallel. See loader()."""
    if isinstance(model, Parallel):
        raise refuse('parallel() got a model that parallel() has made: give it the module')
    return Parallel(model)


def loader(
    dataset: Any,
    model: Parallel,
    *,
    epochs: int,
    batch_size: Optional[int] = None,
    backwards: int = 1,
    shuffle: Optional[bool] = None,
    sampler: Any = None,
    batch_sampler: Any = None,
    drop_last: Optional[bool] = None,
    samples: Optional[int] = None,
    num_workers: Optional[int] = None,
    collate_fn: Any = None,
    generator: Optional[torch.Generator] = None,
    options: Optional[Mapping[str, Any]] = None,
    seed: int = 1,
    name: Optional[str] = None,
    job: Optional[Mapping[str, Any]] = None,
    resume: bool = False,
    run_dir: Optional[str] = None,
    verbose: bool = True,
    **more: Any,
) -> Loader:
    """Joins a job, or starts one, and returns a loader of this worker's batches.

    dataset     a data set, or a DataLoader, whose options are taken over
    model       made by parallel()
    epochs      for-loops over the loader; the job ends after the last one
    batch_size  samples of a global batch, over all workers
    backwards   how often the loop calls loss.backward() for a batch, each before an optimizer step. Above 1,
                shares are equal: with another policy=, samples of a worker that begins to rest may count in
                some of the exchanges only
    options     further options of DataLoader

    All other arguments are those of join()."""
    check_arguments(locals())
    refuse_in_reader()
    if not isinstance(model, Parallel):
        raise refuse('loader() needs the model: give it what steelyard.torch.parallel(model) has returned')
    if backwards < 1:
        raise refuse(f'backwards = {backwards}: give at least 1')
    data = data_of(
        dataset,
        None,
        Given(
            batch_size,
            samples,
            shuffle,
            sampler,
            batch_sampler,
            drop_last,
            generator,
            num_workers,
            collate_fn,
            options_of(options),
        ),
    )
    order = data.order if backwards == 1 else repeated(data, data.batch, backwards)
    made = joined(
        model.module,
        data,
        order,
        batch=data.batch,
        epochs=epochs,
        backwards=backwards,
        seed=seed,
        name=name,
        job=job,
        resume=resume,
        run_dir=run_dir,
        verbose=verbose,
        more=more,
    )
    model.attach(made)
    return Loader(made, dataset, data.batch, -(-order.length // data.batch) // backwards)


def joined(
    model: torch.nn.Module,
    data: Data,
    order: Order,
    *,
    batch: int,
    epochs: Optional[int],
    rounds: Optional[int] = None,
    backwards: int = 1,
    parts: Callable[[int], int] = lambda number: 1,
    seed: int = 1,
    name: Optional[str] = None,
    job: Optional[Mapping[str, Any]] = None,
    resume: bool = False,
    run_dir: Optional[str] = None,
    verbose: bool = True,
    more: Mapping[str, Any] = {},
) -> ParallelJob:
    """Joins a job. `batch`: samples of a round. `parts`: see ParallelJob; other arguments: see loader()."""
    layout = OwnLayout(model)
    place = layout.parameters[0].tensor.device
    reader = Reader(data.source, data.collate, data.workers, place.type == 'cuda', data.options)
    reader.start()
    keys: dict[str, Any] = {'train.optimizer': 'worker'}
    if backwards > 1:
        # Each exchange of a batch is a round. A worker that rests in the second one could not push.
        keys['cluster.policy'] = 'equal'
    keys = job_keys(
        keys,
        batch=batch,
        epochs=epochs,
        rounds=rounds,
        clip_norm=0,
        seed=seed,
        name=name,
        more=more,
        job=job,
    )
    about = {
        'tensors': layout.described(),
        'data': data.source.kind,
        'train_samples': order.length,
        'test_samples': 0,
        'grain': dividing(batch, 8) if has_batch_norm(model) else 1,
        'data_hash': order.mark,
    }
    description, cluster = placed(keys, about, place.type, resume, run_dir, verbose)
    weights = layout.flat()
    return ParallelJob(
        model,
        layout,
        reader,
        batch,
        backwards,
        description,
        weights.data_ptr(),
        cluster,
        parts=parts,
        factory=ordered(_joining.worker_factory, order, False),
        resume=resume,
    )


def repeated(data: Data, batch: int, times: int, rounds: Optional[int] = None) -> RepeatedOrder:
    """The order of the data, in rounds of one size; see RepeatedOrder."""
    inner = data.order
    if not inner.own:
        sampler = RandomSampler(cast(Any, data.source.train))
        inner = SampledOrder(sampler, 'sampler', data.source.border, inner.length)
    return RepeatedOrder(inner, batch, times, rounds)
