"""One worker of unequal.py: trains a model alone, with DistributedDataParallel, or with Steelyard.

    unequal_train.py SETUP.json

The ways of training differ in one function each: alone(), ddp() and steelyard(). The model, the data, the optimizer,
the forward pass, the slowdown and the notes are the same. SETUP.json is the dictionary that unequal.setting() returns.
Notes are lines of a file of this process: one per forward and backward pass, and the final accuracy.
"""
import json
import os
import signal
import sys
import time

import torch

from material import make
from models import PEERS
from unequal_speed import make_speed


class Notes:
    """The log of this process, with times of the clock that all processes of the machine share."""

    def __init__(self, it, worker):
        self.file = open(f"{it['directory']}/notes-{worker}-{os.getpid()}.jsonl", 'w', buffering=1)

    def put(self, kind, **what):
        print(json.dumps({'kind': kind, 'at': time.monotonic(), **what}), file=self.file)


class Work:
    """Forward and backward passes of one worker, slowed down by its Speed."""

    def __init__(self, it, worker, model):
        self.it, self.worker, self.model, self.peer = it, worker, model, PEERS[it['model']]
        self.notes, self.speed = Notes(it, worker), make_speed(it, worker)
        self.forward, self.backward = 1e-9, 2e-9  # total processor time, in seconds
        self.epoch = -1

    def piece(self, epoch, place, x, y, backward):
        """Computes a loss, and the gradients with `backward(loss)`. `place` is the number of the round."""
        begin = time.monotonic()
        if epoch != self.epoch:
            self.epoch = epoch
            self.speed.turn(epoch)
        if self.speed.killed(epoch):
            self.notes.put('killed', place=place)
            os.kill(os.getpid(), signal.SIGKILL)
        # Processor time, because a process may also wait for others in backward().
        start = time.thread_time()
        loss = self.peer.mean_loss(self.model(x), y)
        forward = time.thread_time() - start
        self.speed.hold_up(forward * (1 + self.backward / self.forward))
        start = time.thread_time()
        backward(loss)
        self.forward, self.backward = self.forward + forward, self.backward + time.thread_time() - start
        self.notes.put('piece', worker=self.worker, begin=begin, epoch=epoch, place=place, count=len(x),
                       loss=loss.item() * len(x))

    def finish(self, test):
        """Logs the accuracy on the test set."""
        self.model.eval()
        with torch.no_grad():
            right = sum(int((self.model(x).argmax(1) == y).sum()) for x, y in zip(*(all.split(500) for all in test)))
        self.notes.put('accuracy', value=right / len(test[0]))


def alone(it, work, optimizer, data):
    train_as(it, work, optimizer, data, work.model, 0, [it['batch']], 1)


def ddp(it, work, optimizer, data):
    """Trains with equal batches, or batches in proportion to manually set speeds. DDP averages the gradients of
    processes, so the mean over a batch needs each loss times share x processes / batch; with equal shares that is 1."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    dist.init_process_group('gloo')
    shares = shares_of(it['batch'], it['by_hand'] or [1] * it['workers'])
    rank = dist.get_rank()
    plain, work.model = work.model, DistributedDataParallel(work.model)
    train_as(it, work, optimizer, data, plain, rank, shares, shares[rank] * it['workers'] / it['batch'])
    work.model = plain
    dist.destroy_process_group()
    if rank != 0:
        sys.exit()


def steelyard(it, work, optimizer, data):
    import steelyard.torch
    job = steelyard.torch.join(work.model, optimizer, data, batch=it['batch'], epochs=it['epochs'], seed=it['seed'],
                               micro_batch=it['micro_batch'], name='unequal',
                               job={'train.checkpoint_every': it['keep']})
    rounds = len(data) // it['batch']
    for x, y in job:
        work.piece(job.epoch, job.epoch * rounds + job.round, x, y, job.backward)
    if not job.main:
        sys.exit()


def train_as(it, work, optimizer, data, plain, rank, shares, factor):
    """The usual loop. With `keep` it continues after the last complete epoch, if there is one."""
    snapshot = f"{it['directory']}/snapshot.pt"
    rounds, first = len(data) // it['batch'], 0
    if os.path.exists(snapshot):
        kept = torch.load(snapshot)
        plain.load_state_dict(kept['model'])
        optimizer.load_state_dict(kept['optimizer'])
        first = kept['epoch']
    for epoch in range(first, it['epochs']):
        order = torch.randperm(len(data), generator=torch.Generator().manual_seed(it['seed'] + epoch)).tolist()
        begin = sum(shares[:rank])
        mine = [order[i * it['batch'] + begin:i * it['batch'] + begin + shares[rank]] for i in range(rounds)]
        for i, (x, y) in enumerate(torch.utils.data.DataLoader(data, batch_sampler=mine)):
            optimizer.zero_grad(set_to_none=True)
            work.piece(epoch, epoch * rounds + i, x, y, lambda loss: (loss * factor).backward())
            optimizer.step()
        if it['keep'] and rank == 0:
            torch.save({'model': plain.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': epoch + 1},
                       snapshot + '.new')
            os.replace(snapshot + '.new', snapshot)


def shares_of(batch, speeds):
    """Returns integer shares in proportion to speeds that sum to the batch; each is at least 1."""
    ends = [round(batch * sum(speeds[:i + 1]) / sum(speeds)) for i in range(len(speeds))]
    shares = [end - begin for begin, end in zip([0] + ends, ends)]
    if min(shares) < 1:
        sys.exit(f'a batch of {batch} leaves a worker without samples: use a larger one')
    return shares


def draw(peer, count, contrast, seed):
    """Returns images and their classes: noise plus a pattern of 4 x 4 fields per class, weak enough that some images
    are misclassified."""
    source = torch.Generator().manual_seed(seed)
    fields = torch.randn((peer.classes, peer.sample[0], 4, 4), generator=source)
    patterns = torch.nn.functional.interpolate(fields, peer.sample[1:])
    classes = torch.randint(peer.classes, (count,), generator=source)
    return torch.randn((count, *peer.sample), generator=source) + contrast * patterns[classes], classes


def fix_batch_norms(model, x):
    """Fixes the statistics of batch norms to those of these samples, so that the gradient of a sample does not depend
    on the other samples of its batch."""
    norms = [norm for norm in model.modules() if isinstance(norm, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1
    with torch.no_grad():
        model(x)
    for norm in norms:
        norm.eval()
        norm.train = lambda mode=True, norm=norm: norm


def main():
    with open(sys.argv[1]) as file:
        it = json.load(file)
    torch.set_num_threads(1)
    name = os.environ.get('STEELYARD_NAME', 'worker-0')
    worker = int(os.environ['RANK']) if 'RANK' in os.environ else int(name.removeprefix('worker-'))
    x, y = draw(PEERS[it['model']], it['samples'] + it['tests'], it['contrast'], it['seed'])
    data = torch.utils.data.TensorDataset(x[:it['samples']], y[:it['samples']])
    model = make(it['model'], it['seed']).train()
    if it['check']:
        fix_batch_norms(model, x[:it['batch']])
    work = Work(it, worker, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=it['rate'], momentum=0.9)
    while it['scenario'] == 'joining' and worker == it['workers'] - 1 and not os.path.exists(f"{it['directory']}/join"):
        time.sleep(0.01)
    work.notes.put('ready')
    {'alone': alone, 'ddp': ddp, 'ddp-hand': ddp, 'steelyard': steelyard}[it['with']](it, work, optimizer, data)
    work.finish((x[it['samples']:], y[it['samples']:]))


if __name__ == '__main__':
    main()
