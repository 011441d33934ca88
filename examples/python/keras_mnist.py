"""Trains a small convolutional network of Keras on Fashion-MNIST (Debian package dataset-fashion-mnist).

    python3 keras_mnist.py                       # one worker, and a child process with scheduler and servers
    steelyard run -n 3 keras_mnist.py            # three workers on this machine

Needs tensorflow-cpu or tensorflow from PyPI. The final test accuracy is about 90 %.
"""
import argparse
import gzip

import keras
import numpy
import tensorflow as tf

import steelyard.keras


def read(name):
    with gzip.open(f'/usr/share/datasets/fashion-mnist/{name}.gz') as file:
        raw = file.read()
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * raw[3])


def data(part):
    """Pictures as bytes, [sample][row][column][1], and their classes. `part`: 'train' or 't10k'."""
    pictures, classes = (read(f'{part}-{kind}-ubyte') for kind in ('images-idx3', 'labels-idx1'))
    return pictures.reshape(-1, 28, 28, 1), classes


def score(model, x, y, weights):
    scores = model(x, training=False)
    return loss_of(y, scores, sample_weight=weights), keras.ops.argmax(scores, 1) == y


quick = argparse.ArgumentParser()
quick.add_argument('--quick', action='store_true', help='only a few rounds, as a test')
length = {'rounds': 8} if quick.parse_args().quick else {'epochs': 5}
keras.utils.set_random_seed(1)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model = keras.Sequential([
    keras.Input((28, 28, 1)), keras.layers.Rescaling(1 / 255, -0.3),
    keras.layers.Conv2D(16, 5, padding='same', activation='relu'), keras.layers.MaxPool2D(),
    keras.layers.Conv2D(32, 5, activation='relu'), keras.layers.MaxPool2D(), keras.layers.Flatten(),
    keras.layers.Dense(128, 'relu'), keras.layers.Dense(10)])


@tf.function
def step(x, y, weights):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True), sample_weight=weights)
    return loss, tape.gradient(loss, model.trainable_variables)


job = steelyard.keras.join(model, keras.optimizers.SGD(0.05, momentum=0.9), data('train'), batch=512,
                           test=data('t10k'), score=score, **length)
for x, y, weights in job:
    job.push(*step(x, y, weights))
if job.main:
    model.save('classifier.keras')
