"""Measures the cost of a background worker on a full machine for the other workers. Needs two processors.

    script/bench polite [--seconds 60] [--repeats 3]

A scheduler, a server and a worker are bound to processor 0, and a program that never waits to processor 1. The
measurement alternates between runs with a background worker on processor 1 and runs without it. The other processes do
the same work in both, so the samples per second should be equal. The goal is 97 %.
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
STEELYARD = ROOT / 'build' / 'release' / 'bin' / 'steelyard'
JOB = '''
[model]
name = "lenet5"
[data]
name = "synthetic"
[train]
batch = 512
epochs = 0
seconds = {seconds}
lr = 0.01
evaluate_every = 0
checkpoint_every = 0
[cluster]
servers = 1
'''


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seconds', default=60, type=float, help='seconds of training per run')
    parser.add_argument('--repeats', default=3, type=int)
    parser.add_argument('--steelyard', default=STEELYARD, help='path of the program (default: the one in build/release)')
    return parser.parse_args()


def measured(folder):
    """Returns samples per second of the whole training, waits included, and its longest round in s."""
    records = map(json.loads, (folder / 'rounds.jsonl').read_text(encoding='utf-8').splitlines())
    rounds = [it for it in records if it.get('purpose') == 'train']
    times = [it['round_ms'] / 1000 for it in rounds]
    return sum(it['end'] - it['begin'] for it in rounds) / sum(times), max(times)


def trained(options, folder, polite):
    """Returns the result of measured(), and the log lines about the background worker."""
    names = ['ada', 'guest'] if polite else ['ada']
    job = folder / 'job.toml'
    job.write_text(JOB.format(seconds=options.seconds) + ''.join(f'[[worker]]\nname = "{it}"\n' for it in names))
    place = f'ipc://{folder}/scheduler'
    of_job = ['--scheduler', place, '--name']
    commands = [(0, ['scheduler', job, '--listen', place, '--run-dir', folder / 'run']),
                (0, ['server', *of_job, 's', '--listen', '127.0.0.1:*']),
                (0, ['worker', *of_job, 'ada'])]
    if polite:
        commands.append((1, ['worker', *of_job, 'guest', '--background']))
    with open(folder / 'log', 'w', encoding='utf-8') as log:
        processes = [subprocess.Popen(['taskset', '--cpu-list', str(processor), options.steelyard,
                                       *map(str, command)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                     for processor, command in commands]
        codes = [process.wait() for process in processes]
    said = (folder / 'log').read_text(encoding='utf-8')
    if any(codes):
        raise SystemExit(f'polite.py: the processes exited with {codes}:\n{said[-3000:]}')
    lines = [line for line in said.splitlines() if "worker 'guest'" in line and 'processors' in line]
    return measured(folder / 'run'), lines


def main():
    options = arguments()
    if len(os.sched_getaffinity(0)) < 2:
        raise SystemExit('polite.py: two processors are needed')
    rates = {False: [], True: []}
    burner = subprocess.Popen(['taskset', '--cpu-list', '1', sys.executable, '-c', 'while True: pass'])
    try:
        for repeat in range(options.repeats):
            for polite in (False, True) if repeat % 2 == 0 else (True, False):
                with tempfile.TemporaryDirectory() as place:
                    (its, longest), said = trained(options, pathlib.Path(place), polite)
                rates[polite].append(its)
                print(f'{"with" if polite else "without":8} the background worker {its:10.0f} samples/s, '
                      f'longest round {longest:.2f} s')
                for line in said[:4]:
                    print(f'         {line}')
    finally:
        burner.kill()
    without, beside = (statistics.median(rates[it]) for it in (False, True))
    print(f'medians: {beside:.0f} of {without:.0f} samples/s, {100 * beside / without:.1f} % (goal: 97 %)')


if __name__ == '__main__':
    main()
