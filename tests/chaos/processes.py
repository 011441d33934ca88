"""Kills processes of a real training, and compares what comes out with an undisturbed one.

    script/chaos [--kills 100] [--every 2] [--seed 1] [--roles worker,server,scheduler]

Trains LeNet-5 on synthetic data with two servers, a mirror of each shard (`replicas = 1`) and three unequal workers,
twice: undisturbed, and with a random process killed (kill -9) every so many seconds. A server is killed only when both
shards have mirrors again, and the scheduler when all that was lost is back: one loss at a time is what is promised.

Fails unless every position of every epoch is counted once, the versions follow one another, and the parameters are
those of the undisturbed run (--tolerance; 0 with a job that is reproducible). Tells how long each loss held up the
rounds, and what was left of the throughput. The same seed kills in the same order.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
JOB = '''[job]
name = "chaos"
[model]
name = "lenet5"
[data]
name = "synthetic"
[train]
batch = 512
epochs = {epochs}
lr = 0.02
evaluate_every = 0
checkpoint_every = 5
[cluster]
servers = 2
replicas = 1
{cluster}
[[worker]]
name = "ada"
[[worker]]
name = "bob"
slow = 2
[[worker]]
name = "cyd"
slow = 4
'''


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--kills', default=20, type=int)
    parser.add_argument('--every', default=2.0, type=float, metavar='SECONDS')
    parser.add_argument('--seed', default=1, type=int)
    parser.add_argument('--roles', default='worker,server,scheduler')
    parser.add_argument('--cluster', default='sums = "ordered"\npolicy = "equal"', help='further lines of [cluster]')
    parser.add_argument('--tolerance', default=1e-4, type=float)
    parser.add_argument('--steelyard', default=ROOT / 'build/release/bin/steelyard', help='the program',
                        type=lambda text: pathlib.Path(text).resolve())
    return parser.parse_args()


class Run:
    def __init__(self, options, folder, epochs):
        self.folder = folder
        folder.mkdir()
        job = folder / 'job.toml'
        job.write_text(JOB.format(epochs=epochs, cluster=options.cluster))
        self.log = open(folder / 'output', 'w')
        self.process = subprocess.Popen([options.steelyard, 'train', job, '--run-dir', folder / 'run', '--quiet'],
                                        stdout=self.log, stderr=subprocess.STDOUT, cwd=folder)

    def events(self):
        try:
            return (self.folder / 'run/events.jsonl').read_text()
        except FileNotFoundError:
            return ''

    def rounds(self):
        lines = (self.folder / 'run/rounds.jsonl').read_text().splitlines()
        return [record for record in map(json.loads, lines) if record['purpose'] == 'train']

    def processes(self, role):
        """Of this run that live: process number and name."""
        found = []
        for number in filter(str.isdigit, os.listdir('/proc')):
            try:
                words = pathlib.Path('/proc', number, 'cmdline').read_bytes().decode().split('\0')
                inside = os.path.samefile(f'/proc/{number}/cwd', self.folder)
            except OSError:
                continue
            if inside and words[1:2] == [role]:
                found.append((int(number), words[words.index('--name') + 1] if '--name' in words else role))
        return sorted(found, key=lambda it: it[1])

    def mirrored(self):
        """How many servers have a mirror that is filled, as far as it is told."""
        mirrors = {}
        for line in self.events().splitlines():
            text = json.loads(line).get('text', '')
            names = text.split("'")[1::2]
            if ' mirrors ' in text:
                mirrors[names[1]] = names[0]
            elif text.startswith('mirror '):
                mirrors = {whose: mirror for whose, mirror in mirrors.items() if mirror != names[0]}
            elif 'is in its place' in text:
                mirrors.pop(names[0], None)
        return len(mirrors)

    def whole(self):
        return (self.mirrored() == 2 and len(self.processes('worker')) == 3 and len(self.processes('server')) == 2 and
                len(self.processes('scheduler')) == 1)

    def wait_for(self, is_so, seconds=60):
        end = time.monotonic() + seconds
        while not is_so():
            if self.process.poll() is not None:
                return False
            if time.monotonic() > end:
                raise SystemExit(f'processes.py: nothing happens any more: see {self.folder}/output')
            time.sleep(0.05)
        return True


def counted_once(run, epochs):
    ends, last = {}, -1
    for record in run.rounds():
        if record['round'] != last + 1 or record['begin'] != ends.get(record['epoch'], 0):
            raise SystemExit(f'processes.py: WRONG RESULT: round {record["round"]} follows {last} at {record["begin"]}')
        last = record['round']
        ends[record['epoch']] = record['end']
    if len(ends) != epochs or len(set(ends.values())) != 1:
        raise SystemExit(f'processes.py: WRONG RESULT: not every position is there: {ends}')


def parameters(run):
    newest = max((run.folder / 'run/checkpoints').iterdir(), key=lambda it: int(it.name))
    data = (newest / 'model.safetensors').read_bytes()
    size = struct.unpack('<Q', data[:8])[0]
    return data[8 + size:]


def difference(a, b):
    if len(a) != len(b):
        raise SystemExit('processes.py: WRONG RESULT: models of different sizes')
    if a == b:
        return 0.0
    floats = zip(struct.iter_unpack('<f', a), struct.iter_unpack('<f', b))
    return max(abs(x[0] - y[0]) for x, y in floats)


def disturb(run, options):
    """Kills until there were enough kills or the training is over. What was killed, and behind how many rounds."""
    draw, done = random.Random(options.seed), []
    while len(done) < options.kills:
        time.sleep(options.every)
        if not run.wait_for(run.whole):
            break
        victims = run.processes(draw.choice(options.roles.split(',')))
        number, name = draw.choice(victims)
        done.append((name, len(run.rounds())))
        os.kill(number, signal.SIGKILL)
    return done


def delays(done, walls, usual):
    """Of each process, what the longest round of those behind its kill took more than usual."""
    of = {}
    for name, rounds in done:
        behind = walls[max(0, rounds - 1):rounds + 40]
        if behind:
            of.setdefault(name, []).append(max(behind) - usual)
    return of


def finished(run):
    code = run.process.wait()
    if code != 0:
        sys.stdout.write((run.folder / 'output').read_text()[-4000:])
        raise SystemExit(f'processes.py: the training ended with code {code}: see {run.folder}')


def main():
    options = arguments()
    place = pathlib.Path(tempfile.mkdtemp(prefix='steelyard-chaos-'))
    short = Run(options, place / 'short', 20)
    finished(short)
    seconds = sum(record['round_ms'] / 1000 for record in short.rounds()) / 20
    epochs = max(20, int(options.kills * (options.every + 2) / seconds))
    print(f'{epochs} epochs of {seconds:.3f} s, twice', flush=True)
    quiet = Run(options, place / 'quiet', epochs)
    finished(quiet)
    killed = Run(options, place / 'killed', epochs)
    if not killed.wait_for(killed.whole):
        raise SystemExit('processes.py: the training was over before it was disturbed')
    done = disturb(killed, options)
    finished(killed)
    for run in (quiet, killed):
        counted_once(run, epochs)
    apart = difference(parameters(quiet), parameters(killed))
    walls = [[record['round_ms'] / 1000 for record in run.rounds()] for run in (quiet, killed)]
    held_up = delays(done, walls[1], statistics.median(walls[1]))
    lost = sum(walls[1]) - sum(walls[0])
    names = sorted({name for name, _ in done})
    print(f'{len(done)} kills: ' + ', '.join(f'{name} {sum(it == name for it, _ in done)}' for name in names))
    print(f'rounds took {sum(walls[0]):.1f} s undisturbed, {sum(walls[1]):.1f} s disturbed: {lost / len(done):.3f} s a kill,'
          f' {100 * sum(walls[0]) / sum(walls[1]):.1f} % of the throughput')
    print(f'median round {statistics.median(walls[0]):.4f} s and {statistics.median(walls[1]):.4f} s, longest '
          f'{max(walls[0]):.2f} s and {max(walls[1]):.2f} s')
    for name, seconds in sorted(held_up.items()):
        print(f'  {name}: held up a round by {statistics.median(seconds):.3f} s, at most {max(seconds):.3f} s')
    print(f'every position once; parameters apart by {apart:g}')
    if apart > options.tolerance:
        raise SystemExit('processes.py: WRONG RESULT: other parameters than without kills')
    subprocess.run(['rm', '-rf', place], check=True)


if __name__ == '__main__':
    main()
