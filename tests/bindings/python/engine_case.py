"""Common parts of tests of jobs on engines, and of what such jobs leave behind.

Needs STEELYARD_PROGRAM and STEELYARD_LIBRARY, the program and libsteelyard.so of a build.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'bindings/python'))

# In the environment of all processes that this one starts.
MARK = 'STEELYARD_TEST=' + os.environ.setdefault('STEELYARD_TEST', str(uuid.uuid4()))
DEADLINE = 120  # seconds
JOB = """
[job]
name = "small"
[model]
name = "softmax"
[data]
name = "synthetic"
train = 2048
test = 256
[train]
batch = 256
epochs = 3
lr = 0.1
[cluster]
servers = 1
reproducible = true
[[worker]]
[[worker]]
"""


def train():
    """A function as the workers of a job: NumPy's regression."""
    import numpy
    from steelyard.arrays import join

    drawn = numpy.random.default_rng(1)
    x = drawn.normal(size=(512, 8)).astype('float32')
    y = x @ drawn.normal(size=8).astype('float32')
    job = join(numpy.zeros(8, 'float32'), (x, y), batch=64, micro_batch=16, epochs=4,
               optimizer={'name': 'sgd', 'lr': 0.1})
    for w, (x, y, weights) in job:
        off = x @ w - y
        job.push((weights * off ** 2).mean(), 2 * x.T @ (weights * off) / len(y))


def processes(*words):
    """The processes of this program and its relays that this process started, directly or through an engine, whose
    arguments have these words."""
    found = []
    for folder in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            arguments = (folder / 'cmdline').read_bytes().decode(errors='replace').split('\0')
            ours = MARK.encode() in (folder / 'environ').read_bytes().split(b'\0')
        except OSError:  # it has just exited
            continue
        known = os.path.basename(arguments[0]) == 'steelyard' or any(it.endswith('_relay.py') for it in arguments)
        if ours and known and all(it in arguments for it in words):
            found.append(int(folder.name))
    return found


def parent_of(process):
    return int(pathlib.Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[1])


def runs(process):
    try:
        return pathlib.Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


class EngineCase(unittest.TestCase):
    """Each test has a folder, with the temporary files of this process and its children. None may be left, and no
    process of the program."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='steelyard-test-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_directory = self.folder / 'run'
        self.job = self.folder / 'small.toml'
        self.job.write_text(JOB)
        temporary = self.folder / 'tmp'
        temporary.mkdir()
        self.addCleanup(lambda: self.assertEqual(list(temporary.iterdir()), []))
        self.addCleanup(lambda: self.wait_for(lambda: not processes(), 'end of all processes'))
        for it in (mock.patch.object(tempfile, 'tempdir', str(temporary)),
                   mock.patch.dict(os.environ, {'TMPDIR': str(temporary)})):
            it.start()
            self.addCleanup(it.stop)

    def wait_for(self, condition, what):
        """Waits until condition() gives a true value, and returns that."""
        end = time.monotonic() + DEADLINE
        while not (given := condition()):
            if time.monotonic() > end:
                self.fail(f'no {what} within {DEADLINE} seconds\n{self.logs()}')
            time.sleep(0.01)
        return given

    def logs(self):
        files = self.run_directory.glob('log/*.log')
        return '\n'.join(f'--- {it.name}\n{it.read_text(errors="replace")}' for it in files)

    # ---- results

    def rounds(self):
        """The training rounds so far."""
        try:
            lines = (self.run_directory / 'rounds.jsonl').read_text().split('\n')[:-1]
        except FileNotFoundError:
            return []
        return [it for it in map(json.loads, lines) if it.get('purpose') == 'train']

    def events(self):
        return (self.run_directory / 'events.jsonl').read_text()

    def joined(self, worker):
        """How often a worker has joined the job."""
        return self.events().count(f"worker '{worker}' joined")

    def beside(self, action):
        """Runs an action that waits for the job's progress in a thread. Its failures are this test's."""
        failures = []

        def run():
            try:
                action()
            except BaseException as why:
                failures.append(why)

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(lambda: self.assertEqual(failures, []))
        self.addCleanup(thread.join)

    def some_rounds_pass(self, count=10):
        begin = len(self.rounds())
        self.wait_for(lambda: len(self.rounds()) >= begin + count, 'further rounds')

    def assert_whole(self, result, epochs, samples=2048):
        """The job has finished, and every position of every epoch was counted once."""
        self.assertIsNone(result.error, f'{result}\n{self.logs()}')
        self.assertEqual(result.metrics['outcome'], 'finished')
        self.assertEqual(result.path, str(self.run_directory))
        self.assertEqual(os.path.dirname(result.checkpoint), f'{self.run_directory}/checkpoints')
        at = [(it['epoch'], it['begin'], it['end']) for it in self.rounds()]
        per_epoch = [(begin, min(begin + 256, samples)) for begin in range(0, samples, 256)]
        self.assertEqual(at, [(epoch, *it) for epoch in range(epochs) for it in per_epoch])

    def bits(self, checkpoint):
        return hashlib.sha256(pathlib.Path(checkpoint, 'model.safetensors').read_bytes()).hexdigest()

    def bits_of_train(self, *options):
        """The parameters of the same job under `steelyard train`."""
        there = self.folder / 'alone'
        subprocess.run([os.environ['STEELYARD_PROGRAM'], 'train', self.job, '--run-dir', there, '--quiet', *options],
                       check=True, stdout=subprocess.DEVNULL, timeout=DEADLINE)
        return self.bits(json.loads((there / 'result.json').read_text())['checkpoint'])
