"""How many samples are computed at once: found by doubling, halved when memory runs out.

On a processor the size doubles while that computes over 5 % more samples in a second, up to 256.
On a CUDA device it doubles while twice the memory that was needed would fit. Where there is batch
norm the size is one for the whole job, since it decides what the statistics are of.
"""

from __future__ import annotations

import statistics
from typing import Optional

import torch

FIRST = 32
MOST_ON_CPU = 256
GAIN = 1.05
ENOUGH = 3  # micro-batches of one size that are measured; of each size one before them is not


class MicroBatch:
    """`size` may change between pieces. `fixed`: it is given, or the job's."""

    def __init__(self, size: int, device: torch.device, most: int, fixed: bool) -> None:
        self.size, self.fixed = min(size, most), fixed
        self._device, self._most = device, most if device.type == 'cuda' else min(most, MOST_ON_CPU)
        self._seconds: list[float] = []
        self._best: Optional[float] = None  # samples a second at half this size

    def observe(self, count: int, seconds: float) -> None:
        """One micro-batch of `count` samples was computed."""
        if not self.fixed and count == self.size:
            self._seconds.append(seconds)

    def grow(self) -> None:
        """Between two pieces: doubles, if that is good."""
        if self.fixed or len(self._seconds) <= ENOUGH:
            return
        if self._device.type == 'cuda':
            good = self._twice_fits()
        else:
            rate = self.size / max(1e-9, statistics.median(self._seconds[1:]))
            good = self._best is None or rate > GAIN * self._best
            if not good:
                self.size //= 2
            self._best = rate
        self._seconds = []
        self.fixed = not good or 2 * self.size > self._most
        if not self.fixed:
            self.size *= 2

    def halve(self) -> bool:
        """After running out of memory. False: it is one sample already."""
        self.fixed = True
        if self.size == 1:
            return False
        self.size //= 2
        return True

    def _twice_fits(self) -> bool:
        needed = torch.cuda.max_memory_allocated(self._device)
        free, _ = torch.cuda.mem_get_info(self._device)
        there = free + torch.cuda.memory_reserved(self._device)
        return 2 * needed < 0.9 * there


def out_of_memory(error: BaseException) -> bool:
    if isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        'out of memory' in text or "can't allocate memory" in text
    )
