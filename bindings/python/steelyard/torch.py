"""Trains any PyTorch module on machines of unequal speed, on any mix of CPUs and GPUs.

    job = steelyard.torch.join(model, optimizer, train_set, batch=512, epochs=10)
    for x, y in job:                             # micro-batches of this worker's share
        job.backward(cross_entropy(model(x), y))  # a mean over the micro-batch, as usual
    if job.main:
        torch.save(model.state_dict(), 'model.pt')

Run alone, such a script starts a private cluster. `steelyard run -n 3 train.py` starts three workers
on this machine, `steelyard launch hosts.toml train.py` starts workers on many machines. `batch` is
the global batch of all workers; the script does not depend on the number of workers.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional

import torch as _torch

from steelyard import _cluster, _joining
from steelyard._errors import refuse
from steelyard._job_keys import JobKeys, check_arguments
from steelyard._joining import job_keys, placed
from steelyard._ordered_worker import ordered
from steelyard._pieces import dividing
from steelyard._schedule import Length
from steelyard._torch_batches import Loader, loader, parallel
from steelyard._torch_copy import OwnLayout
from steelyard._torch_data import Reader, Source, refuse_in_reader
from steelyard._torch_evaluation import Score
from steelyard._torch_job import Parts, TorchJob as Job
from steelyard._torch_loader import Collate, Given, data_of, either, options_of
from steelyard._torch_micro_batch import FIRST, MicroBatch, refuse_lone_sample
from steelyard._torch_module import Parallel
from steelyard._torch_optimizer import translate
from steelyard._torch_order import refuse_uneven_groups
from steelyard._torch_parameters import Layout, has_batch_norm
from steelyard._torch_rounds import Round, RoundJob

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ['Job', 'Loader', 'Parallel', 'Round', 'RoundJob', 'device', 'join', 'loader', 'parallel']


def device() -> _torch.device:
    """The device of this process: $STEELYARD_DEVICE, otherwise a CUDA device if available, otherwise
    the CPU. Of several workers that a launcher starts on a machine, each gets its own CUDA device, as far as
    there are enough. CUDA_VISIBLE_DEVICES is respected."""
    name = _cluster.device_name()
    if name is None:
        there = _torch.cuda.device_count() if _torch.cuda.is_available() else 0
        name = f'cuda:{_cluster.own_device(there)}' if there else 'cpu'
    found = _torch.device(name)
    if found.type == 'cuda' and found.index is not None:
        _torch.cuda.set_device(found)
    return found


def join(
    model: _torch.nn.Module,
    optimizer: Optional[_torch.optim.Optimizer],
    train: Any,
    *,
    step: str = 'servers',
    batch: Optional[int] = None,
    epochs: Optional[int] = None,
    rounds: Optional[int] = None,
    test: Any = None,
    score: Optional[Score] = None,
    schedule: Any = None,
    schedule_per: str = 'epoch',
    clip_norm: float = 0,
    micro_batch: Optional[int] = None,
    shuffle: Optional[bool] = None,
    sampler: Any = None,
    batch_sampler: Any = None,
    drop_last: Optional[bool] = None,
    samples: Optional[int] = None,
    workers: Optional[int] = None,
    collate: Optional[Collate] = None,
    batch_size: Optional[int] = None,
    num_workers: Optional[int] = None,
    collate_fn: Optional[Collate] = None,
    generator: Optional[_torch.Generator] = None,
    pin_memory: Optional[bool] = None,
    prefetch_factor: Optional[int] = None,
    persistent_workers: Optional[bool] = None,
    multiprocessing_context: Any = None,
    worker_init_fn: Optional[Callable[[int], None]] = None,
    loader: Optional[Mapping[str, Any]] = None,
    fp16: bool = False,
    overlap: bool = True,
    seed: int = 1,
    name: Optional[str] = None,
    job: Optional[Mapping[str, Any]] = None,
    resume: bool = False,
    run_dir: Optional[str] = None,
    verbose: bool = True,
    **more: Unpack[JobKeys],
) -> Job:
    """Joins a job, or starts one, and returns it.

    model         any module; the initial weights of the first worker are used. Frozen parameters,
                  and parameters in no group of the optimizer, must be equal on all workers
    optimizer     torch.optim.SGD, Adam or AdamW; servers take its steps. With step="here", any optimizer,
                  or None
    step          "here": the script takes the optimizer steps, on every worker; iterate over
                  job.rounds() then (class RoundJob)
    train, test   data sets with __getitem__ and __len__. train may also be a stream: an iterable that
                  can be read several times. Both may be a DataLoader, whose options are taken over
    batch         samples in a round, over all workers
    epochs, rounds  length of the job; default 10 epochs
    score         score(model, x, y) returns the mean loss of a micro-batch of `test`, or (mean
                  loss, number of correct answers), or these and the weight of the micro-batch, as
                  in job.backward(). Without it there is no evaluation
    schedule      a scheduler of torch.optim.lr_scheduler on the optimizer; do not step it.
                  schedule_per: "epoch" or "round"
    clip_norm     the gradient of a round is scaled down to this norm if it is longer; 0: never
    micro_batch   samples in each micro-batch, on all workers; shares are multiples of it. Default:
                  each worker tunes its own; with batch norm 32
    shuffle       default: True; False: in the order of the data set
    sampler       a Sampler of torch.utils.data, or a list of sample numbers: the order of an epoch, and
                  its length. It is drawn from the seed and the epoch
    batch_sampler  its lists are the rounds if they have one length; with another `batch`, a round has
                  several lists or parts of them, and a micro-batch lies within one
    drop_last     leaves out the last round of an epoch if it is shorter than the others
    samples       of a stream: its samples in an epoch
    workers       number of loader processes; collate: makes a batch of a list of samples
    batch_size, num_workers, collate_fn  the names of DataLoader for batch, workers and collate
    generator, pin_memory, prefetch_factor, persistent_workers, multiprocessing_context, worker_init_fn
                  as in DataLoader. The order follows from the seed of `generator` and from `seed`
    loader        further options of DataLoader, such as {'timeout': 60}
    fp16          scales the loss, for torch.autocast in float16. bfloat16 does not need it
    overlap       sends gradients during backward
    seed          of the order of samples and of dropout
    name          of the job; run directories are named after it. Default: the script's file name
    resume, run_dir  for a private cluster: whether to resume from a checkpoint, and the directory
                  of results. In other clusters the command line sets these
    verbose       for a private cluster: whether it shows progress and a summary
    job           further keys of a job file: {"cluster.policy": "equal"}
    more          further keys of [train] and [cluster] without section: policy="equal"

    Workers that join later must have the same model, sizes and lengths; all other settings are
    those of the first worker."""
    check_arguments(locals())
    refuse_in_reader()
    if test is not None and score is None:
        raise refuse(
            'test without score: give score(model, x, y), which returns the mean loss, or (mean '
            'loss, number of correct answers)'
        )
    given = Given(
        either('batch', batch, 'batch_size', batch_size),
        samples,
        shuffle,
        sampler,
        batch_sampler,
        drop_last,
        generator,
        either('workers', workers, 'num_workers', num_workers),
        either('collate', collate, 'collate_fn', collate_fn),
        options_of(
            loader,
            pin_memory=pin_memory,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            multiprocessing_context=multiprocessing_context,
            worker_init_fn=worker_init_fn,
        ),
    )
    data = data_of(train, test, given)
    batch = data.batch
    length = Length(data.order.length, batch, epochs, rounds)
    here = _steps_here(optimizer, step, schedule, fp16)
    if here or optimizer is None:
        optimizer_keys: dict[str, Any] = {'train.optimizer': 'worker'}
        layout: Layout = OwnLayout(model)
    else:
        translation = translate(optimizer, schedule, schedule_per, length)
        optimizer_keys, layout = translation.keys, Layout(model, translation.factors)
    place = layout.parameters[0].tensor.device
    batch_norm = has_batch_norm(model)
    one_size = micro_batch is not None or batch_norm
    size = _size(micro_batch, batch, one_size, place)
    if batch_norm:
        refuse_lone_sample(model, size.size, data.order.length, batch, rounds)
        refuse_uneven_groups(data.order, batch)
    reader = Reader(data.source, data.collate, data.workers, place.type == 'cuda', data.options)
    reader.start()
    parts = Parts(
        model,
        layout,
        place,
        reader,
        data.order,
        data.source.border,
        score,
        size,
        one_size,
        overlap,
        fp16,
        seed,
        None if here else optimizer,
    )
    keys = job_keys(
        optimizer_keys,
        batch=batch,
        epochs=epochs,
        rounds=rounds,
        clip_norm=clip_norm,
        seed=seed,
        name=name,
        more=more,
        job=job,
    )
    kind = functools.partial(RoundJob, parts, optimizer) if here else functools.partial(Job, parts)
    return _made(kind, parts, data.source, keys, size.size if one_size else 1, resume, run_dir, verbose)


def _steps_here(optimizer: Any, step: str, schedule: Any, fp16: bool) -> bool:
    """Whether the script takes the optimizer steps."""
    if step not in ('here', 'servers'):
        raise refuse(f'step = {step!r}: give "here" or "servers"')
    if step == 'servers' and optimizer is not None:
        return False
    if schedule is not None:
        raise refuse(
            'schedule= is for servers that take the steps: leave it out, call schedule.step() after '
            'optimizer.step(), and job.keep(schedule=schedule) once'
        )
    if fp16:
        raise refuse(
            'fp16=True is for servers that take the steps: use torch.autocast in bfloat16, which needs '
            'no scale of the loss'
        )
    return True



def _size(given: Optional[int], batch: int, one_size: bool, place: _torch.device) -> MicroBatch:
    if given is not None:
        if given < 1:
            raise refuse(f'micro_batch = {given}: give at least 1')
        if batch % min(given, batch):
            nearest = max(it for it in range(1, given) if batch % it == 0)
            raise refuse(
                f'micro_batch = {given} does not divide batch = {batch}, and all micro-batches have '
                f'this size: give {nearest}, or another batch'
            )
        return MicroBatch(given, place, batch, fixed=True)
    if one_size:
        return MicroBatch(dividing(batch), place, batch, fixed=True)
    return MicroBatch(FIRST, place, batch, fixed=False)


def _made(
    kind: Callable[..., Job],
    parts: Parts,
    source: Source,
    keys: dict[str, Any],
    grain: int,
    resume: bool,
    run_dir: Optional[str],
    verbose: bool,
) -> Job:
    layout = parts.layout
    about = {
        'tensors': layout.described(),
        'data': source.kind,
        'train_samples': parts.order.length,
        'test_samples': len(source.test) if source.test is not None else 0,
        'grain': grain,
    }
    marks = [layout.frozen_hash(), parts.order.mark if parts.order.own else '']
    # Without any mark, a worker with another order would not be noticed.
    about['data_hash'] = ' '.join(it for it in marks if it) or parts.order.mark
    description, cluster = placed(keys, about, parts.device.type, resume, run_dir, verbose)
    weights = layout.flat()
    return kind(
        description,
        weights.data_ptr(),
        cluster,
        factory=ordered(_joining.worker_factory, parts.order, has_batch_norm(parts.model)),
        resume=resume,
    )
