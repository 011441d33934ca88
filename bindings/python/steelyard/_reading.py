"""Which samples are read, in which micro-batches, and which of them ahead of need.

A piece is cut on a grid: micro-batches begin at multiples of their size, counted from the
beginning of the round. So when a share changes a little, most of what was read ahead is still
what is needed.

What comes after a piece is not known before it comes. It is guessed to be the same part of the
next round; a wrong guess costs reading, nothing else.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

Samples = tuple[int, ...]
Numbers = Callable[[int, int, int], Sequence[int]]  # of the samples at (epoch, begin, end)


def cut(samples: Sequence[int], position: int, size: int, batch: int) -> list[Samples]:
    """Micro-batches of a piece that begins at `position` of its epoch, whose rounds are of
    `batch`."""
    parts = []
    at = 0
    while at < len(samples):
        take = size - (position + at) % batch % size
        parts.append(tuple(samples[at : at + take]))
        at += take
    return parts


class Ahead:
    """What a worker is likely to compute in the next round, from what it computes in this one."""

    def __init__(self, about: dict[str, Any], numbers: Numbers) -> None:
        self._numbers = numbers
        self._batch = max(1, int(about['batch']))
        self._samples = int(about['train_samples'])
        self._epochs = int(about.get('epochs') or 0)
        self._guesses: dict[tuple[int, int], list[Samples]] = {}  # by (epoch, begin of the round)

    def after(self, epoch: int, position: int, count: int, size: int) -> list[Samples]:
        """What to read ahead, first what is needed first, now that this piece is at hand."""
        begin = position - position % self._batch
        self._guesses = {it: lists for it, lists in self._guesses.items() if it > (epoch, begin)}
        following = self._round_after(epoch, begin)
        if following is None:
            return []
        (next_epoch, next_begin), stretch = following
        first = next_begin + round((position - begin) * stretch)
        behind = next_begin + round((position + count - begin) * stretch)
        if behind > first:
            guess = cut(self._numbers(next_epoch, first, behind), first, size, self._batch)
            self._guesses.setdefault((next_epoch, next_begin), []).extend(guess)
        return [it for lists in self._guesses.values() for it in lists]

    def _round_after(self, epoch: int, begin: int) -> Optional[tuple[tuple[int, int], float]]:
        """Its epoch and first position, and its length as a part of this round's."""
        length = min(self._batch, self._samples - begin)
        if begin + length < self._samples:
            then = begin + length
        elif not self._epochs or epoch + 1 < self._epochs:
            epoch, then = epoch + 1, 0
        else:
            return None
        return (epoch, then), min(self._batch, self._samples - then) / length
