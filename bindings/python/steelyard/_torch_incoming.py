"""Brings batches from the reader to the device of the model.

On a CUDA device they are copied from pinned memory on a stream of their own, so that the copy of a batch runs while
the device computes the one before. With loader processes, the first batch of the next piece is brought while
servers take the step.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from steelyard import _torch_device
from steelyard._reading import Samples
from steelyard._torch_data import Reader, moved


class Incoming:
    def __init__(self, reader: Reader, device: torch.device) -> None:
        self._reader, self._device = reader, device
        self._beside = _torch_device.cuda.has(device)
        self._stream: Any = None
        self._guesses: Sequence[Samples] = []
        self._ready: dict[Samples, Any] = {}  # the first of the guesses, if it is on the device

    def expect(self, needed: Sequence[Samples], guesses: Sequence[Samples]) -> None:
        """Announces calls of get(): surely for `needed`, in this order; perhaps later for `guesses`."""
        self._guesses = guesses
        self._ready = {it: batch for it, batch in self._ready.items() if it in needed or it in guesses}
        coming = [[it for it in lists if it not in self._ready] for lists in (needed, guesses)]
        self._reader.expect(*coming)

    def get(self, samples: Samples) -> Any:
        """The batch of these samples, for work on the current stream of the device."""
        return self._ready.pop(samples) if samples in self._ready else self._brought(samples)

    def bring_next(self, out_of_memory: Callable[[BaseException], bool]) -> None:
        """Brings the batch that is needed next, as guessed. It comes from the loader processes before all others
        that may be needed instead, so waiting for it delays none of them."""
        if not (self._beside and self._reader.prefetches and self._guesses):
            return
        samples = self._guesses[0]
        try:
            self._ready = {samples: self._brought(samples)}
        except Exception as error:
            if not out_of_memory(error):
                raise

    def free(self) -> None:
        """Frees memory of the device."""
        self._ready = {}

    def _brought(self, samples: Samples) -> Any:
        batch = self._reader.get(samples)
        if not self._beside:
            return moved(batch, self._device)
        cuda = _torch_device.cuda
        if self._stream is None:
            self._stream = cuda.stream(self._device)
        there = moved(batch, self._device, lambda it: cuda.bring(it, self._device, self._stream))
        cuda.wait(cuda.current(self._device), cuda.record(self._stream))
        return there
