"""Measures the efficiency of torchft's DiLoCo with workers of unequal speed.

    build/peers/bin/python -m pip install torchft          (after script/setup --peers)
    build/peers/bin/python bench/peers/torchft_diloco.py [--slow 2,4,8] [--every 64] [--rounds 5]

Workers are single-threaded processes that train LeNet-5 and sleep after each backward pass, so that a step takes 2, 4 and
8 times as long; each has the same batch. They exchange over loopback, every 64 steps. Efficiency is their samples per
second divided by the rate of the same workers without waiting or exchange: the rate of one worker without slowdown,
measured before, times 1/2 + 1/4 + 1/8. The first round is excluded. Output of torchft goes to stderr.
"""
import argparse
import json
import os
import subprocess
import sys
import time
from datetime import timedelta

import torch
from material import draw, make
from models import PEERS

BATCH = 171  # a third of 512


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--slow', default='2,4,8', type=lambda text: [float(it) for it in text.split(',')])
    parser.add_argument('--every', default=64, type=int)
    parser.add_argument('--rounds', default=5, type=int)
    parser.add_argument('--worker', default=-1, type=int, help=argparse.SUPPRESS)
    parser.add_argument('--lighthouse', help=argparse.SUPPRESS)
    return parser.parse_args()


class Worker:
    def __init__(self, slow):
        torch.set_num_threads(1)
        self.peer, self.slow, self.model = PEERS['lenet5'], slow, make('lenet5')
        self.inputs, self.labels = draw(self.peer, BATCH, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def step(self):
        begin = time.monotonic()
        self.optimizer.zero_grad()
        self.peer.mean_loss(self.model(self.inputs), self.labels).backward()
        time.sleep((self.slow - 1) * (time.monotonic() - begin))
        self.optimizer.step()


def rate_alone(steps):
    worker = Worker(1)
    for _ in range(20):
        worker.step()
    begin = time.monotonic()
    for _ in range(steps):
        worker.step()
    return steps * BATCH / (time.monotonic() - begin)


def take_part(options):
    """One replica: prints the number of outer steps after the first, and their seconds."""
    import torch.distributed as dist
    from torchft.local_sgd import DiLoCo
    from torchft.manager import Manager
    from torchft.process_group import ProcessGroupGloo

    worker = Worker(options.slow[options.worker])
    store = dist.TCPStore('localhost', 0, is_master=True, wait_for_workers=False)
    manager = Manager(pg=ProcessGroupGloo(timeout=timedelta(seconds=60)), min_replica_size=len(options.slow),
                      load_state_dict=worker.model.load_state_dict, state_dict=worker.model.state_dict,
                      use_async_quorum=False, timeout=timedelta(seconds=60), quorum_timeout=timedelta(seconds=60),
                      rank=0, world_size=1, store_addr='localhost', store_port=store.port,
                      lighthouse_addr=options.lighthouse, replica_id=f'worker-{options.worker}')
    outer = torch.optim.SGD(worker.model.parameters(), lr=0.7, momentum=0.9, nesterov=True)
    ends = []
    with DiLoCo(manager, [worker.model], worker.optimizer, outer, sync_every=options.every, pin_memory=False):
        while len(ends) < options.rounds:
            before = manager.current_step()
            worker.step()
            if manager.current_step() > before:
                ends.append(time.monotonic())
    print(json.dumps({'rounds': len(ends) - 1, 'seconds': ends[-1] - ends[0]}), flush=True)
    manager.shutdown()


def main():
    options = arguments()
    if options.worker >= 0:
        return take_part(options)
    from torchft.coordination import LighthouseServer

    alone = rate_alone(3 * options.every)
    lighthouse = LighthouseServer(bind='[::]:0', min_replicas=len(options.slow), join_timeout_ms=1000)
    command = [sys.executable, __file__, '--slow', ','.join(map(str, options.slow)), '--every', str(options.every),
               '--rounds', str(options.rounds), '--lighthouse', lighthouse.address()]
    workers = [subprocess.Popen([*command, '--worker', str(number)], stdout=subprocess.PIPE, text=True,
                                env={**os.environ, 'OMP_NUM_THREADS': '1'}) for number in range(len(options.slow))]
    told = [json.loads(worker.communicate(timeout=600)[0].splitlines()[-1]) for worker in workers]
    lighthouse.shutdown()
    if {it['rounds'] for it in told} != {options.rounds - 1}:
        raise SystemExit(f'torchft_diloco.py: WRONG RESULT: workers have different numbers of rounds: {told}')
    samples = sum(it['rounds'] for it in told) * options.every * BATCH
    rate, whole = samples / max(it['seconds'] for it in told), alone * sum(1 / slow for slow in options.slow)
    print(f'one worker, not slowed down  {alone:9,.0f} samples/s')
    print(f'all, without waiting         {whole:9,.0f}')
    print(f'torchft DiLoCo               {rate:9,.0f}  {100 * rate / whole:.1f} %')


if __name__ == '__main__':
    main()
