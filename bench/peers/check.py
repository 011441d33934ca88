"""Checks that Steelyard and PyTorch have the same scores and gradients for the same weights and samples.

    check.py STEELYARD_STEP [--precision bf16] [MODEL ...]

Scores in evaluation must agree to 1e-4, the gradient of each tensor to 2e-3 of its norm. With --precision bf16 they are
also compared with PyTorch in float32, and may differ from it by three times as much as PyTorch under torch.autocast
does, or by 3 %. Reports models that this build of Steelyard does not have.
"""
import argparse
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


def expected(peer, model, inputs, labels, grain, precision='float32'):
    """Returns scores in evaluation, and gradients by name."""
    autocast = torch.autocast('cpu', torch.bfloat16, enabled=precision == 'bf16')
    model.zero_grad(set_to_none=True)
    with autocast:
        scores = model.eval()(inputs)
    model.train()
    for part, wanted in zip(inputs.split(grain), labels.split(grain)):
        with autocast:
            loss = peer.mean_loss(model(part), wanted) * (len(part) / len(inputs))
        loss.backward()
    return scores.float(), {name: tensor.grad for name, tensor in model.named_parameters()}


def off_scores(found, scores):
    return ((found - scores).abs().max() / max(1, scores.abs().max())).item()


def off_gradients(found, gradients):
    # Parameters that a softmax or a norm cancels (the bias of keys) have a zero gradient, up to rounding.
    least = 1e-4 * max(gradient.norm() for gradient in gradients.values())
    return {tensor: ((found[tensor] - gradient).norm() / max(gradient.norm(), least)).item()
            for tensor, gradient in as_stored(gradients).items()}


def tolerances(precision, peer, model, inputs, labels, grain, scores, gradients):
    """For the scores, and for the gradient of each tensor."""
    if precision == 'float32':
        return 1e-4, dict.fromkeys(as_stored(gradients), 2e-3)  # Winograd's convolutions round more than direct ones
    their_scores, theirs = expected(peer, model, inputs, labels, grain, precision)
    their_scores = their_scores.flatten(0, -2).detach()
    return (max(3e-2, 3 * off_scores(their_scores, scores)),
            {tensor: max(3e-2, 3 * off) for tensor, off in off_gradients(as_stored(theirs), gradients).items()})


def differences(program, name, batch, seed, directory, precision):
    peer, model = PEERS[name], make(name)
    inputs, labels = draw(peer, batch, seed)
    lift(model)
    settle(model, inputs)
    weights, samples = write(name, model, inputs, labels, directory)
    side = Side(program, '--model', name, '--batch', batch, '--classes', peer.classes, '--weights', weights,
                '--samples', samples, '--precision', precision)
    parameters, _, grain = (float(it) for it in side.ask('about'))
    found = load_file(side.ask('save', directory / 'found.safetensors')[0])
    side.end()
    scores, gradients = expected(peer, model, inputs, labels, int(grain))
    scores, gradients = scores.flatten(0, -2).detach(), {name: it.clone() for name, it in gradients.items()}
    of_scores, of_gradients = tolerances(precision, peer, model, inputs, labels, int(grain), scores, gradients)
    if not (off := off_scores(found['scores'], scores)) <= of_scores:
        yield f'scores differ by {off:.2g}'
    stored = {tensor: found[f'gradient.{tensor}'] for tensor in of_gradients}
    for tensor, off in off_gradients(stored, gradients).items():
        if not off <= of_gradients[tensor]:
            yield f'the gradient of {tensor} differs by {off:.2g} of its norm'


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('program')
    options.add_argument('models', nargs='*')
    options.add_argument('--precision', choices=['float32', 'bf16'], default='float32')
    it = options.parse_intermixed_args()
    program, names, wrong, there = it.program, it.models or list(PEERS), 0, 0
    for name in names:
        with tempfile.TemporaryDirectory() as directory:
            try:
                for seed in SEEDS:
                    if not (found := list(differences(program, name, 4, seed, pathlib.Path(directory), it.precision))):
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
