"""What this package needs of CUDA devices: pinned memory, streams, events, and copies that run beside the host.

    cuda.run(stream, lambda: there.copy_(here, non_blocking=True))
    copied = cuda.record(stream)
    ...
    cuda.synchronize(copied)                      # now the values are there

Tests replace `cuda` by a device that does its work only when it is waited for, which finds a missing wait.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional

import torch

_PORTABLE = 1  # cudaHostRegisterPortable: for all devices


class Cuda:
    """Streams are those of torch.cuda. Any thread."""

    def has(self, device: torch.device) -> bool:
        """Whether its work is enqueued to streams."""
        return device.type == 'cuda'

    def pinned(self, floats: int) -> torch.Tensor:
        """New page-locked memory of the host, uninitialised."""
        return torch.empty(floats, dtype=torch.float32, pin_memory=True)

    def empty(self, floats: int, device: torch.device) -> torch.Tensor:
        """New memory of the device for work on its current stream, uninitialised."""
        return torch.empty(floats, dtype=torch.float32, device=device)

    def current(self, device: torch.device) -> Any:
        """The stream of this thread on which PyTorch computes now."""
        return torch.cuda.current_stream(device)

    def stream(self, device: torch.device) -> Any:
        """A new stream."""
        return torch.cuda.Stream(device)

    def run(self, stream: Any, work: Callable[[], Any]) -> None:
        """Enqueues what `work` does with tensors."""
        with torch.cuda.stream(stream), torch.no_grad():
            work()

    def record(self, stream: Any) -> Any:
        """An event that happens when all work enqueued so far is done."""
        event = torch.cuda.Event(blocking=True)  # the host sleeps in synchronize(), without the GIL
        event.record(stream)
        return event

    def wait(self, stream: Any, event: Any) -> None:
        """Work enqueued from now on waits for the event."""
        stream.wait_event(event)

    def synchronize(self, event: Any) -> None:
        """The host waits for the event."""
        event.synchronize()

    def bring(self, tensor: torch.Tensor, device: torch.device, stream: Any) -> torch.Tensor:
        """The tensor on the device, to be used on the current stream there after the work that `stream` has now."""
        if tensor.device.type != 'cpu' or tensor.layout != torch.strided:
            return tensor.to(device, non_blocking=True)
        pinned = tensor if tensor.is_pinned() else tensor.pin_memory()
        with torch.cuda.stream(stream):
            there = pinned.to(device, non_blocking=True)
        there.record_stream(torch.cuda.current_stream(device))  # its memory is not reused before that
        return there

    def register(self, floats: torch.Tensor, device: torch.device) -> bool:
        """Page-locks memory of the host where it is, until unregister(). Returns False if that is refused."""
        done: list[bool] = []

        def register() -> None:
            try:
                with torch.cuda.device(device):
                    runtime: Any = torch.cuda.cudart()
                    code = runtime.cudaHostRegister(floats.data_ptr(), 4 * floats.numel(), _PORTABLE)
                    done.append(int(code) == 0)
            except Exception:  # not in this release of PyTorch
                pass

        # An error of the CUDA runtime is kept for the thread that made the call, and PyTorch would find it there.
        thread = threading.Thread(target=register, name='steelyard-register')
        thread.start()
        thread.join()
        return done == [True]

    def unregister(self, address: int) -> None:
        runtime: Any = torch.cuda.cudart()
        runtime.cudaHostUnregister(address)


cuda = Cuda()


class Upload:
    """Copies floats from any memory of the host to a device without waiting for the copy: through two pinned
    buffers in turn. The host waits only for the copy before the last, of at most `most` floats."""

    def __init__(self, device: torch.device, most: int = 1 << 22) -> None:
        self._device, self._most = device, most
        self._buffers: list[torch.Tensor] = []
        self._copied: list[Optional[Any]] = [None, None]
        self._turn = 0

    def start(self, floats: torch.Tensor) -> torch.Tensor:
        """The floats on the device, for work on its current stream. `floats` may change after this."""
        count = floats.numel()
        size = min(count, self._most)
        if not self._buffers or self._buffers[0].numel() < size:
            self._buffers = [cuda.pinned(size) for _ in range(2)]
            self._copied = [None, None]
        there, stream = cuda.empty(count, self._device), cuda.current(self._device)
        for begin in range(0, count, size or 1):
            self._turn = 1 - self._turn
            copied = self._copied[self._turn]
            if copied is not None:
                cuda.synchronize(copied)
            part = floats[begin : begin + size]
            pinned = self._buffers[self._turn][: part.numel()].copy_(part)
            self._enqueue(stream, there[begin : begin + size], pinned)
            self._copied[self._turn] = cuda.record(stream)
        return there

    @staticmethod
    def _enqueue(stream: Any, into: torch.Tensor, pinned: torch.Tensor) -> None:
        cuda.run(stream, lambda: into.copy_(pinned, non_blocking=True))
