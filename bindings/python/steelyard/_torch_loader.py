"""The data arguments of steelyard.torch.join(): its own names, those of torch.utils.data.DataLoader, and a
DataLoader as a whole."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Callable, Mapping, Optional

import torch
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, default_collate

from steelyard._errors import refuse
from steelyard._joining import checked_batch
from steelyard._torch_data import Source
from steelyard._torch_order import Order, StreamOrder, grouped_order, order_of, used
from steelyard._torch_stream import Stream, is_stream, stream_of

Collate = Callable[[list[Any]], Any]

# Options of a DataLoader with loader processes, and their defaults. The default of prefetch_factor
# depends on the release of torch.
_OPTIONS = {
    'timeout': 0,
    'worker_init_fn': None,
    'multiprocessing_context': None,
    'generator': None,
    'prefetch_factor': None,
    'persistent_workers': False,
    'pin_memory': False,
    'pin_memory_device': '',
}
_WITHOUT_PROCESSES = ('pin_memory', 'pin_memory_device', 'worker_init_fn', 'generator')  # no effect there


@dataclasses.dataclass
class Data:
    """The samples of a job, and how to read them. `options`: of DataLoader."""

    source: Source
    order: Order
    batch: int
    collate: Optional[Collate]
    workers: int
    options: dict[str, Any]


@dataclasses.dataclass
class Given:
    """The data arguments of join(); None: not given. They are explained there."""

    batch: Optional[int] = None
    samples: Optional[int] = None
    shuffle: Optional[bool] = None
    sampler: Any = None
    batch_sampler: Any = None
    drop_last: Optional[bool] = None
    generator: Optional[torch.Generator] = None
    workers: Optional[int] = None
    collate: Optional[Collate] = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def complete(self, loader: DataLoader[Any]) -> None:
        """Takes over from a DataLoader what is not given."""
        for name in ('shuffle', 'sampler', 'batch_sampler', 'drop_last', 'generator'):
            if getattr(self, name) is not None:
                raise refuse(
                    f'{name} beside a DataLoader: set it in the DataLoader, or give join() the data '
                    'set of the DataLoader'
                )
        taken = taken_from(loader)
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is None:
                setattr(self, field.name, getattr(taken, field.name))
        if self.workers or not loader.num_workers:
            self.options = {**taken.options, **self.options}


def either(ours: str, first: Any, theirs: str, second: Any) -> Any:
    """The value of an option with two names."""
    if first is not None and second is not None and first is not second and first != second:
        raise refuse(f'{ours}={first} and {theirs}={second} are the same option: give one of them')
    return second if first is None else first


def options_of(loader: Optional[Mapping[str, Any]], **named: Any) -> dict[str, Any]:
    """Options of DataLoader, from join(loader=) and from arguments of the same names."""
    options = dict(loader or {})
    for name, value in named.items():
        if value is not None:
            options[name] = either(name, value, f'loader: {name}', options.get(name))
    return options


def taken_from(loader: DataLoader[Any]) -> Given:
    """The options of a DataLoader; raises Failure for those that a job cannot have."""
    kind = type(loader)
    if kind.__iter__ is not DataLoader.__iter__:
        raise refuse(
            f'train is a {kind.__name__}, a DataLoader with an __iter__ of its own, which a job would '
            'not call: give join() its data set'
        )
    if not getattr(loader, 'in_order', True):
        raise refuse('the DataLoader has in_order=False: leave it out, since a job needs the order')
    given = Given(workers=loader.num_workers, drop_last=loader.drop_last)
    if loader.collate_fn is not default_collate:
        given.collate = loader.collate_fn
    if loader.batch_size is not None:
        given.batch = loader.batch_size
        if not is_stream(loader.dataset):
            given.sampler = loader.sampler
    elif loader.batch_sampler is not None:
        given.batch_sampler = loader.batch_sampler
    else:
        raise refuse(
            'the DataLoader has batch_size=None, so its data set yields whole batches: give join() a '
            'data set of single samples, and batch='
        )
    for name, default in _OPTIONS.items():
        value = getattr(loader, name, default)
        processes_only = name not in _WITHOUT_PROCESSES
        if value != default and value is not None and not (processes_only and not loader.num_workers):
            given.options[name] = value
    return given


def data_of(train: Any, test: Any, given: Given) -> Data:
    """Checks the data arguments, and decides the order of the samples."""
    if isinstance(train, DataLoader):
        given.complete(train)
        train = train.dataset
    if isinstance(test, DataLoader):
        test = _test_set(test, given)
    _refuse_unnumbered('test', test)
    workers = given.workers or 0
    if is_stream(train):
        train, order, batch = _stream(train, given)
        if workers > 1:
            warnings.warn(
                f'steelyard: one loader process reads the stream, not {workers}: several would each '
                'read all of it, or lose samples if it divides itself among loader processes',
                stacklevel=3,
            )
            workers = 1
    else:
        _refuse_unnumbered('train', train)
        order, batch = _order(train, given)
    options = dict(given.options)
    if given.generator is not None:
        options['generator'] = given.generator
    if not workers:
        options = {key: it for key, it in options.items() if key not in _WITHOUT_PROCESSES}
    return Data(Source(train, test), order, batch, given.collate, workers, options)


def _order(train: Any, given: Given) -> tuple[Order, int]:
    """The order of a data set, and the global batch."""
    if given.samples is not None:
        raise refuse(
            f'samples={given.samples} is for streams: for a data set with a length, give '
            'sampler=RandomSampler(train, num_samples=...), or leave it out'
        )
    if given.batch_sampler is None:
        batch = _batch(given)
        order = order_of(
            train,
            batch,
            shuffle=given.shuffle,
            sampler=given.sampler,
            drop_last=bool(given.drop_last),
            generator=given.generator,
        )
        return order, batch
    for name in ('sampler', 'shuffle', 'drop_last'):
        if getattr(given, name):
            raise refuse(f'{name} with batch_sampler: the batch sampler decides that; leave it out')
    return grouped_order(train, given.batch_sampler, given.batch)


def _stream(items: Any, given: Given) -> tuple[Stream, Order, int]:
    for name in ('shuffle', 'sampler', 'batch_sampler', 'generator'):
        if getattr(given, name):
            raise refuse(
                f'{name} with a stream: samples are used in the order in which the stream yields '
                'them; leave it out'
            )
    batch = _batch(given)
    stream = stream_of(items, given.samples, batch)
    length = used(stream.samples, batch, bool(given.drop_last))
    return stream, StreamOrder(stream.samples, length), batch


def _batch(given: Given) -> int:
    if given.batch is None:
        raise refuse('batch is missing: give batch=, the samples of a round over all workers')
    return checked_batch(given.batch)


def _refuse_unnumbered(name: str, data: Any) -> None:
    if data is None:
        return
    if is_stream(data) or not hasattr(data, '__getitem__'):
        raise refuse(
            f'{name} has no samples by number: give a data set with __getitem__ and __len__'
            + (', or read it into a list' if name == 'test' else '')
        )
    try:
        len(data)
    except TypeError as why:
        raise refuse(f'{name} has no length: give a data set with __len__') from why


def _test_set(loader: DataLoader[Any], given: Given) -> Any:
    """The data set of a DataLoader of test samples, if all of them are used once."""
    sampler: Any = loader.sampler
    data: Any = loader.dataset
    _refuse_unnumbered('test', data)
    plain = type(sampler) in (SequentialSampler, RandomSampler) and len(sampler) == len(data)
    if loader.batch_size is None or not plain or getattr(sampler, 'replacement', False):
        raise refuse(
            'test is a DataLoader with a sampler: all test samples are used once; give join() the '
            'samples as a data set, such as a Subset'
        )
    if loader.drop_last:
        raise refuse('test has drop_last=True: all test samples are used, so leave it out')
    own = None if loader.collate_fn is default_collate else loader.collate_fn
    if own is not given.collate:
        raise refuse(
            'test has another collate_fn than train: give join() one function for both, or a data '
            'set that yields what this one takes'
        )
    return data
