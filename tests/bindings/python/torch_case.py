"""Common parts of tests of steelyard.torch: a job on a stand-in, and the plain loop that it must equal."""
import copy
import unittest
from unittest import mock

import standin
import torch  # script/setup installs it
from torch.nn.functional import cross_entropy

import steelyard.torch

torch.set_num_threads(1)


def mean_loss(model, x, y):
    return cross_entropy(model(x), y)


def samples(count=100, shape=(10,), classes=3, seed=7):
    drawn = torch.Generator().manual_seed(seed)
    x = torch.randn(count, *shape, generator=drawn)
    return torch.utils.data.TensorDataset(x, torch.randint(0, classes, (count,), generator=drawn))


def mlp(seed=1, wide=20):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(10, wide), torch.nn.ReLU(), torch.nn.Linear(wide, 3))


class TorchCase(unittest.TestCase):
    def join(self, cluster, model, optimizer, data, index=0, **options):
        """A job of worker `index` on this stand-in."""
        with mock.patch.object(steelyard._joining, 'clusters', lambda arguments: standin.given()), \
                mock.patch.object(steelyard._joining, 'worker_factory', cluster.worker(index)):
            return steelyard.torch.join(model, optimizer, data, **{'batch': 32, 'epochs': 2, **options})

    def train(self, cluster, model, optimizer, data, loss=mean_loss, **options):
        job = self.join(cluster, model, optimizer, data, **options)
        for x, y in job:
            job.backward(loss(model, x, y))
        cluster.check_epochs()
        return job

    def plain(self, cluster, model, optimizer, data, loss=mean_loss, batch=32, epochs=2, schedule=None,
              per='epoch', parts=1, clip_norm=0):
        """The usual PyTorch loop, with the samples in the cluster's order. `parts`: micro-batches of a round."""
        for epoch in range(epochs):
            order = cluster.order(epoch)
            for at in range(0, len(order), batch):
                numbers = order[at:at + batch]
                optimizer.zero_grad()
                size = -(-len(numbers) // parts)
                for first in range(0, len(numbers), size):
                    some = numbers[first:first + size]
                    x, y = torch.utils.data.default_collate([data[it] for it in some])
                    (loss(model, x, y) * (len(some) / len(numbers))).backward()
                if clip_norm:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
                optimizer.step()
                if schedule and per == 'round':
                    schedule.step()
            if schedule and per == 'epoch':
                schedule.step()

    def assert_same(self, found, expected, within=1e-5):
        expected = expected.state_dict()
        for name, tensor in found.state_dict().items():
            if tensor.is_floating_point():
                off = (tensor.detach() - expected[name]).abs().max().item()
                self.assertLessEqual(off, within, name)

    def both(self, model, optimizer_of, data, loss=mean_loss, cluster=None, within=1e-5, schedule_of=None,
             parts=1, **options):
        """Trains copies of a model in both ways, and compares. Returns the cluster and the job."""
        cluster = cluster or standin.Cluster(shares=lambda number: [1, 7])
        plain = copy.deepcopy(model)
        optimizer, its_own = optimizer_of(model), optimizer_of(plain)
        more = {'schedule': schedule_of(optimizer)} if schedule_of else {}
        before = [it.detach().clone() for it in model.parameters()]
        job = self.train(cluster, model, optimizer, data, loss, **more, **options)
        length = {key: options[key] for key in ('batch', 'epochs', 'clip_norm') if key in options}
        self.plain(cluster, plain, its_own, data, loss, schedule=schedule_of(its_own) if schedule_of else None,
                   per=options.get('schedule_per', 'epoch'), parts=parts, **length)
        self.assert_same(model, plain, within)
        moved = max((a - b).abs().max().item() for a, b in zip(before, model.parameters()))
        self.assertGreater(moved, 50 * within, 'it learned too little for this comparison')
        return cluster, job
