"""Learning-rate schedules as keys of [train]."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

MOST_RATES = 2_000_000


@dataclasses.dataclass(frozen=True)
class Length:
    """The length of the job: epochs or rounds, each None if not given."""

    samples: int
    batch: int
    epochs: Optional[int]
    rounds: Optional[int]

    @property
    def rounds_per_epoch(self) -> int:
        return -(-self.samples // self.batch)

    @property
    def whole_epochs(self) -> int:
        by_rounds = -(-self.rounds // self.rounds_per_epoch) if self.rounds else None
        by_epochs = self.epochs or (None if by_rounds else 10)  # 10: as in a job file
        return min(it for it in (by_rounds, by_epochs) if it)


def table(rates: list[float], per: str, length: Length) -> dict[str, Any]:
    """Keys for a table of rates, one for each "epoch" or "round", as `per` says."""
    if len(set(rates)) == 1:
        return {'train.schedule': 'constant'}
    held = 1.0 if per == 'epoch' else min(1.0, length.batch / length.samples)
    return {'train.schedule': 'table', 'train.rates': rates, 'train.step_epochs': held}
