"""Common parts of tests of jobs with pushed gradients: a stand-in, and plain NumPy steps to compare with."""
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

import numpy  # script/setup installs it
import standin

import steelyard._joining

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / 'bindings/python'


def samples(count=100, wide=10, classes=3, seed=7):
    """Random inputs, and classes that can be learned from them."""
    drawn = numpy.random.default_rng(seed)
    x = drawn.normal(size=(count, wide)).astype(numpy.float32)
    return x, (x @ drawn.normal(size=(wide, classes))).argmax(1)


def first_params(wide=10, hidden=16, classes=3, seed=1):
    drawn = numpy.random.default_rng(seed)
    return {'first': {'w': 0.3 * drawn.normal(size=(wide, hidden)), 'b': numpy.zeros(hidden)},
            'last': [0.3 * drawn.normal(size=(hidden, classes)), numpy.zeros(classes)]}


def value_and_grad(params, x, y, weights):
    """Loss and gradients of the mean cross entropy of two layers."""
    w1, b1, (w2, b2) = params['first']['w'], params['first']['b'], params['last']
    hidden = numpy.maximum(x @ w1 + b1, 0)
    scores = hidden @ w2 + b2
    powers = numpy.exp(scores - scores.max(1, keepdims=True))
    shares = powers / powers.sum(1, keepdims=True)
    at = numpy.arange(len(y))
    loss = (weights * -numpy.log(shares[at, y])).mean()
    shares[at, y] -= 1
    shares *= weights[:, None] / len(y)
    back = (shares @ w2.T) * (hidden > 0)
    return loss, {'first': {'w': x.T @ back, 'b': back.sum(0)}, 'last': [hidden.T @ shares, shares.sum(0)]}


class JobCase(unittest.TestCase):
    def on(self, cluster, join, *arguments, index=0, **options):
        """The result of join() for worker `index` of this stand-in."""
        with mock.patch.object(steelyard._joining, 'clusters', lambda arguments: standin.given()), \
                mock.patch.object(steelyard._joining, 'worker_factory', cluster.worker(index)):
            return join(*arguments, **{'batch': 32, 'epochs': 2, **options})

    def rounds(self, cluster, batch=32, epochs=2):
        """The sample numbers of each round, in the stand-in's order."""
        for epoch in range(epochs):
            order = cluster.order(epoch)
            for at in range(0, len(order), batch):
                yield order[at:at + batch]

    def assert_near(self, found, expected, within=1e-4):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertEqual(numpy.shape(one), numpy.shape(other))
            self.assertLessEqual(float(abs(numpy.asarray(one) - numpy.asarray(other)).max()), within)

    def assert_moved(self, before, after):
        """Checks that parameters have moved enough for a meaningful comparison."""
        self.assertGreater(max(float(abs(numpy.asarray(a) - numpy.asarray(b)).max()) for a, b in zip(before, after)),
                           1e-2)

    def real(self, body, workers=None, **environment):
        """Runs a script on a real cluster, alone or with `workers` workers. Returns the texts after 'far:' in the
        output."""
        for name in ('STEELYARD_PROGRAM', 'STEELYARD_LIBRARY'):
            self.assertTrue(os.path.exists(os.environ.get(name, '')), f'{name} is not a file of a build')
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / 'script.py'
            script.write_text(f'import sys\nsys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n'
                              + textwrap.dedent(body))
            around = {**os.environ, 'PYTHONPATH': str(PACKAGE), 'PYTHONDONTWRITEBYTECODE': '1', 'OMP_NUM_THREADS': '1',
                      'STEELYARD_PYTHON': sys.executable, **environment}
            for name in ('STEELYARD', 'STEELYARD_NAME', 'STEELYARD_SIMULATE_SLOWDOWN', 'STEELYARD_DEVICE'):
                around.pop(name, None)
            command = [sys.executable] if workers is None else [
                os.environ['STEELYARD_PROGRAM'], 'run', '-n', str(workers)]
            done = subprocess.run([*command, str(script)], cwd=folder, env=around, timeout=300, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
            return [line.split('far:')[1] for line in done.stdout.splitlines() if 'far:' in line]
