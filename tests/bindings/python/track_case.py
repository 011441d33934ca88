"""Common parts of tests of steelyard.track: runs, made and real, and a tracker that remembers.

Needs STEELYARD_PROGRAM, the program of a build.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from steelyard import _track_follow

PROGRAM = os.environ.get('STEELYARD_PROGRAM', '')
JOB = """
[job]
name = "tracked"
[model]
name = "softmax"
[data]
name = "synthetic"
train = 2048
test = 256
[train]
batch = 256
epochs = 2
lr = 0.1
checkpoint_rounds = 4
[cluster]
servers = 1
[[worker]]
name = "fast"
[[worker]]
name = "slow"
simulate_slowdown = 2
"""


def line(number, purpose='train', at=None, **more):
    """A line of rounds.jsonl."""
    train = purpose == 'train'
    return {'round': number, 'epoch': 0, 'purpose': purpose, 'begin': 0, 'end': 100, 'lr': 0.1 if train else None,
            'workers': ['a', 'b'], 'shares': [60, 40], 'compute_ms': [3.0, 4.0], 'round_ms': 5.0,
            'at_ms': 10.0 * (number + 1) if at is None else at, 'se': 0.1,
            'percent_of_ideal': 90.0 if train else None, 'computing': 0.8 if train else None,
            'efficiency': 0.7 if train else None, 'loss': 1.0 / (number + 1), 'accuracy': 0.5, **more}


class Remembering:
    """A tracker."""

    kind = 'memory'

    def __init__(self):
        self.calls, self.rows, self.names = [], [], {}

    def begin(self, name, known, logged):
        self.calls.append(('begin', name, known, logged))
        return known or 'made'

    def describe(self, values):
        self.names.update(values)

    def log(self, rows):
        self.rows += rows

    def end(self, end, step, files):
        self.calls.append(('end', end and end.outcome, step, files and [it.name for it in files]))

    def logged(self):
        """Purpose and round of each row, in order."""
        return [('train' if 'train/learning_rate' in it.values else 'test', it.step) for it in self.rows]


class TrackCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='steelyard-test-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_directory = self.folder / 'run'

    def made(self, *lines):
        """A run directory with this record, of a process that was killed."""
        self.run_directory.mkdir()
        (self.run_directory / 'job.toml').write_text('[job]\nname = "made"\n\n[train]\nlr = 0.1\n')
        (self.run_directory / 'events.jsonl').write_text(
            '{"began":"2026-01-01T00:00:00Z"}\n{"at_ms":0,"first_round":0}\n')
        self.add(*lines)
        return self.run_directory

    def add(self, *lines, text=''):
        with open(self.run_directory / 'rounds.jsonl', 'a') as file:
            file.write(''.join(json.dumps(it) + '\n' for it in lines) + text)

    def trained(self, *options, code=0):
        """A real run."""
        job = self.folder / 'job.toml'
        job.write_text(JOB)
        done = subprocess.run([PROGRAM, 'train', job, '--run-dir', self.run_directory, '--quiet', *options],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return self.run_directory

    def recorded(self):
        """Purpose and round of each line of the record."""
        lines = (self.run_directory / 'rounds.jsonl').read_text().splitlines()
        return [('train' if it['purpose'] == 'train' else 'test', it['round']) for it in map(json.loads, lines)]

    def follow(self, tracker, **options):
        return _track_follow.follow(tracker, self.run_directory, **options)
