"""A device without a device: tensors of the host stand for those of a card, and a stream does its work only when it is
waited for. So a copy without a wait leaves its NaNs, and one that does not wait for its source copies them. It takes
the place of steelyard._torch_device.cuda."""
import threading
from unittest import mock

import torch

from steelyard import _torch_device

NAN = float('nan')


class Stream:
    """`eager`: does its work at once, as autograd does on a processor."""

    def __init__(self, lock, eager=False):
        self.lock, self.eager = lock, eager
        self.work, self.done = [], 0

    def add(self, work):
        with self.lock:
            self.work.append(work)
            if self.eager:
                self.run_until(len(self.work))

    def run_until(self, count):
        with self.lock:
            while self.done < count:
                self.done += 1  # first, since its work may wait for this stream
                self.work[self.done - 1]()

    def finish(self):
        self.run_until(len(self.work))


class FakeDevice:
    """`eager`: of the current stream. `locks`: whether memory can be page-locked. `without`: 'wait' or 'synchronize',
    which then has no effect."""

    def __init__(self, eager=False, locks=False, without=''):
        self.lock = threading.RLock()
        self.main = Stream(self.lock, eager)
        self.locks, self.without = locks, without
        self.locked, self.unlocked, self.events = [], [], 0

    def installed(self):
        return mock.patch.object(_torch_device, 'cuda', self)

    def has(self, device):
        return True

    def pinned(self, floats):
        return torch.full((floats,), NAN)

    def empty(self, floats, device):
        return torch.full((floats,), NAN)

    def current(self, device):
        return self.main

    def stream(self, device):
        return Stream(self.lock)

    def run(self, stream, work):
        def do():
            with torch.no_grad():
                work()
        stream.add(do)

    def record(self, stream):
        self.events += 1
        return stream, len(stream.work)

    def wait(self, stream, event):
        if self.without != 'wait':
            stream.add(lambda: event[0].run_until(event[1]))

    def synchronize(self, event):
        if self.without != 'synchronize':
            event[0].run_until(event[1])

    def bring(self, tensor, device, stream):
        pinned, there = tensor.clone(), torch.full_like(tensor, NAN if tensor.is_floating_point() else -1)
        self.run(stream, lambda: there.copy_(pinned))
        return there

    def register(self, floats, device):
        self.locked.append(floats.data_ptr())
        return self.locks

    def unregister(self, address):
        self.unlocked.append(address)
