"""Trains a small convolutional network on Fashion-MNIST (Debian package dataset-fashion-mnist).

    python3 image_classifier.py                  # one worker, and a child process with scheduler and servers
    steelyard run -n 3 image_classifier.py       # three workers on this machine

The final test accuracy is about 88 %.
"""
import argparse
import gzip

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

import steelyard.torch


def read(name):
    with gzip.open(f'/usr/share/datasets/fashion-mnist/{name}.gz') as file:
        raw = bytearray(file.read())
    return torch.frombuffer(raw, dtype=torch.uint8, offset=4 + 4 * raw[3])


def data(part):
    """Pictures as bytes, [sample][1][row][column], and their classes. `part`: 'train' or 't10k'."""
    pictures, classes = (read(f'{part}-{kind}-ubyte') for kind in ('images-idx3', 'labels-idx1'))
    return TensorDataset(pictures.view(-1, 1, 28, 28), classes.long())


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(800, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, x):
        return self.head(self.features(x / 255 - 0.3))


def score(model, x, y):
    scores = model(x)
    return cross_entropy(scores, y), (scores.argmax(1) == y).sum()


if __name__ == '__main__':
    quick = argparse.ArgumentParser()
    quick.add_argument('--quick', action='store_true', help='only a few rounds, as a test')
    length = {'rounds': 8} if quick.parse_args().quick else {'epochs': 5}
    torch.manual_seed(1)
    model = Classifier().to(steelyard.torch.device())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    job = steelyard.torch.join(model, optimizer, data('train'), batch=512, test=data('t10k'), score=score, **length)
    for x, y in job:
        job.backward(cross_entropy(model(x), y))
    if job.main:
        torch.save(model.state_dict(), 'classifier.pt')
