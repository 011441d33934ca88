"""Fine-tunes a trained network: the feature layers are frozen, and the two layers after them learn at different rates.

    python3 image_classifier.py && python3 fine_tune.py
    steelyard run -n 3 fine_tune.py

Starts from classifier.pt, the output of image_classifier.py, and learns to distinguish shoes, clothes and bags. Frozen
layers are not sent. The result is in fine_tuned.pt.
"""
import argparse
import os

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

import steelyard.torch
from image_classifier import Classifier, data

KINDS = torch.tensor([0, 0, 0, 0, 0, 1, 0, 1, 2, 1])  # of the ten classes: clothes 0, shoes 1, bags 2


def kinds(part):
    pictures, classes = data(part).tensors
    return TensorDataset(pictures, KINDS[classes])


def trained():
    model = Classifier()
    if os.path.exists('classifier.pt'):
        model.load_state_dict(torch.load('classifier.pt', map_location='cpu'))
    else:
        print('classifier.pt is missing, so the features are random: run image_classifier.py first')
    for parameter in model.features.parameters():
        parameter.requires_grad_(False)
    model.head[2] = nn.Linear(128, 3)
    return model


def score(model, x, y):
    scores = model(x)
    return cross_entropy(scores, y), (scores.argmax(1) == y).sum()


if __name__ == '__main__':
    quick = argparse.ArgumentParser()
    quick.add_argument('--quick', action='store_true', help='only a few rounds, as a test')
    length = {'rounds': 8} if quick.parse_args().quick else {'epochs': 1}
    torch.manual_seed(1)
    model = trained().to(steelyard.torch.device())
    optimizer = torch.optim.SGD([{'params': model.head[0].parameters(), 'lr': 0.005},
                                 {'params': model.head[2].parameters(), 'weight_decay': 1e-3}], lr=0.05, momentum=0.9)
    job = steelyard.torch.join(model, optimizer, kinds('train'), batch=256, test=kinds('t10k'), score=score, **length)
    for x, y in job:
        job.backward(cross_entropy(model(x), y))
    if job.main:
        torch.save(model.state_dict(), 'fine_tuned.pt')
