"""Measures the life of a job with a large model: its first round, a checkpoint, a worker that joins, and the memory of
each process meanwhile.

    script/bench large [--mb 500] [--servers 1] [--exchange auto|sockets] [--mbit 100] [--json FILE]

A perceptron of this size trains with tiny batches in two workers, which pull and push the whole model in each round.
After some rounds a checkpoint is requested (SIGUSR1), then a third worker joins. Printed are

- seconds from the start of the processes until the first round has ended, and of a usual round;
- seconds from the request of a checkpoint until it is written, and the rounds meanwhile, with the longest of them;
- seconds from the start of the third worker until its first round has ended, and the longest round meanwhile;
- the peak memory of each process before the first round ended, in the rounds after it, during the checkpoint and while
  the worker joined, in sizes of the model: private, and shared. Versions lie in shared memory of the server, pushes in
  that of a worker; they count in each process that has them mapped.

The line is the time to write and sync as many bytes as the checkpoint has to the same disk, measured before. With
--mbit (as root) each worker has a network namespace, and a connection of this rate in each direction.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

from lines import Lines
from state_line import Memory

ROOT = pathlib.Path(__file__).resolve().parent.parent
INPUTS, CLASSES, BATCH = 784, 10, 4
MIDDLE = '10.78.1.1'  # the scheduler's and the servers' address in bench/lines.py
USUAL, AFTER = 6, 3  # rounds that are measured before a checkpoint, and after each event
JOB = '''[job]
name = "large"
[model]
name = "mlp"
hidden = [{width}, {width}]
[data]
name = "synthetic"
train = 100000
test = 64
height = 28
width = 28
[train]
batch = {batch}
epochs = 1000
optimizer = "momentum"
lr = 0.0001
evaluate_every = 0
checkpoint_every = 0
[cluster]
servers = {servers}
policy = "equal"
[[worker]]
name = "ada"
[[worker]]
name = "bob"
'''


def width_of(megabytes):
    """Two hidden layers: width^2 + (inputs + classes + 2) width numbers."""
    numbers, inputs = megabytes * 1e6 / 4, INPUTS + CLASSES + 2
    return int((-inputs + (inputs * inputs + 4 * numbers) ** 0.5) / 2)


def line(size, folder):
    chunk, path = os.urandom(1 << 20), folder / 'line'
    begin = time.monotonic()
    with open(path, 'wb', buffering=0) as file:
        for _ in range(size >> 20):
            file.write(chunk)
        os.fsync(file.fileno())
    seconds = time.monotonic() - begin
    path.unlink()
    return seconds


class Run:
    def __init__(self, it, folder):
        self.it, self.folder, self.run_dir, self.processes = it, folder, folder / 'run', {}
        self.memory = None
        self.lines = Lines(dict.fromkeys(('ada', 'bob', 'late'), it.mbit)) if it.mbit else None
        self.port = f'{MIDDLE}:7070' if it.mbit else f'ipc://{folder}/scheduler'

    def start_all(self):
        job = self.folder / 'job.toml'
        job.write_text(JOB.format(width=width_of(self.it.mb), batch=BATCH, servers=self.it.servers))
        self.begin = time.monotonic()
        self.start('scheduler', 'scheduler', job, *self.listen('scheduler'), '--run-dir', self.run_dir)
        for i in range(self.it.servers):
            self.member(f'server-{i}', 'server', *self.listen(f'server-{i}'))
        for name in ('ada', 'bob'):
            self.member(name, 'worker')
        self.memory = Memory({name: process.pid for name, process in self.processes.items()})

    def listen(self, name):
        if not self.lines:
            return '--listen', f'ipc://{self.folder}/{name}'
        if name == 'scheduler':
            return '--listen', '0.0.0.0:7070', '--insecure'
        return '--listen', '0.0.0.0:*', '--insecure', '--advertise', MIDDLE

    def start(self, name, *command):
        """Starts a process; that of a worker is in the worker's namespace."""
        log = open(self.folder / 'log', 'a')
        inside = []
        if self.lines:
            inside = ['ip', 'netns', 'exec', self.lines.spaces.get(name, self.lines.middle)]
        self.processes[name] = subprocess.Popen(
            [str(it) for it in (*inside, self.it.build / 'bin/steelyard', *command)], stdout=log, stderr=log,
            stdin=subprocess.DEVNULL)

    def member(self, name, role, *options):
        exchange = 'sockets' if self.it.mbit else self.it.exchange
        self.start(name, role, '--scheduler', self.port, '--name', name, '--exchange', exchange, *options)

    def rounds(self):
        path = self.run_dir / 'rounds.jsonl'
        return [json.loads(it) for it in path.read_text().split('\n')[:-1]] if path.exists() else []

    def wait(self, condition):
        """Polls until `condition` holds, and returns the time."""
        while not condition():
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise SystemExit(f'large_model.py: {name} ended early:\n{(self.folder / "log").read_text()}')
            time.sleep(0.01)
        return time.monotonic()

    def more_rounds(self, number):
        wanted = len(self.rounds()) + number
        return self.wait(lambda: len(self.rounds()) >= wanted)

    def saved(self):
        return list((self.run_dir / 'checkpoints').glob('[0-9]*/MANIFEST.json'))

    def life(self):
        """Runs the job, and notes the times of the events, and the rounds that had ended then."""
        self.times, self.counts = {'start': self.begin}, {}
        self.note('first', self.more_rounds(1))
        self.note('asked', self.more_rounds(USUAL))
        os.kill(self.processes['scheduler'].pid, signal.SIGUSR1)
        self.note('written', self.wait(self.saved))
        self.note('joins', self.more_rounds(AFTER))
        self.member('late', 'worker')
        late = Memory({'late': self.processes['late'].pid})
        self.note('joined', self.wait(lambda: any('late' in it['workers'] for it in self.rounds())))
        self.more_rounds(AFTER)
        late.end()
        self.memory.samples.update(late.samples)
        self.memory.shared.update(late.shared)

    def note(self, event, at):
        self.times[event], self.counts[event] = at, len(self.rounds())

    def result(self, line):
        ends = [it['at_ms'] / 1000 for it in self.rounds()]
        took = [b - a for a, b in zip(ends, ends[1:])]  # of round 1 and later ones
        between = lambda a, b: took[self.counts[a] - 1:self.counts[b]]
        at = self.times
        phases = {'first round': ('start', 'first'), 'rounds': ('first', 'asked'), 'checkpoint': ('asked', 'written'),
                  'joining': ('joins', 'joined')}
        memory = {}
        for name, samples in self.memory.samples.items():
            for phase, (begin, end) in phases.items():
                its = [(size - shared, shared)
                       for (moment, size), (_, shared) in zip(samples, self.memory.shared[name])
                       if at[begin] <= moment <= at[end]]
                most = [max(sizes) / (self.it.mb * 1e6) for sizes in zip(*its)]
                memory.setdefault(name, {})[phase] = most or [0, 0]
        return {'mb': self.it.mb, 'servers': self.it.servers, 'exchange': self.it.exchange,
                'mbit': self.it.mbit, 'first': at['first'] - at['start'],
                'round': statistics.median(between('first', 'asked')),
                'checkpoint': at['written'] - at['asked'], 'line': line,
                'rounds_meanwhile': self.counts['written'] - self.counts['asked'],
                'longest_meanwhile': max(between('asked', 'written') or [0]),
                'join': at['joined'] - at['joins'], 'longest_joining': max(between('joins', 'joined')),
                'memory': memory}

    def end(self):
        if self.memory:
            self.memory.end()
        for process in self.processes.values():
            process.kill()
            process.wait()
        if self.lines:
            self.lines.remove()
            self.lines = None


def show(it):
    print(f"model {it['mb']} MB, servers {it['servers']}, " +
          (f"{it['mbit']} Mbit/s" if it['mbit'] else f"exchange {it['exchange']}"))
    print(f"  first round after {it['first']:.1f} s; a round {it['round']:.2f} s")
    print(f"  checkpoint {it['checkpoint']:.1f} s (the line: {it['line']:.1f} s); rounds meanwhile "
          f"{it['rounds_meanwhile']}, the longest {it['longest_meanwhile']:.2f} s")
    print(f"  third worker takes part after {it['join']:.1f} s; the longest round {it['longest_joining']:.2f} s")
    print('  peak memory, private + shared, in sizes of the model:')
    for name, phases in it['memory'].items():
        print(f'    {name:10}', ', '.join(f'{phase} {own:.2f} + {shared:.2f}'
                                          for phase, (own, shared) in phases.items() if own > 0))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--mb', type=int, default=500, help='of the model')
    options.add_argument('--servers', type=int, default=1)
    options.add_argument('--exchange', choices=['auto', 'sockets'], default='auto')
    options.add_argument('--mbit', type=int, default=0, help='of each worker\'s connection; 0: no limit')
    options.add_argument('--build', type=lambda text: pathlib.Path(text).resolve(), default=ROOT / 'build/release')
    options.add_argument('--json', type=pathlib.Path, help='write all results as JSON')
    it = options.parse_args()
    with tempfile.TemporaryDirectory(prefix='large-') as place:
        folder = pathlib.Path(place)
        seconds = line(2 * it.mb * 10**6, folder)  # the model and its momentum
        run = Run(it, folder)
        try:
            run.start_all()
            run.life()
        finally:
            run.end()
        result = run.result(seconds)
    show(result)
    if it.json:
        it.json.write_text(json.dumps(result, indent=1))


if __name__ == '__main__':
    main()
