"""Checks that Steelyard and PyTorch have the same scores and gradients for the same weights and samples.

    check.py STEELYARD_STEP [MODEL ...]

Scores in evaluation must agree to 1e-4, the gradient of each tensor to 2e-3 of its norm. Reports models that this build
of Steelyard does not have.
"""
import pathlib
import sys
import tempfile

import torch  # script/setup installs it

from material import as_stored, draw, make, write
from models import PEERS
from side import Broken, Side
from tensor_file import load_file

SEEDS = (2, 3, 4)  # one of several random draws must agree


def lift(model):
    """Makes numbers behind batch norms hardly ever negative: if a number is so close to the kink of a ReLU that rounding
    decides its side, gradients before it differ by percents."""
    if not any(isinstance(it, torch.nn.SiLU) for it in model.modules()):  # without kinks
        with torch.no_grad():
            for it in model.modules():
                if isinstance(it, torch.nn.BatchNorm2d):
                    it.bias += 3


def settle(model, inputs):
    """Sets the running statistics of batch norms from these inputs: with initial ones, deep networks overflow."""
    norms = [it for it in model.modules() if isinstance(it, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1
    with torch.no_grad():
        model.train()(inputs)
    for norm in norms:
        norm.momentum = 0.1


def expected(peer, model, inputs, labels, grain):
    """Returns scores in evaluation, and gradients by name."""
    scores = model.eval()(inputs)
    model.train()
    for part, wanted in zip(inputs.split(grain), labels.split(grain)):
        (peer.mean_loss(model(part), wanted) * (len(part) / len(inputs))).backward()
    return scores, {name: tensor.grad for name, tensor in model.named_parameters()}


def differences(program, name, batch, seed, directory):
    peer, model = PEERS[name], make(name)
    inputs, labels = draw(peer, batch, seed)
    lift(model)
    settle(model, inputs)
    weights, samples = write(name, model, inputs, labels, directory)
    side = Side(program, '--model', name, '--batch', batch, '--classes', peer.classes, '--weights', weights,
                '--samples', samples)
    parameters, _, grain = (float(it) for it in side.ask('about'))
    found = load_file(side.ask('save', directory / 'found.safetensors')[0])
    side.end()
    scores, gradients = expected(peer, model, inputs, labels, int(grain))
    if (off := (found['scores'] - scores.flatten(0, -2)).abs().max()) > 1e-4 * max(1, scores.abs().max()):
        yield f'scores differ by {off:.2g}'
    # Parameters that a softmax or a norm cancels (the bias of keys) have a zero gradient, up to rounding.
    least = 1e-4 * max(gradient.norm() for gradient in gradients.values())
    for tensor, gradient in as_stored(gradients).items():
        off = (found[f'gradient.{tensor}'] - gradient).norm() / max(gradient.norm(), least)
        if not off <= 2e-3:  # Winograd's convolutions round more than direct ones
            yield f'the gradient of {tensor} differs by {off:.2g} of its norm'


def main():
    program, names, wrong, there = sys.argv[1], sys.argv[2:] or list(PEERS), 0, 0
    for name in names:
        with tempfile.TemporaryDirectory() as directory:
            try:
                for seed in SEEDS:
                    if not (found := list(differences(program, name, 4, seed, pathlib.Path(directory)))):
                        break
            except Broken as why:
                found = [str(why)]
                if 'there is no model' in str(why):
                    print(f'{name}: not in this build')
                    continue
            there += 1
            wrong += len(found)
            print(f'{name}:', '; '.join(found) or 'equal', flush=True)
    return 1 if wrong or not there else 0


if __name__ == '__main__':
    sys.exit(main())
