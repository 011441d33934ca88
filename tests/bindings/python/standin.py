"""A cluster in this process, for tests: it hands out tasks, checks the results, and steps as servers do.

    cluster = Cluster(shares=lambda number: [1, 7])       # of round `number`, over all epochs
    worker = cluster.worker(0)(description, weights)      # with the methods of steelyard._worker.Worker

Workers may run in threads of their own. Steps are in float64, by the equations of nn/optimizer/rule.h.
It checks the rules of the interface: floats do not change after they are final, and are final only once;
a gradient is written whole; each sample counts once in an epoch.
"""
import ctypes
import math
import pathlib
import random
import sys
import threading
import tomllib

import numpy  # script/setup installs it

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'bindings/python'))

from steelyard import _worker  # noqa: E402
from steelyard._cluster import GivenCluster  # noqa: E402


class Rule:
    """One tensor's step."""

    def __init__(self, tensor, train):
        self.train = train
        self.mean = tensor.get('rule') == 'mean'
        self.rate, self.decay = tensor.get('rate', 1), tensor.get('decay', 1)
        self.m = self.v = 0
        self.steps = 0

    def step(self, w, g, rate):
        if self.mean:
            return w + g
        train, kind = self.train, self.train.get('optimizer', 'momentum')
        rate, d = rate * self.rate, train.get('weight_decay', 0) * self.decay
        self.steps += 1
        if kind in ('adam', 'adamw'):
            b1, b2 = train['beta1'], train['beta2']
            if kind == 'adam':
                g = g + d * w
            self.m = b1 * self.m + (1 - b1) * g
            self.v = b2 * self.v + (1 - b2) * g * g
            root = numpy.sqrt(self.v / (1 - b2**self.steps)) + train['epsilon']
            u = self.m / (1 - b1**self.steps) / root
            return w - rate * u - (rate * d * w if kind == 'adamw' else 0)
        g = g + d * w
        if kind == 'sgd':
            return w - rate * g
        self.m = train['momentum'] * self.m + g
        return w - rate * (g + train['momentum'] * self.m if kind == 'nesterov' else self.m)


class Piece:
    def __init__(self, worker, epoch, begin, end, number, evaluate=False):
        self.worker, self.epoch, self.begin, self.end = worker, epoch, begin, end
        self.number, self.evaluate = number, evaluate
        self.given_up = 0


class Cluster:
    """`shares(number)`: relative shares of a round, by worker; entries beyond the last worker go to the first again.
    `unwanted(piece, asked)`: whether a piece is unwanted at the asked-th call of wanted().
    `fail_at`: the round at which the job ends with a code of 1."""

    def __init__(self, shares=lambda number: [1], workers=1, unwanted=lambda piece, asked: False,
                 evaluate=False, fail_at=None, synchronous=True):
        self.shares, self.workers, self.unwanted, self.evaluate = shares, workers, unwanted, evaluate
        self.fail_at, self.synchronous = fail_at, synchronous
        self.lock = threading.Condition()
        self.description = None
        self.counted, self.scores, self.pieces, self.losses = {}, [], [], {}
        self.finals, self.weights, self.left = [], [], {}
        self.pending = []
        self.out = 0

    def worker(self, index=0):
        return lambda description, weights: Worker(self, index, description, weights)

    def begin(self, description, weights):
        self.description = description
        job = tomllib.loads(description['job'])
        self.job, self.train = job, job['train']
        sizes = [math.prod(it['shape']) for it in description['tensors']]
        self.size = sum(sizes)
        flat = (ctypes.c_float * self.size).from_address(weights)
        self.flat = numpy.array(flat, dtype=numpy.float64)
        self.cuts = [(sum(sizes[:i]), sum(sizes[:i + 1])) for i in range(len(sizes))]
        self.rules = [Rule(it, self.train) for it in description['tensors']]
        self.samples, self.batch = description['train_samples'], self.train['batch']
        per_epoch = -(-self.samples // self.batch)
        by_epochs = self.train.get('epochs', 0) * per_epoch or 10**9
        self.rounds = min(self.train.get('rounds') or 10**9, by_epochs)
        self.per_epoch, self.number = per_epoch, 0
        self.open_round()

    def order(self, epoch):
        order = list(range(self.samples))
        random.Random(f'{self.job["job"]["seed"]} {epoch}').shuffle(order)
        return order

    def rate(self):
        if self.train.get('schedule', 'constant') == 'constant':
            return self.train['lr']
        epoch, in_epoch = divmod(self.number, self.per_epoch)
        held = self.train['step_epochs']
        per = 1 if held == 1 else round(1 / held + 0.4999)
        at = epoch if held == 1 else epoch * per + in_epoch
        return self.train['rates'][min(at, len(self.train['rates']) - 1)]

    def open_round(self):
        epoch, index = divmod(self.number, self.per_epoch)
        begin = index * self.batch
        end = min(begin + self.batch, self.samples)
        grain = self.description.get('grain', 1)
        shares = self.shares(self.number)
        total, so_far, at = sum(shares), 0, begin
        self.sum = numpy.zeros(self.size)
        self.weight, self.owed = 0, 0
        for position, share in enumerate(shares):
            so_far += share
            behind = begin + round((end - begin) * so_far / total / grain) * grain
            behind = end if position + 1 == len(shares) else min(behind, end)
            if behind > at:
                piece = Piece(position % self.workers, epoch, at, behind, self.number)
                self.pending.append(piece)
                self.owed += 1
            at = behind

    def step(self):
        for (begin, end), rule in zip(self.cuts, self.rules):
            g = self.sum[begin:end] / self.weight if self.weight else self.sum[begin:end]
            self.flat[begin:end] = rule.step(self.flat[begin:end], g * (1 if rule.mean else self.clip()),
                                             self.rate())

    def close_round(self):
        self.step()
        self.number += 1
        if self.evaluate and self.number % self.per_epoch == 0 and self.description['test_samples']:
            self.pending.append(Piece(0, 0, 0, self.description['test_samples'], -1, True))
            self.owed = 1
        elif self.number < self.rounds:
            self.open_round()

    def clip(self):
        longest = self.train.get('clip_norm', 0)
        stepped = [self.sum[b:e] for (b, e), rule in zip(self.cuts, self.rules) if not rule.mean]
        norm = float(numpy.linalg.norm(numpy.concatenate(stepped))) / self.weight
        return min(1, longest / norm) if longest and norm else 1

    def over(self):
        return self.number >= self.rounds and not self.owed

    def loss(self, number):  # as the scheduler reports it
        return sum(it[0] for it in self.losses[number]) / sum(it[1] for it in self.losses[number])

    def stop(self, now):
        self.rounds = min(self.rounds, self.number + (not now))
        self.pending, self.owed = ([], 0) if now else (self.pending, self.owed)

    def check_epochs(self):
        """Checks that every sample of each whole epoch counted once."""
        for epoch in range(self.number // self.per_epoch):
            assert sorted(self.counted[epoch]) == list(range(self.samples)), f'epoch {epoch}'


class Worker:
    def __init__(self, cluster, index, description, weights):
        self.cluster, self.index = cluster, index
        with cluster.lock:
            if cluster.description is None:
                cluster.begin(description, weights)
            else:
                assert description['tensors'] == cluster.description['tensors'], 'another layout'
        self.task = self.piece = None
        self.joined = False

    def next(self, seconds):
        cluster = self.cluster
        with cluster.lock:
            if self.index in cluster.left:
                return _worker.Task(kind=_worker.END)
            if not self.joined:
                self.joined = True
                return _worker.Task(kind=_worker.JOINED)
            if self.piece is not None:  # given up
                self.piece.given_up += 1
                cluster.pending.append(self.piece)
                self.piece = None
            if cluster.fail_at is not None and cluster.number >= cluster.fail_at:
                return _worker.Task(kind=_worker.END, code=1, message='it failed, as the test wanted')
            if cluster.over():
                self.last = self.floats(cluster.flat)
                epoch, index = divmod(cluster.number, cluster.per_epoch)
                return _worker.Task(_worker.END, self.last, main=self.index == 0, epoch=epoch,
                                    position=index * cluster.batch)
            for piece in cluster.pending:
                if piece.worker == self.index or piece.worker in cluster.left:
                    cluster.pending.remove(piece)
                    return self.give(piece)
            cluster.lock.wait(seconds)
            return _worker.Task(kind=_worker.WAIT)

    def give(self, piece):
        cluster = self.cluster
        self.piece, self.asked, self.weight = piece, 0, None
        self.final_ranges = []
        nothing = numpy.full(cluster.size, math.nan)
        order = range(piece.end) if piece.evaluate else cluster.order(piece.epoch)
        kind = _worker.EVALUATE if piece.evaluate else _worker.TRAIN
        self.task = _worker.Task(kind=kind, parameters=self.floats(cluster.flat),
                                 gradient=self.floats(nothing), samples=order[piece.begin:piece.end],
                                 epoch=piece.epoch, position=piece.begin)
        return self.task

    def floats(self, numbers):
        return (ctypes.c_float * self.cluster.size)(*numbers.tolist())

    def job(self):
        train, about = self.cluster.train, self.cluster.description
        return {'name': 'test', 'worker': f'worker-{self.index}', 'seed': self.cluster.job['job']['seed'],
                'batch': train['batch'], 'epochs': train.get('epochs', 0), 'grain': about['grain'],
                'train_samples': about['train_samples'], 'test_samples': about['test_samples'], 'workers': self.cluster.workers,
                'synchronous': self.cluster.synchronous}

    def samples(self, epoch, begin, end):
        return self.cluster.order(epoch)[begin:end]

    def weigh(self, weight):
        assert not self.final_ranges, 'weigh() comes before final()'
        self.weight = weight

    def final(self, begin, end):
        assert 0 <= begin < end <= self.cluster.size
        for first, behind, _ in self.final_ranges:
            assert end <= first or behind <= begin, f'[{begin}, {end}) is final twice'
        self.final_ranges.append((begin, end, self.task.gradient[begin:end]))
        self.cluster.finals.append((begin, end))

    def wanted(self):
        self.asked += 1
        return not self.cluster.unwanted(self.piece, self.asked)

    def done(self, loss, correct):
        cluster, piece = self.cluster, self.piece
        assert piece is not None, 'done() without a task'
        with cluster.lock:
            if piece.evaluate:
                cluster.scores.append((loss / (self.weight or piece.end), correct))
            else:
                gradient = numpy.frombuffer(self.task.gradient, dtype=numpy.float32)
                assert not numpy.isnan(gradient).any(), 'the gradient is not written whole'
                for begin, end, then in self.final_ranges:
                    assert self.task.gradient[begin:end] == then, f'[{begin}, {end}) changed after it was final'
                cluster.sum += gradient
                weight = len(self.task.samples) if self.weight is None else self.weight
                cluster.weight += weight
                cluster.weights.append(weight)
                cluster.counted.setdefault(piece.epoch, []).extend(self.task.samples)
                cluster.losses.setdefault(piece.number, []).append((loss, weight))
                cluster.pieces.append((self.index, piece.number, piece.begin, piece.end, piece.given_up, loss))
            for floats in (self.task.parameters, self.task.gradient):  # they are no longer valid
                ctypes.memset(floats, 0xff, ctypes.sizeof(floats))
            self.piece = None
            cluster.owed -= 1
            if cluster.owed == 0 and (piece.evaluate or cluster.number < cluster.rounds):
                if piece.evaluate:
                    if cluster.number < cluster.rounds:
                        cluster.open_round()
                else:
                    cluster.close_round()
            cluster.lock.notify_all()

    def stop(self, now):
        with self.cluster.lock:
            self.cluster.stop(now)
            self.piece = self.piece if not now else None

    def leave(self, failure=None):
        with self.cluster.lock:
            if self.index not in self.cluster.left:
                self.cluster.left[self.index] = failure
                if self.piece is not None:
                    self.cluster.pending.append(self.piece)
                    self.piece = None
            self.cluster.lock.notify_all()

    def free(self):
        self.leave() if not self.cluster.over() else None


def given():
    """Takes the place of a cluster that the environment names."""
    return GivenCluster('nowhere:0')
