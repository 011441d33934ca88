"""Measures the cost of a round that does not depend on its model: two workers, a server and a scheduler on this host.

    script/bench round [--rounds 3000] [--repeats 5] [--against BUILD] [--timeline DIR]

Models of 30 KB, 2 MB and 45 MB (perceptrons on the digits that come with the program) train with two samples a round, one
for each worker, with values in shared memory and through sockets (--exchange). A figure is the time from one round to the
next: the median of a job's rounds, then the median of all repeats, which alternate between sizes and ways. The fixed cost
is the intercept of a line through time and bytes that minimises relative errors. The time that a worker computes is part
of a round; it is shown, and grows with the model.

--against also measures the program of another build folder, in turns with this one. --timeline keeps a trace of a short
job of each kind there, for ui.perfetto.dev. Run it on a machine without other load, or with --priority as root.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HIDDEN = {'30 KB': [100], '2 MB': [700, 650], '45 MB': [3300, 3300]}  # units of each hidden layer
FEWER = {'30 KB': 1, '2 MB': 3, '45 MB': 30}  # rounds are divided by this
INPUTS, CLASSES = 64, 10
TARGET = 150  # microseconds, with shared memory
JOB = """
[job]
name = "round"
[model]
name = "mlp"
hidden = {hidden}
[data]
name = "digits"
[train]
batch = 2
rounds = {rounds}
optimizer = "sgd"
lr = 0.0001
[cluster]
servers = 1
policy = "equal"
[[worker]]
[[worker]]
"""


def size_of(hidden):
    """Returns the bytes of a model."""
    widths = [INPUTS, *hidden, CLASSES]
    return 4 * sum((inputs + 1) * outputs for inputs, outputs in zip(widths, widths[1:]))


def urgent():
    """In a child: its own session, which the kernel prefers to others."""
    os.setsid()
    pathlib.Path('/proc/self/autogroup').write_text('-15')


def train(it, program, hidden, exchange, rounds, kept=None):
    """Returns the median milliseconds from one round to the next, and those that the slower worker computes."""
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder, 'job.toml')
        job.write_text(JOB.format(hidden=hidden, rounds=rounds))
        run = kept or f'{folder}/run'
        command = [program, 'train', job, '--quiet', '--exchange', exchange, '--run-dir', run]
        command += ['--trace'] if kept else []
        result = subprocess.run(command, capture_output=True, text=True, preexec_fn=urgent if it.priority else None)
        if result.returncode:
            sys.exit(f'{program}: {result.stderr}')
        lines = [json.loads(line) for line in pathlib.Path(run, 'rounds.jsonl').read_text().splitlines()]
    lines = [line for line in lines if line['purpose'] == 'train'][rounds // 5:]
    times = [after['at_ms'] - before['at_ms'] for before, after in zip(lines, lines[1:])]
    return statistics.median(times), statistics.median(max(line['compute_ms']) for line in lines)


def line_through(points):
    """Returns intercept and slope that minimise the sum of squared relative errors."""
    weights = [1 / time ** 2 for _, time in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points)) / total
    slope = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points)) / sum(
        w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points))
    return mean_y - slope * mean_x, slope


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--rounds', type=int, default=3000, help='of the smallest model')
    options.add_argument('--repeats', type=int, default=5)
    options.add_argument('--build', type=pathlib.Path, default=ROOT / 'build/release')
    options.add_argument('--against', type=pathlib.Path, help='a build folder')
    options.add_argument('--timeline', type=pathlib.Path, help='a folder')
    options.add_argument('--priority', action='store_true', help='prefer the jobs to all other processes; as root')
    it = options.parse_args()
    programs = {'': it.build / 'bin/steelyard'}
    if it.against:
        programs['the other build, '] = it.against / 'bin/steelyard'
    ways = {(name, 'auto'): f'{name}shared memory' for name in programs}
    ways |= {(name, 'sockets'): f'{name}sockets' for name in programs}
    found = {(size, way): [] for size in HIDDEN for way in ways}
    for _ in range(it.repeats):
        for (size, way), times in found.items():
            times.append(train(it, programs[way[0]], HIDDEN[size], way[1], it.rounds // FEWER[size]))
    print(f'two workers, {os.cpu_count()} cores; medians [least..most] of {it.repeats}')
    for way, title in ways.items():
        print(f'{title}:')
        points = []
        for size, hidden in HIDDEN.items():
            times, computed = zip(*found[size, way])
            middle = statistics.median(times)
            points.append((size_of(hidden), middle))
            print(f'  {size:>6}  {middle:8.3f} ms [{min(times):.3f}..{max(times):.3f}], {1000 / middle:7.0f} rounds/s, '
                  f'of which a worker computes {statistics.median(computed):.3f} ms')
        fixed, slope = line_through(points)
        missed = f'; the target is {TARGET} us' if way == ('', 'auto') else ''
        print(f'   fixed  {fixed:8.3f} ms, and {1e6 * slope:.3f} ms for each MB{missed}')
    for way, title in ways.items() if it.timeline else ():
        kept = it.timeline / title.replace(', ', '-').replace(' ', '-')
        train(it, programs[way[0]], HIDDEN['30 KB'], way[1], 500, kept)
        print(f'{kept}/timeline.json: {title}')


if __name__ == '__main__':
    main()
