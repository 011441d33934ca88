"""Trains two layers on Fashion-MNIST (Debian package dataset-fashion-mnist), with JAX if installed, otherwise NumPy.

    python3 jax_or_numpy.py                      # one worker, and a child process with scheduler and servers
    steelyard run -n 3 jax_or_numpy.py           # three workers on this machine
"""
import argparse
import gzip

import numpy

try:
    import jax
    import jax.numpy as np
    from steelyard.jax import join
except ImportError:
    jax, np = None, numpy
    from steelyard.arrays import join


def read(name):
    raw = gzip.open(f'/usr/share/datasets/fashion-mnist/{name}.gz').read()
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * raw[3])


def data(part):
    pictures, classes = (read(f'{part}-{kind}-ubyte') for kind in ('images-idx3', 'labels-idx1'))
    return pictures.reshape(-1, 784) / numpy.float32(255) - numpy.float32(0.3), classes


def shares(params, x):
    """The activations of the first layer, and the probability of each class."""
    hidden = np.maximum(x @ params['w1'], 0)
    powers = np.exp(np.clip(hidden @ params['w2'] + params['b2'], -60, 60))
    return hidden, powers / powers.sum(1, keepdims=True)


def loss(params, x, y, weights):
    return -(weights * np.log(shares(params, x)[1][np.arange(len(y)), y] + 1e-9)).mean()


def by_hand(params, x, y, weights):  # the same as jax.value_and_grad(loss)
    hidden, slope = shares(params, x)
    slope = (slope - np.eye(10, dtype='float32')[y]) * weights[:, None] / len(y)
    back = (slope @ params['w2'].T) * (hidden > 0)
    return loss(params, x, y, weights), {'w1': x.T @ back, 'w2': hidden.T @ slope, 'b2': slope.sum(0)}


quick = argparse.ArgumentParser()
quick.add_argument('--quick', action='store_true', help='only a few rounds, as a test')
length = {'rounds': 8} if quick.parse_args().quick else {'epochs': 5}
drawn, step = numpy.random.default_rng(1), jax.jit(jax.value_and_grad(loss)) if jax else by_hand
first = {'w1': drawn.normal(0, 0.05, (784, 128)), 'w2': drawn.normal(0, 0.1, (128, 10)), 'b2': numpy.zeros(10)}
job = join({key: it.astype('float32') for key, it in first.items()}, data('train'), batch=512, test=data('t10k'),
           score=lambda *batch: (loss(*batch), shares(*batch[:2])[1].argmax(1) == batch[2]),
           micro_batch=128, optimizer={'name': 'adamw', 'lr': 0.001, 'weight_decay': 0.01}, **length)
for params, (x, y, weights) in job:
    job.push(*step(params, x, y, weights))
if job.main:
    numpy.savez('classifier.npz', **job.params)
