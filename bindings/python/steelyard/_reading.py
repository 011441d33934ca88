"""Decides which samples are read, in which micro-batches, and which are prefetched.

Where samples are prefetched, micro-batches begin at multiples of their size, counted from the begin of the
round. So if a share changes a little, most prefetched micro-batches are still the ones needed.

The next piece is not known in advance. The guess is the same part of the next round; a wrong guess
only costs reading.
"""

from __future__ import annotations

import bisect
from typing import Any, Callable, Optional, Sequence

Samples = tuple[int, ...]
Numbers = Callable[[int, int, int], Sequence[int]]  # sample numbers at (epoch, begin, end)


def cut(
    samples: Sequence[int],
    position: int,
    size: int,
    batch: int,
    ends: Optional[Sequence[int]] = None,
    joins_lone: bool = False,
    aligned: bool = True,
) -> list[Samples]:
    """Cuts a piece that begins at `position` of its epoch into micro-batches of `size`, aligned to
    rounds of `batch` samples, or to the begin of the piece if not `aligned`. With `ends`, the positions at
    which groups end, they are aligned to groups and lie within one. `joins_lone`: a last micro-batch of
    one sample is joined to the one before."""
    parts: list[Samples] = []
    at = 0
    while at < len(samples):
        here = position + at
        if ends is None:
            take = size - (here % batch % size if aligned else 0)
        else:
            number = bisect.bisect_right(ends, here)
            begin = ends[number - 1] if number else 0
            take = min(size - (here - begin) % size, ends[number] - here)
        parts.append(tuple(samples[at : at + take]))
        at += take
    if joins_lone and len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [parts[-2] + parts[-1]]
    return parts


class Ahead:
    """Cuts pieces, and predicts the samples of a worker's next piece from its current one. `ends`,
    of an epoch, `joins_lone` and `aligned` are those of cut()."""

    def __init__(
        self,
        about: dict[str, Any],
        numbers: Numbers,
        ends: Callable[[int], Optional[Sequence[int]]] = lambda epoch: None,
        joins_lone: bool = False,
        aligned: bool = True,
    ) -> None:
        self._numbers, self._ends = numbers, ends
        self._joins_lone, self._aligned = joins_lone, aligned
        self._batch = max(1, int(about['batch']))
        self._samples = int(about['train_samples'])
        self._epochs = int(about.get('epochs') or 0)
        self._guesses: dict[tuple[int, int], list[Samples]] = {}  # by (epoch, begin of the round)

    def cut(self, samples: Sequence[int], epoch: int, position: int, size: int) -> list[Samples]:
        """The micro-batches of a piece."""
        ends = self._ends(epoch)
        return cut(samples, position, size, self._batch, ends, self._joins_lone, self._aligned)

    def after(self, epoch: int, position: int, count: int, size: int) -> list[Samples]:
        """Micro-batches to prefetch while this piece is computed, in the order of need."""
        begin = position - position % self._batch
        self._guesses = {it: lists for it, lists in self._guesses.items() if it > (epoch, begin)}
        following = self._round_after(epoch, begin)
        if following is None:
            return []
        (next_epoch, next_begin), stretch = following
        first = next_begin + round((position - begin) * stretch)
        behind = next_begin + round((position + count - begin) * stretch)
        if behind > first:
            numbers = self._numbers(next_epoch, first, behind)
            guess = self.cut(numbers, next_epoch, first, size)
            self._guesses.setdefault((next_epoch, next_begin), []).extend(guess)
        return [it for lists in self._guesses.values() for it in lists]

    def _round_after(self, epoch: int, begin: int) -> Optional[tuple[tuple[int, int], float]]:
        """Epoch and first position of the next round, and the ratio of its length to this round's;
        None after the last round."""
        length = min(self._batch, self._samples - begin)
        if begin + length < self._samples:
            then = begin + length
        elif not self._epochs or epoch + 1 < self._epochs:
            epoch, then = epoch + 1, 0
        else:
            return None
        return (epoch, then), min(self._batch, self._samples - then) / length
