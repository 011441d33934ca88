"""Jobs that both a real cluster and a plain loop train, and the worker process of such a job.

Worker processes are forked from one that has only imported torch, which saves seconds for each.
"""
import dataclasses
import os
import pathlib
import time
from typing import Any, Callable

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

SGD, AdamW = torch.optim.SGD, torch.optim.AdamW
SCHEDULES = torch.optim.lr_scheduler


def mean_loss(model, x, y):
    return cross_entropy(model(x), y)


def samples(count=190, classes=3, seed=7):
    drawn = torch.Generator().manual_seed(seed)
    return TensorDataset(torch.randn(count, 10, generator=drawn), torch.randint(0, classes, (count,), generator=drawn))


def mlp(wide=20):
    return nn.Sequential(nn.Linear(10, wide), nn.ReLU(), nn.Linear(wide, 3))


class Unhurried(torch.utils.data.Dataset):
    """Sleeps for each sample, so that differences between workers can be measured."""

    def __init__(self, data, seconds=0.0004):
        self.data, self.seconds = data, seconds

    def __len__(self):
        return len(self.data)

    def __getitem__(self, number):
        time.sleep(self.seconds)
        return self.data[number]


@dataclasses.dataclass
class Case:
    """A job. `micro_batch`: None: the plain loop takes a round at once. `weight(x, y)`: None: the number of samples."""

    model: Callable[[], nn.Module] = mlp
    optimizer: Callable[[nn.Module], Any] = lambda model: SGD(model.parameters(), lr=0.2)
    data: Any = dataclasses.field(default_factory=samples)
    loss: Callable[..., Any] = mean_loss
    weight: Callable[..., Any] = None
    schedule: Callable[..., Any] = None
    per: str = 'epoch'
    batch: int = 20
    epochs: int = 3
    clip_norm: float = 0
    micro_batch: int = None
    options: dict = dataclasses.field(default_factory=dict)

    def first_model(self, seed=1):
        torch.manual_seed(seed)
        return self.model()

    def join(self, model, **more):
        import steelyard.torch
        optimizer = self.optimizer(model)
        schedule = {'schedule': self.schedule(optimizer), 'schedule_per': self.per} if self.schedule else {}
        return steelyard.torch.join(model, optimizer, self.data, batch=self.batch, epochs=self.epochs,
                                    clip_norm=self.clip_norm, micro_batch=self.micro_batch,
                                    **{**schedule, **self.options, **more})

    def plain(self, orders):
        """The usual PyTorch loop, over samples in the job's order. Returns the model."""
        model = self.first_model()
        optimizer = self.optimizer(model)
        schedule = self.schedule(optimizer) if self.schedule else None
        for order in orders:
            for at in range(0, len(order), self.batch):
                optimizer.zero_grad()
                self._plain_round(model, order[at:at + self.batch])
                if self.clip_norm:
                    nn.utils.clip_grad_norm_(model.parameters(), self.clip_norm)
                optimizer.step()
                if schedule and self.per == 'round':
                    schedule.step()
            if schedule and self.per == 'epoch':
                schedule.step()
        return model

    def _plain_round(self, model, numbers):
        size = self.micro_batch or len(numbers)
        batches = [torch.utils.data.default_collate([self.data[it] for it in numbers[at:at + size]])
                   for at in range(0, len(numbers), size)]
        weights = [float(self.weight(*it)) if self.weight else len(it[0]) for it in batches]
        for (x, y), weight in zip(batches, weights):
            (self.loss(model, x, y) * (weight / sum(weights))).backward()


def _groups(model):
    return AdamW([{'params': model[0].parameters(), 'lr': 0.02, 'weight_decay': 0.3},
                  {'params': model[2].parameters(), 'weight_decay': 0.05}], lr=0.01)


def _normed():
    return nn.Sequential(nn.Linear(10, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Linear(20, 3))


def _in_bfloat16(model, x, y):
    with torch.autocast('cpu', dtype=torch.bfloat16):
        return cross_entropy(model(x).float(), y)


def _over_some(model, x, y):
    """A mean over samples that are not of class 2, as a loss over tokens leaves out padding."""
    return cross_entropy(model(x), torch.where(y == 2, -100, y))


class Tied(nn.Module):
    """One weight with two names, a frozen layer, and a running mean that is linear in its inputs, so that the mean over
    workers equals that of one process."""

    def __init__(self):
        super().__init__()
        self.frozen, self.a, self.b, self.c = (nn.Linear(10, it) for it in (10, 10, 10, 3))
        self.b.weight = self.a.weight
        self.frozen.requires_grad_(False)
        self.register_buffer('mean', torch.zeros(10))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean.mul_(0.9).add_(0.1 * x.mean(0))
        x = self.frozen(x)
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))


CASES = {
    'momentum': lambda: Case(optimizer=lambda m: SGD(m.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)),
    'nesterov': lambda: Case(optimizer=lambda m: SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True)),
    'adamw': lambda: Case(optimizer=_groups, schedule=lambda o: SCHEDULES.CosineAnnealingLR(o, 40), per='round',
                          epochs=4),
    'steps': lambda: Case(schedule=lambda o: SCHEDULES.StepLR(o, 1, 0.3)),
    'clipped': lambda: Case(optimizer=lambda m: SGD(m.parameters(), lr=0.5, momentum=0.5), clip_norm=0.1),
    'changing': lambda: Case(optimizer=lambda m: SGD(m.parameters(), lr=0.1, momentum=0.9), epochs=4,
                             data=Unhurried(samples())),
    'batch_norm': lambda: Case(model=_normed, data=samples(192), batch=24, micro_batch=4,
                               optimizer=lambda m: SGD(m.parameters(), lr=0.1, momentum=0.9)),
    'bfloat16': lambda: Case(loss=_in_bfloat16),
    'tokens': lambda: Case(loss=_over_some, weight=lambda x, y: (y != 2).sum(), micro_batch=4),
    'tied': lambda: Case(model=Tied, optimizer=lambda m: SGD(m.parameters(), lr=0.1, momentum=0.9)),
    # A gradient of several messages, some of which are sent during backward.
    'wide': lambda: Case(model=lambda: nn.Sequential(nn.Linear(10, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(),
                                                     nn.Linear(300, 3)),
                         optimizer=lambda m: SGD(m.parameters(), lr=0.1, momentum=0.9)),
}


def be_worker(environment, log):
    """Makes this process the worker that `environment` describes. Its output goes to `log`."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ.update(environment)
    torch.set_num_threads(1)


def train(name, environment, folder, seed=1, options=None):
    """The process of one worker. Writes its results to folder/WORKER.pt."""
    worker = environment['STEELYARD_NAME']
    be_worker(environment, f'{folder}/{worker}.log')
    case = CASES[name]()
    model = case.first_model(seed)
    job = case.join(model, **(options or {}))
    job.wait_until_joined()
    orders = [job._worker.samples(epoch, 0, len(case.data)) for epoch in range(case.epochs)]
    pathlib.Path(folder, f'{worker}.joined').touch()
    for x, y in job:
        job.backward(case.loss(model, x, y), case.weight(x, y) if case.weight else None)
    torch.save({'state': model.state_dict(), 'orders': orders, 'main': job.main, 'about': job.about,
                'overlap': job._gradients.overlap}, f'{folder}/{worker}.pt')
