"""Each example of examples/python runs as a lone process and under `steelyard run -n 2`, and what it trains learns.

    python3 -m unittest tests/bindings/python/test_examples.py

Needs STEELYARD_PROGRAM and STEELYARD_LIBRARY, the program and libsteelyard.so of a build. What an example needs and
is not there is named, and its test is skipped.
"""
import importlib.util
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

FASHION, MANUAL = '/usr/share/datasets/fashion-mnist', '/usr/share/perl/5.*.*/pod/*.pod'
# Modules, files, and what is there when it has run.
NEEDS = {
    'image_classifier.py': (['torch'], [FASHION], 'classifier.pt'),
    'fine_tune.py': (['torch'], [FASHION], 'fine_tuned.pt'),
    'small_gpt.py': (['torch'], [MANUAL], 'gpt.pt'),
    'keras_mnist.py': (['keras', 'tensorflow'], [FASHION], 'classifier.keras'),
    'jax_or_numpy.py': (['numpy'], [FASHION], 'classifier.npz'),
}


def missing(modules, files):
    """The first thing that is not there, or nothing."""
    for name, path in (('STEELYARD_PROGRAM', PROGRAM), ('STEELYARD_LIBRARY', LIBRARY)):
        if not os.path.exists(path):
            return f'{name} does not say where the build is'
    for module in modules:
        if importlib.util.find_spec(module) is None:
            return f'Python has no {module}'
    for file in files:
        if not any(pathlib.Path('/').glob(file[1:])):
            return f'there is no {file}'
    return None


class Examples(unittest.TestCase):
    def ran(self, example, command):
        """The run's result and rounds, after `command` in an empty folder."""
        modules, files, made = NEEDS[example]
        if why := missing(modules, files):
            self.skipTest(f'{example}: {why}')
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

    def expect_learning(self, example, workers, command):
        result, rounds = self.ran(example, command)
        self.assertEqual(result['outcome'], 'finished')
        self.assertEqual(len(rounds), result['rounds'])
        self.assertLess(rounds[-1]['loss'], rounds[0]['loss'])
        self.assertEqual(len(rounds[-1]['workers']), workers)

    def test_every_example_is_here_and_short(self):
        found = {it.name: len(it.read_text().splitlines()) for it in EXAMPLES.glob('*.py')}
        self.assertLessEqual(set(NEEDS), set(found))
        self.assertEqual({name: lines for name, lines in found.items() if lines >= 60}, {})


def add(example):
    name = example.removesuffix('.py')
    setattr(Examples, f'test_{name}_alone',
            lambda self: self.expect_learning(example, 1, [sys.executable]))
    setattr(Examples, f'test_{name}_with_two_workers',
            lambda self: self.expect_learning(example, 2, [PROGRAM, 'run', '-n', '2']))


for each in NEEDS:
    add(each)

if __name__ == '__main__':
    unittest.main()
