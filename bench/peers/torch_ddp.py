"""Data-parallel training in PyTorch: DistributedDataParallel over gloo, single-threaded processes.

    torch_ddp.py --model mlp [--batch 256] [--processes 2]

Answers "measure S" with two rates in samples per second, both summed over all processes: with DDP, and for the same
number of simultaneous processes without any exchange.
"""
import argparse
import os
import queue
import sys
import time

import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel

from material import draw, make
from models import PEERS


def trained(step, seconds):
    """Returns steps per second. Every process takes as many steps as the first one, so that none waits forever."""
    steps, begin, go_on = 0, time.perf_counter(), True
    while go_on:
        for _ in range(8):
            step()
        steps += 8
        flag = torch.tensor(time.perf_counter() - begin < seconds)
        dist.broadcast(flag, 0)
        go_on = bool(flag)
    return steps / (time.perf_counter() - begin)


def process(rank, it, commands, answers):
    os.environ.setdefault('MASTER_ADDR', '127.0.0.1')
    torch.set_num_threads(1)
    dist.init_process_group('gloo', init_method=f'file://{it.meet}', rank=rank, world_size=it.processes)
    peer = PEERS[it.model]
    inputs, labels = draw(peer, it.batch // it.processes, rank + 1)

    def stepper(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)

        def step():
            optimizer.zero_grad(set_to_none=True)
            peer.mean_loss(model(inputs), labels).backward()
            optimizer.step()
        return step

    steppers = [stepper(DistributedDataParallel(make(it.model).train())), stepper(make(it.model).train())]
    while (seconds := commands.get()) is not None:
        rates = [trained(step, seconds) * len(inputs) for step in steppers]
        answers.put(rates)


def answer(answers, running):
    """Returns the next answer. If a process has failed, raises its exception."""
    while True:
        try:
            return answers.get(timeout=1)
        except queue.Empty:
            running.join(timeout=0)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--model', choices=PEERS, required=True)
    options.add_argument('--batch', type=int, default=256)
    options.add_argument('--processes', type=int, default=2)
    options.add_argument('--meet', required=True, help='path of a new file that the processes use for rendezvous')
    it = options.parse_args()
    context = multiprocessing.get_context('spawn')
    commands = [context.Queue() for _ in range(it.processes)]
    answers = context.Queue()
    running = multiprocessing.spawn(process_of, (it, commands, answers), it.processes, join=False)
    for line in sys.stdin:
        for each in commands:
            each.put(float(line.split()[1]))
        both = [answer(answers, running) for _ in range(it.processes)]
        print('measure', *(sum(it) for it in zip(*both)), flush=True)
    for each in commands:
        each.put(None)
    running.join()


def process_of(rank, it, commands, answers):
    process(rank, it, commands[rank], answers)


if __name__ == '__main__':
    main()
