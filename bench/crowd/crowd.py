"""Measures scheduler and server with a thousand workers over real connections on one machine.

    script/bench crowd [--workers 10,100,1000] [--seconds 20] [--processes 10]

Each process has a tenth of the workers (steelyard_crowd). A worker does all that `steelyard worker` does, except that
it sleeps --sleep milliseconds a round instead of computing, so a round would ideally take that long. Printed for each
number of workers: seconds until the first round, the median of the rounds' times beyond the sleep, percent of the
ideal, the scheduler's and the server's memory and processor time, and the longest round after one of the processes,
with its tenth of the workers, is killed.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = 10  # of a worker in a round
JOB = '''
[job]
name = "crowd"
[model]
name = "sleeper"
[data]
name = "synthetic"
train = {train}
test = 10
[train]
batch = {batch}
epochs = 0
seconds = {seconds}
evaluate_every = 0
checkpoint_every = 0
[cluster]
servers = 1
policy = "equal"
'''


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--workers', default='10,100,1000', help='numbers of workers, one run each')
    parser.add_argument('--seconds', default=20, type=float, help='seconds of training per run')
    parser.add_argument('--sleep', default=100, type=float, help='milliseconds of a round')
    parser.add_argument('--processes', default=10, type=int, help='that the workers are divided among')
    parser.add_argument('--program', default=ROOT / 'build/release/bin/steelyard_crowd', help='path of steelyard_crowd')
    return parser.parse_args()


def job_text(workers, seconds):
    names = ''.join(f'[[worker]]\nname = "crowd-{i}"\n' for i in range(workers))
    return JOB.format(train=workers * SAMPLES * 4, batch=workers * SAMPLES, seconds=seconds) + names


def rounds_of(run):
    try:
        lines = (run / 'rounds.jsonl').read_text(encoding='utf-8').splitlines()
    except OSError:
        return []
    return [it for it in map(json.loads, lines) if it.get('purpose') == 'train']


def memory_and_time(process):
    """Its resident memory in MB and its processor time in s."""
    status = pathlib.Path(f'/proc/{process.pid}/status').read_text()
    kilobytes = int(status.split('VmHWM:')[1].split()[0])
    times = pathlib.Path(f'/proc/{process.pid}/stat').read_text().rsplit(')', 1)[1].split()
    return kilobytes / 1024, (int(times[11]) + int(times[12])) / os.sysconf('SC_CLK_TCK')


def wait_for(what, condition, seconds, processes):
    limit = time.monotonic() + seconds
    while not condition():
        for it in processes:
            if it.poll() not in (None, -signal.SIGKILL):
                sys.exit(f'a process exited with {it.returncode} while waiting for {what}')
        if time.monotonic() > limit:
            sys.exit(f'{what}: not within {seconds} s')
        time.sleep(0.05)


class Cluster:
    """The processes of one run. `with`: they are gone after the block."""

    def __init__(self, options, workers, folder):
        self.options, self.workers, self.run = options, workers, folder / 'run'
        job = folder / 'job.toml'
        job.write_text(job_text(workers, options.seconds))
        self.log = open(folder / 'log', 'w', encoding='utf-8')
        self.scheduler = self.start('scheduler', job, '--listen', '127.0.0.1:*', '--run-dir', self.run)
        wait_for('the scheduler', self.endpoint, 10, [self.scheduler])
        self.place = self.endpoint()
        self.server = self.start('server', '--scheduler', self.place, '--name', 'server', '--quiet')
        self.crowds = []

    def endpoint(self):
        found = re.search(r'127\.0\.0\.1:\d+', pathlib.Path(self.log.name).read_text(encoding='utf-8'))
        return found and found[0]

    def start(self, *words):
        return subprocess.Popen([self.options.program, *map(str, words)], stdout=self.log, stderr=self.log)

    def join(self):
        """Seconds until the first round is complete."""
        began = time.monotonic()
        many = max(self.workers // self.options.processes, 1)
        for first in range(0, self.workers, many):
            count = min(many, self.workers - first)
            self.crowds.append(self.start('crowd', self.place, count, first, self.options.sleep / SAMPLES))
        wait_for('the first round', lambda: rounds_of(self.run), 120, [self.scheduler, self.server, *self.crowds])
        return time.monotonic() - began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for it in [self.scheduler, self.server, *self.crowds]:
            it.kill()
            it.wait()
        self.log.close()


def measure(options, workers):
    """The row of the table for so many workers."""
    with tempfile.TemporaryDirectory(prefix='steelyard-crowd-') as folder, \
            Cluster(options, workers, pathlib.Path(folder)) as cluster:
        joined = cluster.join()
        roles = (cluster.scheduler, cluster.server)
        began, begun = [memory_and_time(it)[1] for it in roles], len(rounds_of(cluster.run))
        time.sleep(options.seconds * 0.6)
        before = rounds_of(cluster.run)
        memory, ended = zip(*map(memory_and_time, roles))
        cluster.crowds[-1].kill()
        cluster.scheduler.wait(timeout=options.seconds + 60)
        after = rounds_of(cluster.run)[len(before):]
        result = json.loads((cluster.run / 'result.json').read_text(encoding='utf-8'))
    steady = before[begun:]
    if result['exit_code'] != 0 or not steady or not after:
        sys.exit(f'{workers} workers: {result["text"] or "no rounds"}')
    median = statistics.median(it['round_ms'] for it in steady)
    used = [1000 * (end - begin) / len(steady) for begin, end in zip(began, ended)]
    return [joined, median - options.sleep, 100 * options.sleep / median, *memory, *used,
            max(it['round_ms'] for it in after)]


def main():
    options = arguments()
    print(f'{"workers":>8}{"joined":>9}{"beyond":>10}{"of ideal":>10}{"scheduler":>11}{"server":>9}'
          f'{"scheduler":>14}{"server":>12}{"a tenth killed":>17}')
    for workers in map(int, options.workers.split(',')):
        joined, beyond, ideal, *memory, scheduler, server, longest = measure(options, workers)
        print(f'{workers:8}{joined:7.1f} s{beyond:7.2f} ms{ideal:8.1f} %{memory[0]:8.0f} MB{memory[1]:6.0f} MB'
              f'{scheduler:8.1f} ms/rd{server:6.1f} ms/rd{longest:14.0f} ms', flush=True)


if __name__ == '__main__':
    main()
