"""Copies a model's tensors to and from one flat buffer.

The buffer holds first the parameters of the optimizer, in the order of state_dict(), then the float
buffers of the model. Workers push the change of a buffer, and servers average the changes. A tied
parameter is one entry with several names. Frozen parameters, and those in no group of the optimizer,
are not sent; they must be equal on all workers, and their hash is compared. Integer buffers, and
buffers that are not in state_dict(), stay local to each worker.

The flat buffer is float32, row-major, on the CPU. Tensors may have any stride, device, and
real floating type: they are copied, never shared.
"""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence

import torch

from steelyard import _torch_device
from steelyard._errors import refuse
from steelyard._torch_device import Upload
from steelyard._torch_optimizer import Factors

if TYPE_CHECKING:
    from steelyard._torch_staging import DeviceStager


@dataclasses.dataclass
class Entry:
    """A tensor at floats [begin, end) of the flat buffer."""

    names: list[str]  # in state_dict(); several if it is tied
    tensor: torch.Tensor
    begin: int
    factors: Optional[Factors] = None  # for parameters; None: a buffer, which is averaged

    @property
    def end(self) -> int:
        return self.begin + self.tensor.numel()

    @property
    def is_parameter(self) -> bool:
        return self.factors is not None

    def described(self) -> dict[str, Any]:
        """This tensor's entry in "tensors" of steelyard_join()."""
        about: dict[str, Any] = {'name': self.names[0], 'shape': list(self.tensor.shape)}
        if self.factors is None:
            return {**about, 'rule': 'mean'}
        return {**about, 'rate': self.factors.rate, 'decay': self.factors.decay}


class Layout:
    """The layout of a model's flat buffer. `factors`: by id() of each parameter of the optimizer."""

    def __init__(
        self, model: torch.nn.Module, factors: dict[int, Factors], frozen: bool = False
    ) -> None:
        """`frozen`: whether parameters that require no gradient are entries, too."""
        _refuse_modules(model)
        stepped: dict[int, Entry] = {}
        averaged: dict[int, Entry] = {}
        self._frozen: dict[str, torch.Tensor] = {}
        # Name, parameter of the optimizer, and whether it is trained.
        self.requirements: list[tuple[str, torch.Tensor, bool]] = []
        unknown = set(factors)
        for name, tensor in _named_tensors(model):
            parameter = isinstance(tensor, torch.nn.Parameter)
            if id(tensor) in unknown:
                self.requirements.append((name, tensor, tensor.requires_grad))
            unknown.discard(id(tensor))
            if parameter and (tensor.requires_grad or frozen) and id(tensor) in factors:
                _require_real(name, tensor)
                entry = stepped.setdefault(id(tensor), Entry([], tensor, 0, factors[id(tensor)]))
                entry.names.append(name)
            elif parameter or not _can_be_averaged(tensor):
                if parameter or (tensor.is_floating_point() and tensor.layout == torch.strided):
                    self._frozen[name] = tensor
            else:
                averaged.setdefault(id(tensor), Entry([], tensor, 0)).names.append(name)
        if unknown:
            raise refuse(
                f'the optimizer has {len(unknown)} parameters that the model does not have: add '
                'the module that holds them to the model'
            )
        if not stepped:
            raise refuse(
                'the optimizer has no parameter of the model that requires a gradient, so nothing '
                'would be trained: give it model.parameters()'
            )
        self.entries = list(stepped.values()) + list(averaged.values())
        at = 0
        for entry in self.entries:
            entry.begin = at
            at = entry.end
        self.size = at
        self.parameters = [it for it in self.entries if it.is_parameter]
        self.buffers = [it for it in self.entries if not it.is_parameter]
        self._uploads: dict[torch.device, Upload] = {}

    def described(self) -> list[dict[str, Any]]:
        """The list "tensors" of steelyard_join()."""
        return [entry.described() for entry in self.entries]

    def frozen_hash(self) -> str:
        """A hash of the tensors that are used but not sent; empty without such tensors."""
        if not self._frozen:
            return ''
        mark = hashlib.blake2b(digest_size=8)
        for name, tensor in self._frozen.items():
            mark.update(f'{name} {tuple(tensor.shape)} '.encode())
            plain = tensor.detach().to('cpu', torch.float32).contiguous()
            mark.update(ctypes.string_at(plain.data_ptr(), plain.numel() * plain.element_size()))
        return mark.hexdigest()

    def flat(self) -> torch.Tensor:
        """Copies all entries into a new flat buffer."""
        into = torch.empty(self.size)
        with torch.no_grad():
            for entry in self.entries:
                view_of(into, entry).copy_(entry.tensor.detach())
        return into

    def load(self, flat: torch.Tensor) -> None:
        """Copies a flat buffer into the tensors of the model, with one grouped copy per device."""
        self.copy_out(flat, [(it, it.tensor.detach()) for it in self.entries if it.tensor.numel()])

    def copy_out(self, flat: torch.Tensor, pairs: Sequence[tuple[Entry, torch.Tensor]]) -> None:
        """Copies the parts of a flat buffer that belong to these entries, in their order, into the tensors.
        `flat` may change after this, even if a device has yet to copy."""
        groups: dict[torch.device, list[tuple[Entry, torch.Tensor]]] = {}
        for entry, into in pairs:
            groups.setdefault(into.device, []).append((entry, into))
        for device, its in groups.items():
            entries, places = [it for it, _ in its], [it for _, it in its]
            if _torch_device.cuda.has(device):
                self._copy_to(device, flat, entries, places)
                continue
            there, begin = flat, 0
            if device.type != 'cpu':  # one large transfer instead of many small ones
                begin = entries[0].begin
                there = flat[begin : entries[-1].end].to(device)
            with torch.no_grad():
                copy_all(places, [view_of(there, it, begin) for it in entries])

    def _copy_to(
        self, device: torch.device, flat: torch.Tensor, entries: list[Entry], places: list[torch.Tensor]
    ) -> None:
        begin = entries[0].begin
        upload = self._uploads.setdefault(device, Upload(device))
        there = upload.start(flat[begin : entries[-1].end])
        cuda = _torch_device.cuda
        cuda.run(
            cuda.current(device), lambda: copy_all(places, [view_of(there, it, begin) for it in entries])
        )

    def write_buffers(
        self, into: torch.Tensor, pulled: torch.Tensor, weight: float, stager: Optional[DeviceStager] = None
    ) -> None:
        """Writes the changes of all buffers since load(pulled), times `weight`. `stager`: whose task has the
        buffer `into`, if tensors are on a device; waits for all of its copies."""
        with torch.no_grad():
            self._copy_buffers(into, stager)
            for entry in self.buffers:
                view_of(into, entry).sub_(view_of(pulled, entry)).mul_(weight)

    def _copy_buffers(self, into: torch.Tensor, stager: Optional[DeviceStager]) -> None:
        for index, entry in enumerate(self.buffers, len(self.parameters)):
            if stager is None:
                view_of(into, entry).copy_(entry.tensor.detach())
            else:
                stager.send(index, entry.tensor.detach(), tell=False)
        if stager is not None:
            stager.settle()


def view_of(flat: torch.Tensor, entry: Entry, first: int = 0) -> torch.Tensor:
    """A view of an entry, with its shape, in a flat buffer that begins at float `first`."""
    return flat[entry.begin - first : entry.end - first].view(entry.tensor.shape)


def copy_all(into: list[torch.Tensor], sources: list[torch.Tensor]) -> None:
    """Copies many tensors, in one call if this release of torch supports it."""
    grouped = getattr(torch, '_foreach_copy_', None)
    if grouped is not None:
        grouped(into, sources)
        return
    for one, source in zip(into, sources):
        one.copy_(source)


def has_batch_norm(model: torch.nn.Module) -> bool:
    return any(isinstance(it, torch.nn.modules.batchnorm._BatchNorm) for it in model.modules())


def _named_tensors(model: torch.nn.Module) -> Iterable[tuple[str, torch.Tensor]]:
    """Yields parameters and buffers under each of their names: first those of state_dict(), in its
    order, then other parameters."""
    seen = set()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if isinstance(tensor, torch.Tensor):
            seen.add(id(tensor))
            yield name, tensor
    for name, parameter in model.named_parameters():
        if id(parameter) not in seen:
            yield name, parameter


def _refuse_modules(model: torch.nn.Module) -> None:
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.SyncBatchNorm):
            raise refuse(
                f'{name} is a SyncBatchNorm, which waits for all workers in each micro-batch: '
                'use BatchNorm; its running statistics are averaged over all workers'
            )
        if isinstance(module, torch.nn.parallel.DistributedDataParallel):
            raise refuse(
                'the model is wrapped in DistributedDataParallel: give join() model.module'
            )
    for name, parameter in model.named_parameters():
        if isinstance(parameter, torch.nn.parameter.UninitializedParameter):
            raise refuse(f'{name} has no shape yet: run the model on one batch before join()')


def _require_real(name: str, tensor: torch.Tensor) -> None:
    if not tensor.is_floating_point():
        raise refuse(
            f'{name} is of {tensor.dtype}, but servers support real numbers only: split it into '
            'two parameters, or freeze it'
        )
    if tensor.dtype == torch.float16:
        raise refuse(
            f'{name} is of float16, and its range is too small for parameters: keep the model in '
            'float32 and compute under torch.autocast, with fp16=True in join()'
        )
    if tensor.layout != torch.strided:
        raise refuse(f'{name} is sparse: make it a dense parameter, or freeze it')


def _can_be_averaged(tensor: torch.Tensor) -> bool:
    """False for non-float buffers, and for masks with infinities, as inf - inf is not a number."""
    return (
        tensor.is_floating_point()
        and tensor.layout == torch.strided
        and bool(torch.isfinite(tensor.detach()).all())
    )
