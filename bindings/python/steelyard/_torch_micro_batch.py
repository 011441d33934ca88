"""Tunes the micro-batch size: doubles it while that pays, and halves it if memory runs out.

On a CPU the size doubles, up to 256, while throughput rises by more than 5 %. On a CUDA device it
doubles while twice the peak memory would fit. With batch norm the size is fixed for the whole job,
since the statistics depend on it.
"""

from __future__ import annotations

import statistics
from typing import Optional

import torch

from steelyard._errors import refuse

FIRST = 32
MOST_ON_CPU = 256
LONE = (
    'batch norm got a micro-batch of one sample, because the last round of an epoch has one: give '
    'drop_last=True or another batch to join()'
)
GAIN = 1.05
ENOUGH = 3  # micro-batches measured at each size, after one for warm-up


class MicroBatch:
    """`size` may change between pieces, unless `fixed`: given by the user or by the job."""

    def __init__(self, size: int, device: torch.device, most: int, fixed: bool) -> None:
        self.size, self.fixed = min(size, most), fixed
        self._device, self._most = device, most if device.type == 'cuda' else min(most, MOST_ON_CPU)
        self._seconds: list[float] = []
        self._best: Optional[float] = None  # samples per second at half this size

    def observe(self, count: int, seconds: float) -> None:
        """Records the time of one micro-batch of `count` samples."""
        if not self.fixed and count == self.size:
            self._seconds.append(seconds)

    def grow(self) -> None:
        """Doubles the size if that pays. Call it between two pieces."""
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
        """Halves the size after memory ran out. Returns False if it is already one sample."""
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


def refuse_lone_sample(
    model: torch.nn.Module, size: int, samples: int, batch: int, rounds: Optional[int]
) -> None:
    """Raises Failure if batch norm would get a micro-batch of one sample that no other one can take.
    Norms over images are accepted, since one image has several values per channel."""
    norms = torch.nn.BatchNorm1d
    names = [name for name, it in model.named_modules() if isinstance(it, norms) and it.training]
    if not names:
        return
    if batch == 1 or size == 1:
        what = 'batch = 1' if batch == 1 else 'micro_batch = 1'
        raise refuse(f'{what}: the batch norm {names[0]} needs at least two samples: give a larger one')
    if samples % batch == 1 and not (rounds and rounds <= samples // batch):
        raise refuse(
            f'the last round of an epoch has one sample, as {samples} samples are divided by the batch '
            f'of {batch}, and the batch norm {names[0]} needs at least two: give drop_last=True, or '
            'another batch'
        )


def is_lone_sample(error: BaseException) -> bool:
    return isinstance(error, ValueError) and 'more than 1 value per channel' in str(error)


def out_of_memory(error: BaseException) -> bool:
    if isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        'out of memory' in text or "can't allocate memory" in text
    )
