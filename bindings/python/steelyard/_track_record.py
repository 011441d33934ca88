"""The record of a run as numbers with names: what a tracker logs.

Names are those of `--tensorboard` (app/report/recorder.cpp):

    train/loss, train/accuracy, train/learning_rate            of a round
    test/loss, test/accuracy                                   of an evaluation
    speed/samples_per_second                                   over about ten rounds
    speed/percent_of_ideal, speed/efficiency                   of a round
    share/WORKER, compute_ms/WORKER                            of a round, for each worker
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import pathlib
from typing import Any, Iterator, Optional, Union

from steelyard._errors import FILE, Failure
from steelyard._record_parts import closed_parts, part_of

_KEEP = 0.9  # of the recent sums, from one round to the next


@dataclasses.dataclass
class Row:
    """The numbers of a round, or of an evaluation."""

    step: int  # the round, over all epochs
    time: float  # when it ended: seconds since 1970
    values: dict[str, float]


class Record:
    """Reads the numbers of a run, and later those that were added. `every`: only the rounds whose number
    is a multiple of it, and all evaluations.

    A round that a resumed job repeats has its first numbers, and only them."""

    def __init__(self, run: Union[str, os.PathLike[str]], every: int = 1) -> None:
        self.run = pathlib.Path(run)
        self._every = every
        self._seen: set[tuple[str, int]] = set()
        self._part = 0  # the last closed part that was read
        self._at = 0  # bytes that were read of the one after it
        self._start, self._ended = -1, math.inf  # process of the run, and the end of its last round in ms
        self._samples = self._seconds = 0.0  # recent sums
        if not (self.run / 'job.toml').is_file():
            raise Failure(
                f'{run} is not the directory of a run: give one that contains job.toml, as in runs/job-1',
                FILE,
            )

    def new(self) -> list[Row]:
        """The rows since the last call."""
        rounds = self.run / 'rounds.jsonl'
        closed = closed_parts(rounds)
        if max(closed, default=0) < self._part:  # a scheduler that recovered cut the record
            self._begin_again()
        rows = [row for it in closed if it > self._part for row in self._close(it)]
        return rows + self._rest(rounds)

    def _close(self, part: int) -> list[Row]:
        rows = self._rest(part_of(self.run / 'rounds.jsonl', part))
        self._part, self._at = part, 0
        return rows

    def _rest(self, path: pathlib.Path) -> list[Row]:
        """The rows of a part that were not read yet."""
        try:
            with open(path, 'rb') as file:
                if os.fstat(file.fileno()).st_size < self._at:
                    self._begin_again()
                    return self.new()
                file.seek(self._at)
                text = file.read()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b'\n') + 1]  # without a half-written line
        try:
            lines = [json.loads(it) for it in whole.splitlines()]
        except ValueError:  # a scheduler that recovered has written this part of the file again
            if not self._at:
                raise Failure(f'{path} is not a record of rounds: restore it', FILE)
            self._begin_again()
            return self.new()
        self._at += len(whole)
        starts = self._starts()
        return [row for it in lines for row in self._row(it, starts)]

    def _begin_again(self) -> None:
        self._part, self._at, self._start, self._ended = 0, 0, -1, math.inf
        self._samples = self._seconds = 0.0

    def _row(self, line: dict[str, Any], starts: list[float]) -> Iterator[Row]:
        if line['at_ms'] < self._ended:  # the first round of a process
            self._start += 1
            self._samples = self._seconds = 0.0
        self._ended = line['at_ms']
        train = line['purpose'] == 'train'
        if train and line['workers']:
            self._samples = _KEEP * self._samples + line['end'] - line['begin'] - line.get('holes', 0)
            self._seconds = _KEEP * self._seconds + line['round_ms'] / 1000
        known = (line['purpose'], line['round'])
        if known in self._seen or (train and line['round'] % self._every):
            return
        self._seen.add(known)
        began = starts[min(self._start, len(starts) - 1)] if starts else 0.0
        yield Row(line['round'], began + line['at_ms'] / 1000, self._values(line, train))

    def _values(self, line: dict[str, Any], train: bool) -> dict[str, float]:
        kind = 'train' if train else 'test'
        values = {f'{kind}/loss': line['loss'], f'{kind}/accuracy': line['accuracy']}
        if train:
            values['train/learning_rate'] = line['lr']
            if self._seconds > 0 and line['workers']:
                values['speed/samples_per_second'] = self._samples / self._seconds
            values['speed/percent_of_ideal'] = line['percent_of_ideal']
            values['speed/efficiency'] = line['efficiency']
            for worker, share, spent in zip(line['workers'], line['shares'], line['compute_ms']):
                values[f'share/{worker}'], values[f'compute_ms/{worker}'] = share, spent
        return {name: float(it) for name, it in values.items() if it is not None}

    def _starts(self) -> list[float]:
        """When each process of the run began."""
        began = [it['began'] for it in read_lines(self.run / 'events.jsonl') if 'began' in it]
        utc = datetime.timezone.utc
        read = (datetime.datetime.strptime(it, '%Y-%m-%dT%H:%M:%SZ') for it in began)
        return [it.replace(tzinfo=utc).timestamp() for it in read]


def read_lines(path: pathlib.Path) -> list[dict[str, Any]]:
    """The whole lines of a file of JSON lines; none if it is not there."""
    try:
        return [json.loads(it) for it in path.read_text(errors='replace').split('\n')[:-1]]
    except FileNotFoundError:
        return []


def parameters(run: pathlib.Path) -> dict[str, Any]:
    """The keys of the run's job as `--set` names them: train.lr, worker.NAME.device."""
    found: dict[str, Any] = {}
    section, count = '', {}  # type: str, dict[str, int]
    for line in (run / 'job.toml').read_text(errors='replace').splitlines():
        line = line.strip()
        if line.startswith('[['):
            name = line[2:-2]
            section, count[name] = f'{name}.{count.get(name, 0)}', count.get(name, 0) + 1
        elif line.startswith('['):
            section = line[1:-1]
        elif line and not line.startswith('#'):
            key, _, text = line.partition(' = ')
            value = _value(text)
            if key == 'name' and section.startswith('worker.'):
                section = f'worker.{value}'
            else:
                found[f'{section}.{key}'] = value
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)  # the program writes numbers, strings and lists as in JSON
    except ValueError:
        return text


@dataclasses.dataclass
class End:
    """How a run ended. `outcome`: that of result.json, or "stopped" if its process was killed."""

    outcome: str
    text: str
    code: int
    numbers: dict[str, float]  # of result.json


def end_of(run: pathlib.Path) -> End:
    """Only for a run that has ended."""
    try:
        result = json.loads((run / 'result.json').read_text())
    except (FileNotFoundError, ValueError):
        return End('stopped', 'it was killed, and can be resumed', 75, {})
    numbers = {
        name: float(it)
        for name, it in result.items()
        if isinstance(it, (int, float)) and name not in ('format', 'exit_code')
    }
    return End(result['outcome'], result['text'], result['exit_code'], numbers)


def is_running(run: pathlib.Path) -> bool:
    """Whether a process of this machine trains in this directory: it holds the lock."""
    inode = _inode(run / 'lock')
    with open('/proc/locks') as locks:
        return inode is not None and any('FLOCK' in it and f':{inode} ' in it for it in locks)


def _inode(path: pathlib.Path) -> Optional[int]:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None
