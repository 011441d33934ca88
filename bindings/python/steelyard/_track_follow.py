"""Passes the record of a run to a tracker: once, or until the run ends.

RUN/track-TRACKER.json remembers the tracker's run and how many rows it has, so that a later call goes on
there and logs nothing twice. Two processes that log the same run take turns.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import subprocess
import tempfile
import time
from typing import Any, Iterator, Optional, Protocol, Sequence

from steelyard._errors import FILE, Failure
from steelyard._library import program
from steelyard._track_record import End, Record, Row, end_of, is_running, parameters

_POLL = 1.0  # seconds
_AT_ONCE = 50  # rows between two notes of what is logged
_FILES = ('job.toml', 'events.jsonl', 'result.json')


class Tracker(Protocol):
    """A client of a tracker. Its methods are called in this order."""

    kind: str

    def begin(self, name: str, known: Optional[str], logged: int) -> str:
        """Makes a run, or goes on with the `known` one, which has `logged` rows. Returns its id."""

    def describe(self, values: dict[str, Any]) -> None:
        """The parameters of the job, which a resumed job may have changed."""

    def log(self, rows: Sequence[Row]) -> None:
        """Logs these rows before it returns."""

    def end(self, end: Optional[End], step: int, files: Optional[Sequence[pathlib.Path]]) -> None:
        """How the run ended, None if it has not; `step`: its last round. `files`: None if its end was logged
        before."""


def follow(
    tracker: Tracker,
    run: pathlib.Path,
    *,
    name: Optional[str] = None,
    run_id: Optional[str] = None,
    waits: bool = False,
    every: int = 1,
) -> str:
    """Returns the id of the tracker's run: `run_id`, if given. `name`: of a new one. `waits`: until the run
    ends."""
    record = Record(run, every)
    with _turn(run / f'track-{tracker.kind}.lock'):
        note = _Note(run / f'track-{tracker.kind}.json', every)
        if run_id is not None and note.id not in (None, run_id):
            raise Failure(
                f'{run} is logged as the run {note.id} of {tracker.kind}: give no other run_id, or '
                f'delete {note.path}'
            )
        note.id = tracker.begin(name or run.name, note.id or run_id, note.rows)
        note.save()
        tracker.describe(parameters(run))
        skip = note.rows
        while True:
            over = not is_running(run)  # before the rows: none follows the end
            rows = record.new()
            fresh, skip = rows[skip:], max(0, skip - len(rows))
            for at in range(0, len(fresh), _AT_ONCE):
                tracker.log(fresh[at : at + _AT_ONCE])
                note.rows += len(fresh[at : at + _AT_ONCE])
                note.step = max(note.step, *(it.step for it in fresh[at : at + _AT_ONCE]))
                note.save()
            if over or not waits:
                break
            time.sleep(_POLL)
        _finish(tracker, run, note, over)
        return note.id


def _finish(tracker: Tracker, run: pathlib.Path, note: _Note, over: bool) -> None:
    end = end_of(run) if over else None
    mark = '' if end is None else f'{end.outcome} {note.rows} {end.numbers.get("rounds")}'
    if end is None or mark == note.end:
        tracker.end(end, note.step, None)
        return
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, 'report.html')
        made = subprocess.run([program(), 'report', run, '--output', page], capture_output=True, text=True)
        pages = [page] if made.returncode == 0 else []
        if not pages:
            print(f'steelyard: no page for {tracker.kind}: {made.stderr.strip()}', flush=True)
        tracker.end(end, note.step, [*pages, *(run / it for it in _FILES if (run / it).is_file())])
    note.end = mark
    note.save()


class _Note:
    """The tracker's run, and how much it has."""

    def __init__(self, path: pathlib.Path, every: int) -> None:
        self.path, self.every = path, every
        self.id: Optional[str] = None
        self.rows = self.step = 0
        self.end = ''
        try:
            saved = json.loads(path.read_text())
        except FileNotFoundError:
            return
        except ValueError as why:
            remedy = 'delete it, and the run is logged from the begin'
            raise Failure(f'{path} is damaged: {remedy}', FILE) from why
        self.id, self.rows, self.step, self.end = (saved[it] for it in ('id', 'rows', 'step', 'end'))
        if saved['every'] != every:
            raise Failure(
                f'{path}: this run is logged with every = {saved["every"]}: give the same, or delete '
                'the file'
            )

    def save(self) -> None:
        """A reader sees the old note or the new one."""
        values = {'id': self.id, 'rows': self.rows, 'step': self.step, 'end': self.end, 'every': self.every}
        fresh = self.path.with_suffix('.new')
        fresh.write_text(json.dumps(values) + '\n')
        os.replace(fresh, self.path)


@contextlib.contextmanager
def _turn(path: pathlib.Path) -> Iterator[None]:
    """Waits until no other process logs this run to the same tracker."""
    try:
        file = open(path, 'w')
    except OSError as why:
        remedy = 'use a copy of the run directory'
        raise Failure(f'{path} cannot be written ({why.strerror}): {remedy}', FILE) from why
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
