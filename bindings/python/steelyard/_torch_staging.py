"""Copies gradients from devices to the task's buffer while the devices continue to compute.

The buffer is one of a few, which the library keeps until the worker is freed (steelyard_next()). Each is
page-locked where it is when it is first used, and gradients are copied there at once. If the system refuses, they
go through pinned memory, and a thread copies them from there.

Gradients are copied in buckets of about 1 MB, each with one event: an event for each tensor takes longer than the
copy of a small one.
"""

from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Optional

import torch

from steelyard import _torch_device
from steelyard._torch_parameters import Entry, Layout, view_of

Arrived = Callable[[int], None]

BUCKET = 1 << 18  # floats


class _Bucket:
    """Gradients of one device, computed on one of its streams."""

    def __init__(self, stream: Any, tell: bool) -> None:
        self.stream, self.tell = stream, tell
        self.gradients: list[tuple[int, torch.Tensor, float]] = []  # entry, gradient, factor
        self.floats = 0


class _Copies:
    """Copies on their way. Holds the gradients, which must stay allocated."""

    def __init__(self, bucket: _Bucket, event: Any) -> None:
        self.bucket, self.event = bucket, event


class DeviceStager:
    """Calls `arrived(index)` when a gradient is in the task's buffer: on a background thread, or within send() for
    a gradient in memory of the host. Numbers are those of the layout's entries: buffers of the model follow its
    parameters. `bucket`: floats that are copied together."""

    def __init__(self, layout: Layout, arrived: Arrived, bucket: int = BUCKET) -> None:
        self._layout, self._arrived, self._size = layout, arrived, bucket
        self._cuda = _torch_device.cuda
        devices = [it.tensor.device for it in layout.parameters]
        self._device = next(it for it in devices if self._cuda.has(it))
        self._registered: dict[int, bool] = {}  # by the address of a task's buffer: whether it is page-locked
        self._into = torch.empty(0)  # the task's buffer
        self._staging: Optional[torch.Tensor] = None  # between devices and that buffer, if that is not page-locked
        self._streams: dict[torch.device, Any] = {}
        self._buckets: dict[torch.device, _Bucket] = {}  # not yet being copied
        self._lock = threading.Lock()  # of the two dictionaries: autograd has a thread for each device
        self._under_way: 'queue.Queue[Optional[_Copies]]' = queue.Queue()
        self._trouble: Optional[BaseException] = None
        self._thread: Optional[threading.Thread] = None  # from the first task on

    def begin_task(self, into: torch.Tensor) -> None:
        """`into`: the task's buffer. No copy may be under way."""
        self._into = into
        if self._thread is None:
            self._thread = threading.Thread(target=self._post, name='steelyard-post', daemon=True)
            self._thread.start()
        address = into.data_ptr()
        if address not in self._registered:
            self._registered[address] = self._cuda.register(into, self._device)
        if self._registered[address]:
            self._staging = None
        elif self._staging is None:
            self._staging = self._cuda.pinned(self._layout.size)

    def send(self, index: int, gradient: torch.Tensor, tell: bool = True, factor: float = 1.0) -> None:
        """Copies a gradient, times `factor`, to the task's buffer, soon. All work on the gradient must already be
        enqueued on the current stream, and it must not change before settle(). `tell`: calls arrived()."""
        device = gradient.device
        if not self._cuda.has(device):
            view_of(self._into, self._entry(index)).copy_(_scaled(gradient, factor))
            if tell:
                self._arrived(index)
            return
        stream = self._cuda.current(device)
        with self._lock:
            bucket = self._buckets.get(device)
            if bucket is not None and (bucket.stream != stream or bucket.tell != tell):
                self._start(device)
                bucket = None
            if bucket is None:
                bucket = self._buckets[device] = _Bucket(stream, tell)
            bucket.gradients.append((index, gradient, factor))
            bucket.floats += gradient.numel()
            if bucket.floats >= self._size:
                self._start(device)

    def settle(self) -> None:
        """Waits until all that was sent is in the task's buffer; raises the exception of `arrived` if there was
        one."""
        with self._lock:
            for device in list(self._buckets):
                self._start(device)
        self._under_way.join()
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble

    def release(self) -> None:
        """Waits for all copies, and unlocks the tasks' buffers. Call it before their memory is freed."""
        with self._lock:
            self._buckets.clear()
        self._under_way.join()
        for address, locked in self._registered.items():
            if locked:
                self._cuda.unregister(address)
        self._registered.clear()

    def close(self) -> None:
        if self._thread is not None:
            self._under_way.put(None)
            self._thread.join()

    def _entry(self, index: int) -> Entry:
        return self._layout.entries[index]

    def _start(self, device: torch.device) -> None:
        """Starts the copies of a bucket. Under the lock."""
        bucket = self._buckets.pop(device)
        cuda = self._cuda
        stream = self._streams.get(device)
        if stream is None:
            stream = self._streams[device] = cuda.stream(device)
        target = self._into if self._staging is None else self._staging
        cuda.wait(stream, cuda.record(bucket.stream))

        def copy() -> None:
            for index, gradient, factor in bucket.gradients:
                view_of(target, self._entry(index)).copy_(_scaled(gradient, factor), non_blocking=True)

        cuda.run(stream, copy)
        self._under_way.put(_Copies(bucket, cuda.record(stream)))

    def _post(self) -> None:
        while True:
            copies = self._under_way.get()
            try:
                if copies is None:
                    return
                self._cuda.synchronize(copies.event)
                for index in [it[0] for it in copies.bucket.gradients]:  # without a reference to a gradient
                    if self._staging is not None:
                        entry = self._entry(index)
                        view_of(self._into, entry).copy_(view_of(self._staging, entry))
                    if copies.bucket.tell:
                        self._arrived(index)
            except BaseException as trouble:  # re-raised by settle()
                self._trouble = trouble
            finally:
                copies = None  # frees the gradients
                self._under_way.task_done()


def stager_of(layout: Layout, arrived: Arrived) -> Optional[DeviceStager]:
    """None if all parameters are in memory of the host."""
    on_device = any(_torch_device.cuda.has(it.tensor.device) for it in layout.parameters)
    return DeviceStager(layout, arrived) if on_device else None


def _scaled(gradient: torch.Tensor, factor: float) -> torch.Tensor:
    """On a device the product is memory of the copying stream, which uses it again for the next one."""
    return gradient if factor == 1.0 else gradient.float() * factor


def dense(gradient: Optional[torch.Tensor]) -> torch.Tensor:
    """The gradient as a dense tensor; embeddings may have sparse ones."""
    assert gradient is not None
    gradient = gradient.detach()
    return gradient.to_dense() if gradient.is_sparse else gradient
