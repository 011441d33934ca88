"""Each example of examples/python runs as a lone process and under `steelyard run -n 2`, and its loss falls.

    python3 -m unittest tests/bindings/python/test_examples.py

Needs STEELYARD_PROGRAM and STEELYARD_LIBRARY, the program and libsteelyard.so of a build. If an example's
modules or files are missing, its test is skipped and names them.
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
# The modules and files that each example needs, and the file that it writes.
NEEDS = {
    'image_classifier.py': (['torch'], [FASHION], 'classifier.pt'),
    'fine_tune.py': (['torch'], [FASHION], 'fine_tuned.pt'),
    'small_gpt.py': (['torch'], [MANUAL], 'gpt.pt'),
    'keras_mnist.py': (['keras', 'tensorflow'], [FASHION], 'classifier.keras'),
    'jax_or_numpy.py': (['numpy'], [FASHION], 'classifier.npz'),
}


def missing(modules, files):
    """The first missing requirement, or None."""
    for name, path in (('STEELYARD_PROGRAM', PROGRAM), ('STEELYARD_LIBRARY', LIBRARY)):
        if not os.path.exists(path):
            return f'{name} is not a file of a build'
    for module in modules:
        if importlib.util.find_spec(module) is None:
            return f'Python has no {module}'
    for file in files:
        if not any(pathlib.Path('/').glob(file[1:])):
            return f'there is no {file}'
    return None


class Examples(unittest.TestCase):
    def ran(self, example, command):
        """Runs `command` in an empty folder. Returns the run's result and rounds."""
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

    def test_every_example_exists_and_is_short(self):
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
