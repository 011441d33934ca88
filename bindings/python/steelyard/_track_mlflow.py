"""A client of MLflow."""

from __future__ import annotations

import importlib
import os
import pathlib
import re
from typing import Any, Optional, Sequence

from steelyard._errors import Failure, refuse
from steelyard._track_record import End, Row

_METRICS, _PARAMETERS = 1000, 100  # of one request, at most
_LONGEST = 6000  # characters of a parameter
_STATES = {'finished': 'FINISHED', 'interrupted': 'KILLED', 'stopped': 'KILLED'}  # otherwise FAILED


class MlflowTracker:
    """Uses the client alone: neither the active run nor the tracking address of the process changes."""

    kind = 'mlflow'

    def __init__(self, experiment: Optional[str], uri: Optional[str]) -> None:
        try:
            self._entities = importlib.import_module('mlflow.entities')
            client = importlib.import_module('mlflow.tracking').MlflowClient
        except ModuleNotFoundError as why:
            raise refuse(f'no module {why.name}: install mlflow, or mlflow-skinny') from why
        self._client, self._experiment, self._run = client(uri), experiment, ''

    def begin(self, name: str, known: Optional[str], logged: int) -> str:
        if known is None:
            self._run = self._client.create_run(self._experiment_id(), run_name=name).info.run_id
        else:
            self._run = known
            self._client.update_run(known, status='RUNNING')
        return self._run

    def _experiment_id(self) -> str:
        given = os.environ.get('MLFLOW_EXPERIMENT_ID')
        if self._experiment is None and given:
            return given
        name = self._experiment or os.environ.get('MLFLOW_EXPERIMENT_NAME') or 'steelyard'
        found = self._client.get_experiment_by_name(name)
        if found is None:
            return str(self._client.create_experiment(name))
        if found.lifecycle_stage != 'active':
            raise Failure(f'the experiment {name} of MLflow is deleted: restore it, or give another name')
        return str(found.experiment_id)

    def describe(self, values: dict[str, Any]) -> None:
        """MLflow does not change parameters: what differs in a resumed job becomes a tag."""
        known = self._client.get_run(self._run).data.params
        texts = {legal(key): str(it)[:_LONGEST] for key, it in values.items()}
        fresh = [self._entities.Param(key, it) for key, it in texts.items() if key not in known]
        for at in range(0, len(fresh), _PARAMETERS):
            self._client.log_batch(self._run, params=fresh[at : at + _PARAMETERS])
        for key, it in texts.items():
            if known.get(key, it) != it:
                self._client.set_tag(self._run, f'resumed.{key}', it)

    def log(self, rows: Sequence[Row]) -> None:
        metrics = [
            self._entities.Metric(legal(name), value, round(row.time * 1000), row.step)
            for row in rows
            for name, value in row.values.items()
        ]
        for at in range(0, len(metrics), _METRICS):
            self._client.log_batch(self._run, metrics=metrics[at : at + _METRICS])

    def end(self, end: Optional[End], step: int, files: Optional[Sequence[pathlib.Path]]) -> None:
        if end is None:
            return
        if files is not None:
            for name, value in end.numbers.items():
                self._client.log_metric(self._run, f'result/{name}', value, step=step)
            for path in files:
                self._client.log_artifact(self._run, str(path))
            self._client.set_tag(self._run, 'steelyard.outcome', end.outcome)
            self._client.set_tag(self._run, 'steelyard.text', end.text)
        self._client.set_terminated(self._run, _STATES.get(end.outcome, 'FAILED'))


def legal(name: str) -> str:
    """MLflow allows these characters in names."""
    return re.sub(r'[^\w./: -]', '_', name)[:250]
