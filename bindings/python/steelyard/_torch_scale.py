"""The factor on the loss that keeps float16 gradients from underflowing."""

from __future__ import annotations

from steelyard._errors import Failure

FIRST = 2.0**16
LEAST = 2.0**-10
GOOD_PIECES = 2000


class LossScale:
    """Halves after an overflow, doubles after GOOD_PIECES pieces without one. Separate for each
    worker."""

    def __init__(self) -> None:
        self.value = FIRST
        self._good = 0

    def update(self, good: bool) -> None:
        """`good`: all gradients of a piece were finite."""
        if not good:
            self._good = 0
            self.value /= 2
            if self.value < LEAST:
                raise Failure(
                    f'gradients are not finite even with a loss scale of {2 * self.value:g}: lower '
                    'lr, or give clip_norm'
                )
            return
        self._good += 1
        if self._good == GOOD_PIECES:
            self._good = 0
            self.value *= 2
