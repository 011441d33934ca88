"""The rounds and evaluations of a whole job, from the record that the scheduler writes."""

from __future__ import annotations

import json
import pathlib
import time
from typing import Any, Optional

from steelyard._record_parts import parts_of

_LAST_WRITES = 5.0  # seconds for the scheduler to complete the record after a job
_KEYS = ('epoch', 'round', 'purpose', 'loss', 'accuracy')


def read_history(directory: Optional[str], over: bool) -> list[dict[str, Any]]:
    """A dictionary for each round and each evaluation, in order; empty if the run directory is not on
    this machine. `over`: whether the job is over, so that the end of the record is waited for."""
    if directory is None:
        return []
    deadline = time.monotonic() + _LAST_WRITES
    while over and not _is_complete(directory) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [
        {
            **{key: line[key] for key in _KEYS},
            'samples': line['end'] - line['begin'] - line.get('holes', 0),
            'seconds': line['at_ms'] / 1000,
        }
        for part in parts_of(pathlib.Path(directory, 'rounds.jsonl'))
        for line in _lines(str(part))
    ]


def _is_complete(directory: str) -> bool:
    """The last event of a job is how it ended."""
    events = _lines(directory + '/events.jsonl')
    return bool(events) and str(events[-1].get('text', '')).startswith('finished')


def _lines(path: str) -> list[dict[str, Any]]:
    try:
        with open(path) as file:
            return [json.loads(it) for it in file.read().split('\n')[:-1]]  # without a half-written line
    except FileNotFoundError:
        return []
