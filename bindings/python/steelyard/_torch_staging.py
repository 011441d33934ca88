"""Copies gradients from CUDA devices to host memory while the device continues to compute."""

from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Optional

import torch

from steelyard._torch_parameters import Layout, view_of

Arrived = Callable[[int, torch.Tensor], None]


class DeviceStager:
    """Calls `arrived(index, staged)` on a background thread when a gradient is in pinned memory."""

    def __init__(self, layout: Layout, arrived: Arrived) -> None:
        self._layout, self._arrived = layout, arrived
        self._staging = torch.empty(layout.parameters[-1].end, pin_memory=True)
        self._streams: dict[torch.device, torch.cuda.Stream] = {}
        self._lock = threading.Lock()
        self._under_way: 'queue.Queue[Optional[tuple[int, Any, Any]]]' = queue.Queue()
        self._trouble: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._post, name='steelyard-post', daemon=True)
        self._thread.start()

    def send(self, index: int, gradient: torch.Tensor) -> None:
        """Starts the copy of a gradient. Called from a hook; all work on the gradient must already be
        enqueued on the current stream."""
        staged = view_of(self._staging, self._layout.parameters[index])
        if gradient.device.type != 'cuda':
            staged.copy_(gradient)
            self._under_way.put((index, None, None))
            return
        with torch.cuda.device(gradient.device), torch.no_grad():
            ready = torch.cuda.Event()
            ready.record(torch.cuda.current_stream(gradient.device))
            stream = self._stream(gradient.device)
            stream.wait_event(ready)
            with torch.cuda.stream(stream):
                # The gradient stays allocated until settle(); temporaries of the copy belong to
                # this stream.
                staged.copy_(gradient, non_blocking=True)
                copied = torch.cuda.Event()
                copied.record(stream)
        self._under_way.put((index, copied, gradient))  # keeps the gradient alive until it is copied

    def copy(self, into: list[torch.Tensor], sources: list[torch.Tensor]) -> None:
        """Copies gradients and waits until they have arrived."""
        at, staged = 0, []
        for source in sources:
            place = self._staging[at : at + source.numel()].view(source.shape)
            place.copy_(source, non_blocking=True)
            staged.append(place)
            at += source.numel()
        for device in {it.device for it in sources if it.device.type == 'cuda'}:
            torch.cuda.current_stream(device).synchronize()
        for one, place in zip(into, staged):
            one.copy_(place)

    def settle(self) -> None:
        """Waits for all copies started by send(); raises the exception of `arrived` if there was one."""
        self._under_way.join()
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble

    def close(self) -> None:
        self._under_way.put(None)
        self._thread.join()

    def _stream(self, device: torch.device) -> torch.cuda.Stream:
        with self._lock:
            if device not in self._streams:
                self._streams[device] = torch.cuda.Stream(device)
            return self._streams[device]

    def _post(self) -> None:
        while True:
            item = self._under_way.get()
            try:
                if item is None:
                    return
                index, copied, _ = item
                if copied is not None:
                    copied.synchronize()  # without the GIL
                self._arrived(index, view_of(self._staging, self._layout.parameters[index]))
            except BaseException as trouble:  # re-raised by settle()
                self._trouble = trouble
            finally:
                self._under_way.task_done()


def dense(gradient: Optional[torch.Tensor]) -> torch.Tensor:
    """The gradient as a dense tensor; embeddings may have sparse ones."""
    assert gradient is not None
    gradient = gradient.detach()
    return gradient.to_dense() if gradient.is_sparse else gradient
