"""Measures the accuracy of the predictions of `steelyard plan`.

    script/bench plan [--mbit 100,30,5] [--seconds 12] [--repeats 3]

Needs root. A scheduler with two servers and three workers run in four network namespaces; `tc tbf` limits the workers'
connections to the given Mbit/s each way. They train the demo's LeNet-5, slowed down by 2, 4 and 8. `steelyard plan`
measures them and predicts five ways to train; then each way is run for real. Rates are samples per second over the
rounds after the first quarter. The goals are an error of at most 10 % for each way, and that the plan's best way is
also the best in reality.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from lines import JOB, SLOW, SOCKETS, Lines, add_program

WAYS = [('bsp', ['half', 'quarter', 'eighth']), ('bsp', ['half', 'quarter']), ('bsp', ['half']),
        ('diloco:64', ['half', 'quarter', 'eighth']), ('diloco:64', ['half', 'quarter'])]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--mbit', default='100,30,5', help='Mbit/s of half, quarter and eighth')
    parser.add_argument('--seconds', default=12, type=float, help='seconds of each run')
    parser.add_argument('--repeats', default=3, type=int)
    add_program(parser)
    return parser.parse_args()


def steelyard(options, folder, *words):
    done = subprocess.run([options.steelyard, *map(str, words)], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f'plan.py: steelyard {words[0]} exited with {done.returncode}:\n{done.stderr[-2000:]}')
    return done.stdout


def predicted(options, folder, hosts):
    print(steelyard(options, folder, 'plan', hosts, JOB, *SOCKETS, '--run-dir', folder / 'plan'), flush=True)
    candidates = json.loads((folder / 'plan/candidates.json').read_text())['candidates']
    return {(it['sync'], *sorted(it['workers'])): it['samples_per_second'] for it in candidates}


def measured(options, folder, lines, way, repeat):
    sync, workers = way
    run = folder / f'{sync}-{len(workers)}-{repeat}'.replace(':', '-')
    hosts = run.with_suffix('.toml')
    hosts.write_text(lines.hosts({name: SLOW[name] for name in workers}))
    settings = [f'cluster.sync={sync}', 'cluster.policy=steelyard', f'train.seconds={options.seconds}',
                'train.evaluate_every=0', 'train.checkpoint_every=0']
    if sync != 'bsp':
        settings += ['cluster.push_encoding=int4', 'cluster.pull_encoding=int4']
    steelyard(options, folder, 'launch', hosts, JOB, '--quiet', *SOCKETS, '--run-dir', run,
              *(word for setting in settings for word in ('--set', setting)))
    rounds = [it for it in map(json.loads, (run / 'rounds.jsonl').read_text().splitlines())
              if it.get('purpose') == 'train']
    rounds = rounds[(len(rounds) + 3) // 4:]
    return sum(sum(it['shares']) for it in rounds) / sum(it['round_ms'] for it in rounds) * 1000


def main():
    options = arguments()
    if os.geteuid() != 0:
        raise SystemExit('plan.py: only root can create network namespaces')
    lines = Lines(dict(zip(SLOW, options.mbit.split(','))))
    try:
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            hosts = folder / 'hosts.toml'
            hosts.write_text(lines.hosts(SLOW))
            foretold = predicted(options, folder, hosts)
            rates = {number: [] for number in range(len(WAYS))}
            for repeat in range(options.repeats):
                for number, way in enumerate(WAYS):
                    rates[number].append(measured(options, folder, lines, way, repeat))
    finally:
        lines.remove()
    print(f'{"way":<36}{"predicted":>10}{"measured":>10}{"range":>20}{"error":>9}')
    rows = []
    for number, (sync, workers) in enumerate(WAYS):
        guess, real = foretold[(sync, *sorted(workers))], statistics.median(rates[number])
        error = 100 * (guess / real - 1)
        rows.append((guess, real, number))
        spread = f'[{min(rates[number]):,.0f}..{max(rates[number]):,.0f}]'
        print(f'{sync + " " + "+".join(workers):<36}{guess:>10,.0f}{real:>10,.0f}{spread:>20}{error:>+8.1f}%'
              f'{"" if abs(error) <= 10 else "  MISSED: the goal is 10 %"}')
    named, best = max(rows)[2], max(rows, key=lambda row: row[1])[2]
    print('the plan names the best way' if named == best else
          f'MISSED: the best way is {WAYS[best]}, but the plan names {WAYS[named]}')
    print('load', *os.getloadavg())


if __name__ == '__main__':
    main()
