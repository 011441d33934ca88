"""Steelyard and PyTorch with the same models, batches, threads and precision, alternating in one run.

    script/bench peers [--models mlp,lenet5] [--threads 1,2] [--pairs 9] [--seconds 1] [--no-compile] [--recompute]
                       [--precision bf16] [--json FILE]
    script/bench peers --together mlp,resnet20

For each model, three SGD steps from the same weights on the same samples must have the same losses on both sides: the
first to 1e-5, the others to 1e-3, because rounding can decide the sides of ReLUs' kinks. Then PyTorch's settings are
tried (NCHW and NHWC, eager and torch.compile), and the fastest alternates with Steelyard, every second time in reverse
order. Figures are medians, and the ratio is that of medians. `of peak` is the rate of the model's operations divided by
the FMA peak of all threads, measured in the same turns. `MB` and `MB, PT` are the peak resident memory of Steelyard
and PyTorch in another step. One thread is measured by its processor time, several by wall-clock time, which needs an
idle machine.

With --precision bf16 Steelyard's workers have `precision = "bf16"`, and PyTorch runs under torch.autocast. Losses must
be those of PyTorch in float32, to 1 % first and to 3 % then. `of peak` stays the share of float32's peak.

With --together two single-threaded processes train with a global batch of 256: DistributedDataParallel over gloo, and
two workers with one server. The efficiency is the rate divided by that of two processes without exchange, also measured
in the same turns.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

try:
    import torch
    from material import draw, make, write
except ImportError as missing:
    print(f'peers: {missing}: script/setup --peers installs PyTorch and what it needs, in build/peers')
    sys.exit(77)
from models import PEERS
from side import Broken, Side

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent


def by_turns(pairs, sides):
    """Measures all sides in turn, every second time in reverse order; returns the readings of each side."""
    readings = [[] for _ in sides]
    for turn in range(pairs):
        for i in range(len(sides)) if turn % 2 == 0 else reversed(range(len(sides))):
            readings[i].append(sides[i]())
    return readings


def spread(readings):
    return {'median': statistics.median(readings), 'least': min(readings), 'most': max(readings)}


def shown(it):
    digits = 0 if it['median'] >= 1000 else 1 if it['median'] >= 10 else 3
    return f"{it['median']:.{digits}f} [{it['least']:.{digits}f}..{it['most']:.{digits}f}]"


class Comparison:
    """One model with a number of threads."""

    def __init__(self, it, name, threads, directory):
        self.it, self.name, self.threads, self.directory = it, name, threads, directory
        self.peer = PEERS[name]

    def ours(self, threads=None, batch=None):
        threads, batch = threads or self.threads, batch or self.peer.batch
        files = write(self.name, make(self.name), *draw(self.peer, batch, 1), self.directory)
        return Side(self.it.build / 'bin/steelyard_step', '--model', self.name, '--batch', batch, '--threads', threads,
                    '--classes', self.peer.classes, '--weights', files[0], '--samples', files[1],
                    '--precision', self.it.precision, '--recompute', 'yes' if self.it.recompute else 'no')

    def theirs(self, *options):
        environment = {**os.environ, 'OMP_NUM_THREADS': str(self.threads)}
        return Side(sys.executable, HERE / 'torch_step.py', '--model', self.name, '--batch', self.peer.batch,
                    '--threads', self.threads, *options, environment=environment)

    def check(self, ours, grain):
        """Raises Broken unless ours has the losses of PyTorch in float32."""
        exact = self.theirs(*(['--grain', grain] if self.peer.grain_matters() else []))
        wanted, found = ([float(loss) for loss in side.ask('losses', 3)] for side in (exact, ours))
        exact.end()
        limits = (1e-5, 1e-3, 1e-3) if self.it.precision == 'float32' else (1e-2, 3e-2, 3e-2)
        if not all(abs(a - b) <= limit * max(1, abs(a)) for a, b, limit in zip(wanted, found, limits)):
            raise Broken(f'WRONG RESULT: losses {found}, but PyTorch has {wanted}')

    def settings(self):
        layouts = ['nchw']
        if any(isinstance(it, torch.nn.Conv2d) for it in self.peer.make().modules()):
            layouts.append('nhwc')
        for compiled in [''] if self.it.no_compile else ['', ' compiled']:
            for layout in layouts:
                yield layout + compiled, (['--layout', layout, '--precision', self.it.precision] +
                                          (['--compile'] if compiled else []))

    def best_of_theirs(self):
        """Returns the fastest setting, its process after warm-up, and the rate or error of every setting."""
        best, rates = None, {}
        for setting, options in self.settings():
            side = self.theirs(*options)
            try:
                side.ask('measure', self.it.seconds / 4)
                rate = statistics.median(float(side.ask('measure', self.it.seconds)[0]) for _ in range(3))
            except Broken as why:
                rates[setting] = str(why)
                continue
            rates[setting] = rate
            if best is None or rate > rates[best[0]]:
                best, side = (setting, side), best and best[1]
            if side:
                side.end()
        if best is None:
            raise Broken(f'PyTorch: {rates}')
        return *best, rates

    def run(self):
        ours = self.ours()
        parameters, flops, micro = ours.ask('about')
        self.check(ours, micro)
        setting, theirs, tried = self.best_of_theirs()
        ours.ask('measure', self.it.seconds / 4)
        reading = lambda side, *command: lambda: float(side.ask(*command)[0])
        readings = by_turns(self.it.pairs, [reading(ours, 'measure', self.it.seconds),
                                            reading(theirs, 'measure', self.it.seconds),
                                            reading(ours, 'peak', self.it.seconds / 8)])
        memory = [int(side.ask('memory', 0)[0]) for side in (ours, theirs)]
        ours.end()
        theirs.end()
        rates, others, peak = (spread(it) for it in readings)
        return {'model': self.name, 'parameters': int(parameters), 'batch': self.peer.batch, 'threads': self.threads,
                'ours': rates, 'pytorch': others, 'setting': setting, 'settings': tried,
                'megabytes': memory, 'ratio': rates['median'] / others['median'],
                'of_peak': rates['median'] * float(flops) * 1e-9 / (peak['median'] * self.threads)}


class Together(Comparison):
    """Two single-threaded processes, global batch 256."""

    def __init__(self, it, name, directory):
        super().__init__(it, name, 1, directory)

    def job(self):
        channels, height, width = self.peer.sample
        data = ('name = "fashion-mnist"' if channels == 1 and os.path.isdir('/usr/share/datasets/fashion-mnist') else
                f'name = "synthetic"\nchannels = {channels}\nheight = {height}\nwidth = {width}')
        path = self.directory / 'together.toml'
        path.write_text(f'[model]\nname = "{self.name}"\n[data]\n{data}\n[train]\nbatch = 256\nlr = 0.01\n'
                        f'weight_decay = 1e-4\nseconds = {self.seconds}\nevaluate_every = 0\n'
                        'checkpoint_every = 0\n[cluster]\nservers = 1\npolicy = "equal"\n[[worker]]\n[[worker]]\n')
        return path

    def trained(self):
        run = tempfile.mkdtemp(dir=self.directory)
        command = [self.it.build / 'bin/steelyard', 'train', self.job(), '--quiet', '--run-dir', run]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f'{done.stderr.strip()}')
        return json.loads((pathlib.Path(run) / 'result.json').read_text())['steady_samples_per_second']

    def apart(self, sides):
        for side in sides:
            side.tell('measure', self.it.seconds)
        return sum(float(side.answer()[0]) for side in sides)

    def run(self):
        alone = [self.ours(1, 128) for _ in range(2)]
        ddp = Side(sys.executable, HERE / 'torch_ddp.py', '--model', self.name, '--meet',
                   self.directory / f'{self.name}.meet')
        for _ in range(2):
            # The steady rate is measured after ten rounds.
            self.seconds = max(3, self.it.seconds, 30 * 256 / self.apart(alone))
            ddp.ask('measure', self.it.seconds / 4)
        ours, apart, both = by_turns(self.it.pairs, [self.trained, lambda: self.apart(alone),
                                                     lambda: [float(it) for it in ddp.ask('measure', self.it.seconds)]])
        for side in (*alone, ddp):
            side.end()
        ours, apart, theirs, theirs_apart = (spread(it) for it in (ours, apart, *zip(*both)))
        return {'model': self.name, 'batch': 256, 'processes': 2, 'ours': ours, 'pytorch': theirs,
                'ratio': ours['median'] / theirs['median'], 'ours_apart': apart, 'pytorch_apart': theirs_apart,
                'efficiency': ours['median'] / apart['median'],
                'pytorch_efficiency': theirs['median'] / theirs_apart['median']}


def heading():
    print(f"{'model':16} {'batch':>5} {'thr':>3} {'Steelyard, samples/s':>26} {'PyTorch, samples/s':>26} "
          f"{'setting':14} {'ratio':>5} {'of peak':>7} {'MB':>5} {'MB, PT':>6}")


def show(it):
    if 'setting' in it:
        print(f"{it['model']:16} {it['batch']:5} {it['threads']:3} {shown(it['ours']):>26} {shown(it['pytorch']):>26} "
              f"{it['setting']:14} {it['ratio']:5.2f} {100 * it['of_peak']:6.1f}% "
              f"{it['megabytes'][0]:5} {it['megabytes'][1]:6}", flush=True)
    else:
        print(f"{it['model']:16} {it['batch']:5} 2x1 {shown(it['ours']):>26} {shown(it['pytorch']):>26} "
              f"{'DDP, gloo':14} {it['ratio']:5.2f}   efficiency {it['efficiency']:.2f}, "
              f"DDP {it['pytorch_efficiency']:.2f}", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: [it for it in text.split(',') if it]
    options.add_argument('--models', type=words, default=list(PEERS))
    options.add_argument('--together', type=words, default=[])
    options.add_argument('--threads', type=lambda text: [int(it) for it in words(text)], default=[1, 2])
    options.add_argument('--pairs', type=int, default=9)
    options.add_argument('--seconds', type=float, default=1, help='duration of one reading')
    options.add_argument('--no-compile', action='store_true')
    options.add_argument('--recompute', action='store_true', help='Steelyard computes activations again in backward')
    options.add_argument('--precision', choices=['float32', 'bf16'], default='float32')
    options.add_argument('--json', type=pathlib.Path, help='write all results as JSON')
    options.add_argument('--build', type=pathlib.Path, default=ROOT / 'build/release')
    it = options.parse_args()
    if it.together and it.precision != 'float32':
        options.error('--together is for float32')
    for name in it.models + it.together:
        if name not in PEERS:
            options.error(f'unknown model {name}; valid: {", ".join(PEERS)}')
    print(f'PyTorch {torch.__version__}; medians of {it.pairs} pairs of readings of {it.seconds:g} s')
    heading()
    results, wrong = [], False
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        todo = [Together(it, name, directory) for name in it.together]
        if not it.together:
            todo += [Comparison(it, name, threads, directory) for name in it.models for threads in it.threads]
        for comparison in todo:
            try:
                results.append(comparison.run())
                show(results[-1])
            except Broken as why:
                wrong = wrong or 'WRONG' in str(why)
                print(f'{comparison.name:16} {comparison.threads} threads: {why}', flush=True)
    behind = [f"{it['model']} on {it['threads']}" for it in results if it['ratio'] < 1 and 'threads' in it]
    if behind:
        print('slower than PyTorch:', ', '.join(behind))
    if it.json:
        it.json.write_text(json.dumps(results, indent=1))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
