"""Common parts of tests of examples/python: each runs as a lone process and under `steelyard run -n 2`, and its loss falls.

Needs STEELYARD_PROGRAM and STEELYARD_LIBRARY, the program and libsteelyard.so of a build.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / 'examples/python'
PROGRAM, LIBRARY = (os.environ.get(name, '') for name in ('STEELYARD_PROGRAM', 'STEELYARD_LIBRARY'))


class ExampleCase(unittest.TestCase):
    @classmethod
    def add(cls, example, made):
        """Adds the tests of an example, which writes the file `made`."""
        name = example.removesuffix('.py')
        setattr(cls, f'test_{name}_alone', lambda self: self.expect_learning(example, made, 1, [sys.executable]))
        setattr(cls, f'test_{name}_with_two_workers',
                lambda self: self.expect_learning(example, made, 2, [PROGRAM, 'run', '-n', '2']))

    def ran(self, example, made, command):
        """Runs `command` in an empty folder. Returns the run's result and rounds."""
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, 'PYTHONPATH': str(ROOT / 'bindings/python'), 'PYTHONDONTWRITEBYTECODE': '1',
                           'OMP_NUM_THREADS': '1', 'STEELYARD_PYTHON': sys.executable}
            for name in ('STEELYARD', 'STEELYARD_NAME', 'STEELYARD_SIMULATE_SLOWDOWN', 'STEELYARD_DEVICE'):
                environment.pop(name, None)
            done = subprocess.run([*command, EXAMPLES / example, '--quick'], cwd=folder, env=environment, timeout=600,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            here = pathlib.Path(folder)
            self.assertTrue((here / made).is_file(), f'no {made}: {done.stdout}')
            runs = list(here.glob('runs/*/result.json'))
            self.assertEqual(len(runs), 1, done.stdout)
            rounds = [json.loads(line) for line in (runs[0].parent / 'rounds.jsonl').read_text().splitlines()]
            return json.loads(runs[0].read_text()), [it for it in rounds if it['purpose'] == 'train']

    def expect_learning(self, example, made, workers, command):
        result, rounds = self.ran(example, made, command)
        self.assertEqual(result['outcome'], 'finished')
        self.assertEqual(len(rounds), result['rounds'])
        self.assertLess(rounds[-1]['loss'], rounds[0]['loss'])
        self.assertEqual(len(rounds[-1]['workers']), workers)
