"""The script of test_cluster_own_steps.py, in two forms: `rounds` with join(step='here'), `parallel` with the loop of a
DDP script. It saves the model and what each worker did. Its options choose optimizer and trouble."""
import argparse
import os
import pathlib
import signal
import time

import torch
from torch import nn

import cluster_jobs
import steelyard.torch

SAMPLES, BATCH, ROUNDS = 96, 24, 4


def model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3))


def samples():
    drawn = torch.Generator().manual_seed(7)
    x = torch.randn(SAMPLES, 10, generator=drawn)
    return torch.utils.data.TensorDataset(x, torch.randn(SAMPLES, 3, generator=drawn), torch.arange(SAMPLES))


def loss_of(net, x, y):
    return (net(x) - y).square().mean()


def batches(epochs):
    """Epoch and sample numbers of each round: in the order of the data set."""
    return [(epoch, list(range(at, at + BATCH))) for epoch in range(epochs) for at in range(0, SAMPLES, BATCH)]


class Lion(torch.optim.Optimizer):
    """Its sign is smooth here, so that rounding does not decide it."""

    def __init__(self, parameters, lr=1e-3, beta=0.9):
        super().__init__(parameters, {'lr': lr, 'beta': beta})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for it in group['params']:
                if it.grad is not None:
                    mean = self.state[it].setdefault('mean', torch.zeros_like(it))
                    mean.lerp_(it.grad, 1 - group['beta'])
                    it.sub_(torch.tanh(100 * mean), alpha=group['lr'])


class Factored(torch.optim.Optimizer):
    """As Adafactor: second moments of rows and columns."""

    def __init__(self, parameters, lr=1e-3):
        super().__init__(parameters, {'lr': lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for it in group['params']:
                if it.grad is None:
                    continue
                state, square = self.state[it], it.grad.square() + 1e-8
                if it.dim() < 2:
                    mean = state.setdefault('whole', torch.zeros_like(it)).lerp_(square, 0.1)
                else:
                    rows = state.setdefault('rows', torch.zeros_like(square.mean(1))).lerp_(square.mean(1), 0.1)
                    columns = state.setdefault('columns', torch.zeros_like(square.mean(0))).lerp_(square.mean(0), 0.1)
                    mean = rows[:, None] * columns[None] / rows.mean()
                it.sub_(it.grad / mean.sqrt(), alpha=group['lr'])


class Training:
    """Everything that takes part in a step, with the plain loop and a job."""

    def __init__(self, kind, epochs):
        self.kind, self.net = kind, model()
        parameters = list(self.net.parameters())
        self.parts = {'lion': lambda: [Lion(parameters)], 'factored': lambda: [Factored(parameters)],
                      'two': lambda: [torch.optim.AdamW(self.net[:2].parameters(), lr=1e-3),
                                      torch.optim.SGD(self.net[2:].parameters(), lr=0.05, momentum=0.9)],
                      'one_cycle': lambda: [torch.optim.SGD(parameters, lr=0.1, momentum=0.9)],
                      'lbfgs': lambda: [torch.optim.LBFGS(parameters)],
                      }.get(kind, lambda: [torch.optim.AdamW(parameters, lr=1e-3)])()
        self.kept = {f'optimizer{at}': it for at, it in enumerate(self.parts)}
        if kind == 'one_cycle':
            self.kept['schedule'] = torch.optim.lr_scheduler.OneCycleLR(
                self.parts[0], 0.1, total_steps=epochs * ROUNDS + 1, cycle_momentum=True)
        if kind == 'average':
            self.kept['average'] = torch.optim.swa_utils.AveragedModel(
                self.net, avg_fn=lambda mean, its, count: 0.9 * mean + 0.1 * its)
        if kind == 'unfreezing':
            self.net[0].requires_grad_(False)

    def begin(self, epoch):
        if self.kind == 'unfreezing' and epoch >= 2:
            self.net[0].requires_grad_(True)

    def step(self):
        if self.kind == 'clipped':
            nn.utils.clip_grad_norm_(self.net.parameters(), 0.1)
        for it in self.parts:
            it.step()
        if 'schedule' in self.kept:
            self.kept['schedule'].step()
        if 'average' in self.kept:
            self.kept['average'].update_parameters(self.net)

    def result(self):
        return {**self.net.state_dict(), **{f'average.{name}': it for name, it in
                                            (self.kept['average'].state_dict() if 'average' in self.kept else {}).items()}}

    def plain(self, batches):
        """`batches`: (epoch, sample numbers) of each round."""
        data = samples()
        for epoch, numbers in batches:
            self.begin(epoch)
            self.net.zero_grad()
            loss_of(self.net, *data[sorted(numbers)][:2]).backward()
            self.step()
        return self.result()


def work(options, environment, folder):
    """The process of one worker of a cluster."""
    cluster_jobs.be_worker(environment, f'{folder}/{environment["STEELYARD_NAME"]}.log')
    os.chdir(folder)
    main(options)


def main(words=None):
    options = argparse.ArgumentParser()
    options.add_argument('--kind', default='adamw')
    options.add_argument('--form', default='rounds')
    options.add_argument('--epochs', type=int, default=4)
    options.add_argument('--sleep', type=float, default=0)
    options.add_argument('--kill', default='', help='NAME:ROUND: that worker kills itself in the round')
    options.add_argument('--stop', type=int, default=-1, help='the round after which job.stop() is called')
    options.add_argument('--leave', type=int, default=-1, help='the round after which all workers break')
    options.add_argument('--accumulate', type=int, default=1)
    options.add_argument('--synchronize', action='store_true', help='without no_sync')
    given = options.parse_args(words)
    torch.set_num_threads(1)
    name, data, rounds = os.environ.get('STEELYARD_NAME', 'worker-0'), samples(), []
    training = Training(given.kind, given.epochs)
    more = {'name': 'own', 'shuffle': False, 'job': {'train.checkpoint_minutes': 0, 'cluster.heartbeat': 0.1}}

    def used(round, epoch, numbers):
        rounds.append((round, epoch, numbers))
        with open(f'{name}.at', 'w') as file:
            file.write(f'{round}')
        time.sleep(given.sleep)
        if given.kill == f'{name}:{round}':
            os.kill(os.getpid(), signal.SIGKILL)

    if given.form == 'rounds':
        job = steelyard.torch.join(training.net, None, data, batch=BATCH, epochs=given.epochs, step='here', **more)
        job.keep(**training.kept)
        for round in job.rounds():
            training.begin(round.epoch)
            if given.kind == 'lbfgs':
                def closure():
                    for x, y, _ in round:
                        round.backward(loss_of(training.net, x, y))
                    return 0.0
                training.parts[0].step(closure)
                continue
            used(round.version, round.epoch, [])
            for x, y, its in round:
                rounds[-1][2].extend(its.tolist())
                round.backward(loss_of(training.net, x, y))
            training.step()
            if round.version == given.stop:
                job.stop()
            if round.version == given.leave:
                break
        about = {'main': job.main, 'outcome': job.outcome}
    else:
        shared = steelyard.torch.parallel(training.net).keep(**training.kept)
        loader = steelyard.torch.loader(data, shared, batch_size=BATCH, epochs=given.epochs, **more)
        number, over = 0, False
        for _ in range(given.epochs):
            for at, (x, y, its) in enumerate(loader):
                step = at % given.accumulate == given.accumulate - 1
                used(loader.job.steps.version, loader.job.epoch, its.tolist() if loader.job._weight else [])
                with shared.no_sync() if not step and not given.synchronize else open(os.devnull):
                    (loss_of(shared, x, y) / given.accumulate).backward()
                if step:
                    training.step()
                    training.net.zero_grad()
                if number == given.stop:
                    loader.job.stop()
                number += 1
                if over := number - 1 == given.leave:
                    break
            if over:
                break
        about = {'main': shared.main, 'outcome': loader.job.outcome}
    torch.save({'state': training.result(), 'rounds': rounds, **about}, pathlib.Path(f'{name}.pt'))


if __name__ == '__main__':
    main()
