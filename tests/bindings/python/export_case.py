"""Jobs of all built-in models, trained for two rounds by the program, and what `steelyard predict` says about their
test samples. Tests compare it with the exported files. Needs STEELYARD_PROGRAM.
"""
import csv
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy

PROGRAM = os.environ.get('STEELYARD_PROGRAM', '')
SAMPLES, CLOSE = 4, 1e-4

# Height, width and channels of a sample, number of classes, and keys of [model].
PICTURE = (32, 32, 3)
LARGER = (64, 64, 3)  # of models that reduce it 32 times: batch norm of single pixels overflows
BATCH_NORM = 'grain = 2\n'
MODELS = {
    'softmax': ((1, 1, 7), 3, ''),
    'svm': ((1, 1, 7), 3, ''),
    'mlp': ((1, 1, 7), 3, 'hidden = [32, 16]\ndropout = 0.25\n'),
    'lenet5': ((28, 28, 1), 10, ''),
    'cifarnet': (PICTURE, 10, ''),
    'resnet20': (PICTURE, 10, BATCH_NORM),
    'resnet32': (PICTURE, 10, BATCH_NORM),
    'resnet18': (LARGER, 10, BATCH_NORM),
    'resnet101': (LARGER, 10, BATCH_NORM),
    'densenet121': (LARGER, 10, BATCH_NORM),
    'shufflenet_v2': (LARGER, 10, BATCH_NORM),
    'efficientnet_b0': (LARGER, 10, BATCH_NORM),
    'efficientnet_b1': (LARGER, 10, BATCH_NORM),
    'inception_v3': ((75, 75, 3), 10, BATCH_NORM),
    'vit': (PICTURE, 10, 'width = 64\nlayers = 2\nheads = 4\n'),
    'vit_b16': ((16, 16, 3), 10, ''),
    'transformer': ((1, 12, 1), 4, 'vocabulary = 50\nwidth = 32\n'),
    'albert': ((1, 12, 1), 4, 'vocabulary = 50\n'),
    'gpt': ((1, 12, 1), 50, 'width = 48\nlayers = 2\n'),
    'gpt2': ((1, 12, 1), 50, 'width = 48\nlayers = 2\n'),
}
TOKENS = {'transformer', 'albert', 'gpt', 'gpt2'}
# Minutes in all: only with STEELYARD_LARGE_MODELS, which the tests with packages from PyPI set.
LARGE = {'resnet18', 'resnet101', 'densenet121', 'efficientnet_b0', 'efficientnet_b1', 'inception_v3', 'vit_b16', 'albert'}
# A model of the job file: every op that no built-in model has, and a branch.
LAYERS = '''
[[model.layer]]
kind = "conv2d"
name = "stem"
channels = 8
kernel = [3, 1]
padding = [1, 0]
[[model.layer]]
kind = "group_norm"
groups = 2
[[model.layer]]
kind = "hard_swish"
[[model.layer]]
kind = "add"
inputs = ["hard_swish3", "stem"]
[[model.layer]]
kind = "max_pool"
size = 3
stride = 2
padding = 1
[[model.layer]]
kind = "layer_norm"
[[model.layer]]
kind = "token_linear"
outputs = 6
[[model.layer]]
kind = "relu6"
[[model.layer]]
kind = "hard_sigmoid"
[[model.layer]]
kind = "linear"
'''


def built_in_models():
    text = subprocess.run([PROGRAM, 'help', 'model'], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0] for line in text.splitlines() if line.startswith('  ') and line[2] != ' '}
    return names - {'external', 'layers'}


class ExportCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='steelyard-test-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def steelyard(self, *words):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f'{words}\n{done.stdout}\n{done.stderr}')
        return done.stdout

    def save_data(self, shape, classes, tokens, labels):
        random = numpy.random.default_rng(3)
        for part in ('train', 'test'):
            if tokens:
                inputs = random.integers(0, 50, (SAMPLES, *shape)).astype(numpy.int32)
            else:  # channels that differ and are far from 0, so that it matters whether they are normalised
                spread = numpy.arange(1, shape[2] + 1)
                inputs = (random.normal(0, spread, (SAMPLES, *shape)) + 3 * spread).astype(numpy.float32)
            numpy.save(self.folder / f'{part}_inputs.npy', inputs)
            numpy.save(self.folder / f'{part}_labels.npy',
                       random.integers(0, classes, (SAMPLES, shape[1]) if labels else SAMPLES).astype(numpy.uint8))

    def train(self, name, shape, classes, keys, layers='', tokens=False, labels=False):
        """Trains in the folder `run`, and returns the raw test samples as the exported models take them."""
        self.save_data(shape, classes, tokens, labels)
        files = '\n'.join(f'{part}_{what} = "{part}_{what}.npy"'
                          for part in ('train', 'test') for what in ('inputs', 'labels'))
        (self.folder / 'job.toml').write_text(
            f'[model]\nname = "{name}"\n{keys}{layers}\n[data]\nname = "npy"\n{files}\nclasses = {classes}\n'
            f'normalize = {"false" if tokens else "true"}\n[train]\nbatch = {SAMPLES}\nrounds = 2\n'
            'optimizer = "sgd"\nlr = 0.01\nevaluate_every = 0\n[[worker]]\n')
        self.steelyard('train', 'job.toml', '--run-dir', 'run', '--quiet')
        inputs = numpy.load(self.folder / 'test_inputs.npy')
        if tokens:
            return inputs.reshape(SAMPLES, -1).astype(numpy.int64)
        return inputs.reshape(SAMPLES, -1) if shape[:2] == (1, 1) else inputs.transpose(0, 3, 1, 2).copy()

    def predicted(self):
        """Class and probability of each test sample."""
        self.steelyard('predict', 'run', '--out', 'predicted.csv')
        with open(self.folder / 'predicted.csv', newline='') as file:
            return [(int(it['class']), float(it['probability'])) for it in csv.DictReader(file)]

    def assert_equal_to_predict(self, probabilities):
        """`probabilities`: [sample][class], or [sample][token][class], of which predict prints the last token."""
        probabilities = numpy.asarray(probabilities, numpy.float64)
        if probabilities.ndim == 3:
            probabilities = probabilities[:, -1]
        for i, (best, probability) in enumerate(self.predicted()):
            self.assertLess(abs(probabilities[i, best] - probability), CLOSE, f'sample {i}')
            self.assertLess(probabilities[i].max() - probability, CLOSE, f'sample {i}: another class')

    def train_targets(self, loss):
        """Trains a model with two targets, far from 0 and of unlike size, in the folder `run`. Returns the raw test
        samples."""
        random = numpy.random.default_rng(5)
        for part in ('train', 'test'):
            inputs = random.normal(3, 2, (20, 5)).astype(numpy.float32)
            numbers = inputs[:, :2] * [1000, 0.5] + [50000, -3]
            numpy.save(self.folder / f'{part}_inputs.npy', inputs)
            numpy.save(self.folder / f'{part}_labels.npy', (inputs[:, :2] > 3) if loss == 'bce' else numbers)
        files = '\n'.join(f'{part}_{what} = "{part}_{what}.npy"'
                          for part in ('train', 'test') for what in ('inputs', 'labels'))
        (self.folder / 'job.toml').write_text(
            f'[model]\nname = "mlp"\nhidden = [8]\nloss = "{loss}"\n[data]\nname = "npy"\n{files}\n'
            '[train]\nbatch = 10\nepochs = 5\n[[worker]]\n')
        shutil.rmtree(self.folder / 'run', ignore_errors=True)
        self.steelyard('train', 'job.toml', '--run-dir', 'run', '--quiet')
        return numpy.load(self.folder / 'test_inputs.npy')

    def assert_equal_to_predicted_targets(self, outputs):
        """`outputs`: [sample][target], numbers of the data or probabilities."""
        with open(self.folder / 'predicted.csv', 'w') as file:
            file.write(self.steelyard('predict', 'run'))
        with open(self.folder / 'predicted.csv', newline='') as file:
            predicted = numpy.array([(float(it['value0']), float(it['value1'])) for it in csv.DictReader(file)])
        self.assertEqual(predicted.shape, (20, 2))
        numpy.testing.assert_allclose(numpy.asarray(outputs), predicted, rtol=CLOSE, atol=CLOSE)

    def models(self):
        """The names of the models to test; `layers` is a model of the job file."""
        self.assertEqual(set(MODELS), built_in_models(), 'every built-in model is tested')
        large = os.environ.get('STEELYARD_LARGE_MODELS')
        return [*(it for it in MODELS if large or it not in LARGE), 'layers']

    def train_model(self, name):
        """Trains it, and returns its test samples."""
        shutil.rmtree(self.folder / 'run', ignore_errors=True)
        if name == 'layers':
            return self.train(name, (9, 8, 3), 5, '', LAYERS)
        return self.train(name, *MODELS[name], tokens=name in TOKENS, labels=name in ('gpt', 'gpt2'))
