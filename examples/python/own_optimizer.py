"""Trains the classifier of image_classifier.py with an optimizer of its own: every worker takes the steps.

    python3 own_optimizer.py
    steelyard run -n 3 own_optimizer.py

Lion is written below. The script also has a scheduler, clipping and a running average of the weights, as in one process.
The result, averaged.pt, is that average.
"""
import argparse

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_

import steelyard.torch
from image_classifier import Classifier, data, score


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023: the sign of an interpolation between momentum and gradient."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {'lr': lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for it in group['params']:
                if it.grad is not None:
                    momentum = self.state[it].setdefault('momentum', torch.zeros_like(it))
                    it.sub_(momentum.lerp(it.grad, 0.1).sign(), alpha=group['lr'])
                    momentum.lerp_(it.grad, 0.01)


if __name__ == '__main__':
    quick = argparse.ArgumentParser()
    quick.add_argument('--quick', action='store_true', help='only a few rounds, as a test')
    length = {'rounds': 8} if quick.parse_args().quick else {'epochs': 5}
    torch.manual_seed(1)
    model = Classifier().to(steelyard.torch.device())
    optimizer = Lion(model.parameters(), lr=5e-4)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0.1, total_iters=5 * 118)
    average = torch.optim.swa_utils.AveragedModel(model, avg_fn=lambda old, new, count: torch.lerp(old, new, 0.05))
    job = steelyard.torch.join(model, optimizer, data('train'), step='here', batch=512,
                               test=data('t10k'), score=score, **length)
    job.keep(schedule=schedule, average=average)  # for checkpoints, and for workers that join later
    for round in job.rounds():
        for x, y in round:                        # micro-batches of this worker's share
            round.backward(cross_entropy(model(x), y))
        clip_grad_norm_(model.parameters(), 1)    # .grad is the mean over all samples of the round
        optimizer.step()
        schedule.step()
        average.update_parameters(model)
    if job.main:
        torch.save(average.module.state_dict(), 'averaged.pt')
