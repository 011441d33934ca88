"""The PyTorch counterpart of steelyard_step: the same steps of the same model, with the same commands.

    torch_step.py --model M [--batch 128] [--threads 1] [--layout nchw|nhwc] [--compile] [--grain 0] [--rate 0.01]
                  [--precision float32|bf16]

Forward, loss, backward, and PyTorch's fused SGD with momentum 0.9 and weight decay 1e-4, on one batch that stays in
memory. Rates use processor time with one thread, wall-clock time with several. With --grain the batch is computed in
parts of that many samples with summed gradients, so that batch statistics cover the same samples on both sides. bf16 is
torch.autocast of the CPU.
"""
import argparse
import pathlib
import sys
import time

import torch

from material import draw, make
from models import PEERS


class Trainer:
    def __init__(self, it):
        self.it, self.peer = it, PEERS[it.model]
        self.inputs, self.labels = draw(self.peer, it.batch, it.seed)
        if it.layout == 'nhwc':
            self.inputs = self.inputs.contiguous(memory_format=torch.channels_last)
        self.begin()

    def begin(self):
        self.model = make(self.it.model, self.it.seed).train()
        if self.it.layout == 'nhwc':
            self.model = self.model.to(memory_format=torch.channels_last)
        self.forward = torch.compile(self.model) if self.it.compile else self.model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.it.rate, momentum=0.9, weight_decay=1e-4,
                                         fused=True)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        total, grain = 0, self.it.grain or self.it.batch
        for inputs, labels in zip(self.inputs.split(grain), self.labels.split(grain)):
            with torch.autocast('cpu', torch.bfloat16, enabled=self.it.precision == 'bf16'):
                loss = self.peer.mean_loss(self.forward(inputs), labels) * (len(inputs) / self.it.batch)
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        return total

    def losses(self, steps):
        self.begin()
        return ' '.join(f'{self.step():.9g}' for _ in range(int(steps)))

    def peak_memory(self, _):
        """Returns the peak resident memory of the process in another step, in megabytes: without compilation."""
        pathlib.Path('/proc/self/clear_refs').write_text('5')
        self.step()
        with open('/proc/self/status') as status:
            return next(int(line.split()[1]) // 1024 for line in status if line.startswith('VmHWM:'))

    def measure(self, seconds):
        now = time.process_time if self.it.threads == 1 else time.perf_counter
        steps, begin = 0, now()
        while (taken := now() - begin) < float(seconds):
            if not self.step() < float('inf'):
                sys.exit('the loss is not finite')
            steps += 1
        return steps * self.it.batch / taken


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--model', choices=PEERS, required=True)
    options.add_argument('--batch', type=int, default=128)
    options.add_argument('--threads', type=int, default=1)
    options.add_argument('--layout', choices=['nchw', 'nhwc'], default='nchw')
    options.add_argument('--compile', action='store_true')
    options.add_argument('--grain', type=int, default=0)
    options.add_argument('--rate', type=float, default=0.01)
    options.add_argument('--precision', choices=['float32', 'bf16'], default='float32')
    options.add_argument('--seed', type=int, default=1)
    it = options.parse_args()
    torch.set_num_threads(it.threads)
    trainer = Trainer(it)
    for line in sys.stdin:
        command, argument = line.split()
        answer = {'losses': trainer.losses, 'measure': trainer.measure, 'memory': trainer.peak_memory}[command]
        print(command, answer(argument), flush=True)


if __name__ == '__main__':
    main()
