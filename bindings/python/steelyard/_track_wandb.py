"""A client of Weights & Biases."""

from __future__ import annotations

import importlib
import pathlib
import shutil
from typing import Any, Optional, Sequence

from steelyard._errors import refuse
from steelyard._track_record import End, Row


class WandbTracker:
    """A run of its own in this process. Where it is logged, and whether offline, is set with wandb's own
    variables: WANDB_MODE, WANDB_DIR, WANDB_BASE_URL."""

    kind = 'wandb'

    def __init__(self, project: Optional[str], entity: Optional[str]) -> None:
        try:
            self._wandb = importlib.import_module('wandb')
        except ModuleNotFoundError as why:
            raise refuse(f'no module {why.name}: install wandb') from why
        self._place = {'project': project, 'entity': entity}
        self._run: Any = None
        self._rows = 0

    def begin(self, name: str, known: Optional[str], logged: int) -> str:
        self._run = self._wandb.init(
            **{key: it for key, it in self._place.items() if it},
            name=name,
            id=known,
            resume='allow',
            settings=self._wandb.Settings(console='off', silent=True, x_disable_stats=True),
        )
        self._run.define_metric('*', step_metric='round')
        self._rows = logged
        return str(self._run.id)

    def describe(self, values: dict[str, Any]) -> None:
        self._run.config.update(values, allow_val_change=True)

    def log(self, rows: Sequence[Row]) -> None:
        """Steps count rows, since W&B drops steps that do not rise; charts use the round."""
        for row in rows:
            self._run.log({**row.values, 'round': row.step, 'seconds': row.time}, step=self._rows)
            self._rows += 1

    def end(self, end: Optional[End], step: int, files: Optional[Sequence[pathlib.Path]]) -> None:
        if end is None:
            self._run.finish()
            return
        for name, value in end.numbers.items():
            self._run.summary[f'result/{name}'] = value
        self._run.summary['outcome'] = end.outcome
        self._run.summary['text'] = end.text
        for path in files or ():  # a file of the run's own folder is uploaded when the run ends
            own = shutil.copy(path, self._run.dir)
            self._run.save(own, base_path=self._run.dir, policy='now')
        self._run.finish(exit_code=end.code)
