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
from typing import Any, Callable, Mapping, Optional

import torch as _torch

from steelyard import _cluster, _joining
from steelyard._errors import refuse
from steelyard._joining import checked_batch, job_keys, placed
from steelyard._pieces import dividing
from steelyard._schedule import Length
from steelyard._torch_copy import OwnLayout
from steelyard._torch_data import Reader, refuse_in_reader, source_of
from steelyard._torch_job import Parts, Score, TorchJob as Job
from steelyard._torch_micro_batch import FIRST, MicroBatch
from steelyard._torch_optimizer import translate
from steelyard._torch_parameters import Layout, has_batch_norm
from steelyard._torch_rounds import Round, RoundJob

__all__ = ['Job', 'Round', 'RoundJob', 'device', 'join']


def device() -> _torch.device:
    """The device of this process: $STEELYARD_DEVICE, otherwise a CUDA device if available, otherwise
    the CPU."""
    name = _cluster.device_name()
    if name is None:
        name = 'cuda' if _torch.cuda.is_available() else 'cpu'
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
    batch: int,
    epochs: Optional[int] = None,
    rounds: Optional[int] = None,
    test: Any = None,
    score: Optional[Score] = None,
    schedule: Any = None,
    schedule_per: str = 'epoch',
    clip_norm: float = 0,
    micro_batch: Optional[int] = None,
    workers: int = 0,
    collate: Optional[Callable[[list[Any]], Any]] = None,
    loader: Optional[Mapping[str, Any]] = None,
    fp16: bool = False,
    overlap: bool = True,
    seed: int = 1,
    name: Optional[str] = None,
    job: Optional[Mapping[str, Any]] = None,
    resume: bool = False,
    run_dir: Optional[str] = None,
    **more: Any,
) -> Job:
    """Joins a job, or starts one, and returns it.

    model         any module; the initial weights of the first worker are used. Frozen parameters,
                  and parameters in no group of the optimizer, must be equal on all workers
    optimizer     torch.optim.SGD, Adam or AdamW; servers take its steps. With step="here", any optimizer,
                  or None
    step          "here": the script takes the optimizer steps, on every worker; iterate over
                  job.rounds() then (class RoundJob)
    train, test   data sets with __getitem__ and __len__
    batch         samples in a round, over all workers
    epochs, rounds  length of the job; default 10 epochs
    score         score(model, x, y) returns the mean loss of a micro-batch of `test`, or (mean
                  loss, number of correct answers). Without it there is no evaluation
    schedule      a scheduler of torch.optim.lr_scheduler on the optimizer; do not step it.
                  schedule_per: "epoch" or "round"
    clip_norm     the gradient of a round is scaled down to this norm if it is longer; 0: never
    micro_batch   samples per micro-batch; default: tuned automatically, or 32 with batch norm
    workers       number of loader processes; collate, loader: collate_fn and other options of
                  DataLoader
    fp16          scales the loss, for torch.autocast in float16. bfloat16 does not need it
    overlap       sends gradients during backward
    seed          of the order of samples and of dropout
    name          of the job; run directories are named after it. Default: the script's file name
    resume, run_dir  for a private cluster: whether to resume from a checkpoint, and the directory
                  of results. In other clusters the command line sets these
    job           further keys of a job file: {"cluster.policy": "equal"}
    more          further keys of [train] and [cluster] without section: policy="equal"

    Workers that join later must have the same model, sizes and lengths; all other settings are
    those of the first worker."""
    refuse_in_reader()
    batch, test = _checked(batch, score, test)
    source = source_of(train, test)
    length = Length(len(source.train), batch, epochs, rounds)
    here = _steps_here(optimizer, step, schedule, fp16)
    if here or optimizer is None:
        optimizer_keys: dict[str, Any] = {'train.optimizer': 'worker'}
        layout: Layout = OwnLayout(model)
    else:
        translation = translate(optimizer, schedule, schedule_per, length)
        optimizer_keys, layout = translation.keys, Layout(model, translation.factors)
    place = layout.parameters[0].tensor.device
    one_size = has_batch_norm(model)
    size = _size(micro_batch, batch, one_size, place)
    reader = Reader(source, collate, workers, place.type == 'cuda', loader)
    reader.start()
    parts = Parts(
        model, layout, place, reader, len(source.train), score, size, one_size, overlap, fp16, seed
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
    return _made(kind, parts, source, keys, size.size if one_size else 1, resume, run_dir)


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
            'fp16=True is for servers that take the steps: use torch.amp.GradScaler, and '
            'job.keep(scaler=scaler)'
        )
    return True


def _checked(batch: int, score: Optional[Score], test: Any) -> tuple[int, Any]:
    if test is not None and score is None:
        raise refuse(
            'test without score: give score(model, x, y), which returns the mean loss, or (mean '
            'loss, number of correct answers)'
        )
    return checked_batch(batch), test


def _size(given: Optional[int], batch: int, one_size: bool, place: _torch.device) -> MicroBatch:
    if given is not None:
        if given < 1:
            raise refuse(f'micro_batch = {given}: give at least 1')
        return MicroBatch(given, place, batch, fixed=True)
    if one_size:
        return MicroBatch(dividing(batch), place, batch, fixed=True)
    return MicroBatch(FIRST, place, batch, fixed=False)


def _made(
    kind: Callable[..., Job],
    parts: Parts,
    source: Any,
    keys: dict[str, Any],
    grain: int,
    resume: bool,
    run_dir: Optional[str],
) -> Job:
    layout = parts.layout
    about = {
        'tensors': layout.described(),
        'data': type(source.train).__name__,
        'train_samples': len(source.train),
        'test_samples': len(source.test) if source.test is not None else 0,
        'grain': grain,
    }
    mark = layout.frozen_hash()
    if mark:
        about['data_hash'] = mark
    description, cluster = placed(keys, about, parts.device.type, resume, run_dir)
    weights = layout.flat()
    return kind(
        description,
        weights.data_ptr(),
        cluster,
        factory=_joining.worker_factory,
        resume=resume,
    )
