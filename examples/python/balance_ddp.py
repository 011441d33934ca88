"""A training loop with PyTorch's DistributedDataParallel; steelyard.balance sets the shares at every step.

    torchrun --standalone --nproc-per-node 2 balance_ddp.py

Two processes; a sleep makes one four times slower. Rank 0 plans the shares and broadcasts them. The loss is weighted
by share. Compute time is measured until the last gradient is ready, before the all-reduce starts to wait.
"""
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.functional import cross_entropy

from steelyard.balance import Balancer

BATCH, STEPS = 128, 20
dist.init_process_group('gloo')
rank, world = dist.get_rank(), dist.get_world_size()
inputs = torch.randn(BATCH * STEPS, 32, generator=torch.Generator().manual_seed(1))
labels = inputs[:, :4].argmax(1)
say = print if rank == 0 else lambda text: None
nap = 0.0016 if rank == 1 else 0.0004  # seconds for each sample


def train(policy):
    """Trains a model for one epoch, prints the result, and returns the time in seconds."""
    torch.manual_seed(2)
    net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
    model = torch.nn.parallel.DistributedDataParallel(net)
    ready = [0.0]

    def exchange(group, bucket):  # called when the gradients of a bucket are ready
        ready[0] = time.perf_counter()
        return allreduce_hook(group, bucket)

    model.register_comm_hook(None, exchange)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    balancer, begin = Balancer(workers=world, policy=policy), time.perf_counter()
    shares, seconds = torch.zeros(world, dtype=torch.int64), [torch.zeros(1) for _ in range(world)]
    for batch in torch.randperm(len(inputs)).split(BATCH):
        if rank == 0:
            shares = torch.tensor(balancer.plan(len(batch)))
        dist.broadcast(shares, 0)
        mine, start = batch.split(shares.tolist())[rank], time.perf_counter()
        time.sleep(nap * len(mine))
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs[mine]), labels[mine], reduction='sum')
        (loss * world / len(batch)).backward()  # DDP averages over processes; this gives the mean over the batch
        optimizer.step()
        dist.all_gather(seconds, torch.tensor([ready[0] - start]))
        if rank == 0:
            balancer.observe_round(seconds)
    took, loss = time.perf_counter() - begin, cross_entropy(net(inputs), labels).item()
    say(f'{policy}: shares {" and ".join(map(str, shares.tolist()))}, {took:.2f} s, loss {loss:.4f}')
    return took


say(f'gain {train("equal") / train("steelyard"):.2f}x')
