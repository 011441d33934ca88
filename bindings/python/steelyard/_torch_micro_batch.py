"""Tunes the micro-batch size: doubles it while that pays, and halves it if memory runs out.

On a CPU the size doubles, up to 512, while throughput rises by more than 3 %. A size and its double are
measured in turn, piece by piece, so that other load on the processor slows both; since load can only
lower the throughput of a micro-batch, the highest of each size is compared. On a CUDA device the size
doubles while twice the peak memory would fit. With batch norm it is fixed for the whole job, since the
statistics depend on it.
"""

from __future__ import annotations

from typing import Optional

import torch

from steelyard._errors import refuse

FIRST = 32
MOST_ON_CPU = 512
LONE = (
    'batch norm got a micro-batch of one sample, because the last round of an epoch has one: give '
    'drop_last=True or another batch to join()'
)
GAIN = 1.03
ENOUGH = 7  # micro-batches measured at each size


class MicroBatch:
    """`size` may change between pieces, unless `fixed`: given by the user or by the job."""

    def __init__(self, size: int, device: torch.device, most: int, fixed: bool) -> None:
        self.size, self.fixed = min(size, most), fixed
        self._device, self._most = device, most if device.type == 'cuda' else min(most, MOST_ON_CPU)
        self._small = self.size  # the largest size that is known to pay
        self._rates: dict[int, list[float]] = {}  # samples per second, by size

    def observe(self, count: int, seconds: float) -> None:
        """Records the time of one micro-batch of `count` samples, unless that is half the size or less."""
        if not self.fixed and 2 * count > self.size:
            self._rates.setdefault(self.size, []).append(count / max(1e-9, seconds))

    def grow(self) -> None:
        """Chooses the size of the next piece. Call it between two pieces."""
        if self.fixed:
            return
        large = 2 * self._small
        of_small, of_large = (self._rates.get(it, []) for it in (self._small, large))
        if large > self._most:
            self.fixed = True
        elif self._device.type == 'cuda':
            if len(of_small) >= ENOUGH:
                self._decide(self._twice_fits())
        elif min(len(of_small), len(of_large)) >= ENOUGH:
            self._decide(max(of_large) > GAIN * max(of_small))
        else:
            self.size = large if len(of_large) < len(of_small) else self._small

    def _decide(self, larger: bool) -> None:
        self._rates = {}
        if larger:
            self._small *= 2
        else:
            self.fixed = True
        self.size = self._small

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
