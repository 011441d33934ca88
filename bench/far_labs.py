"""Compares `bsp` and `diloco:64` with three real worker processes behind networks of 10 Mbit/s.

    script/bench far-labs [--epochs 30] [--mbit 10] [--kill 3]

Needs root. Each worker runs in its own network namespace; `tc tbf` limits its connection to the given Mbit/s each way.
They train LeNet-5 on Fashion-MNIST, slowed down by 2, 4 and 8, in global batches of 512. Efficiency is the rate divided
by that of the same workers without waiting or exchange. Bytes are those that the kernel counted, in both directions.

With --kill SECONDS there is a third run in which one worker is killed at this interval. In each run every position is
counted: a sample that is lost or counted twice is a wrong result.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading

from lines import JOB, SLOW, SOCKETS, Lines, add_program

CODED = ['cluster.push_encoding=int4', 'cluster.pull_encoding=int4', 'train.lr=0.04', 'train.outer_momentum=0.4']


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--epochs', default=30, type=int, help='of diloco:64; bsp trains one')
    parser.add_argument('--mbit', default=10, type=int)
    parser.add_argument('--kill', default=0, type=float, metavar='SECONDS')
    add_program(parser)
    return parser.parse_args()


def kill_one(folder, seconds, over):
    """Kills the worker `quarter` again and again; its launcher restarts it. Returns the number of kills."""
    kills = 0
    while not over.wait(seconds):
        for process in filter(str.isdigit, os.listdir('/proc')):
            try:
                words = pathlib.Path('/proc', process, 'cmdline').read_bytes().split(b'\0')
                inside = os.path.samefile(f'/proc/{process}/cwd', folder)
            except OSError:
                continue
            if b'worker' in words[1:2] and b'quarter' in words and inside:
                os.kill(int(process), signal.SIGKILL)
                kills += 1
    return kills


def counted_once(records, epochs, samples):
    ends = {}
    for record in records:
        if record.get('purpose') != 'train':
            continue
        if record['begin'] != ends.get(record['epoch'], 0):
            raise SystemExit(f'far_labs.py: WRONG RESULT: round {record["round"]} begins at {record["begin"]}')
        ends[record['epoch']] = record['end']
    if ends != {epoch: samples for epoch in range(epochs)}:
        raise SystemExit(f'far_labs.py: WRONG RESULT: positions are missing: {ends}')


def measure(options, lines, place, name, epochs, settings, kill=0):
    folder = pathlib.Path(place, name)
    folder.mkdir()
    hosts = folder / 'hosts.toml'
    hosts.write_text(lines.hosts(SLOW))
    before = lines.bytes()
    command = [options.steelyard, 'launch', hosts, JOB, '--run-dir', folder / 'run', *SOCKETS, '--quiet']
    for setting in (f'train.epochs={epochs}', *settings):
        command += ['--set', setting]
    over, kills = threading.Event(), []
    killer = threading.Thread(target=lambda: kills.append(kill_one(folder, kill, over)))
    if kill:
        killer.start()
    with open(folder / 'log', 'w') as log:
        code = subprocess.run(command, cwd=folder, stdout=log, stderr=log).returncode
    over.set()
    if kill:
        killer.join()
    if code != 0:
        raise SystemExit(f'far_labs.py: {name} exited with {code}:\n' + (folder / 'log').read_text()[-2000:])
    result = json.loads((folder / 'run/result.json').read_text())
    records = [json.loads(line) for line in (folder / 'run/rounds.jsonl').read_text().splitlines()]
    samples = max(record['end'] for record in records if record.get('purpose') == 'train')
    counted_once(records, epochs, samples)
    carried = (lines.bytes() - before) / (epochs * samples)
    told = f', {kills[0]} kills' if kills else ''
    print(f'{name:<18}{result["steady_samples_per_second"]:>12,.0f}{100 * result["efficiency"]:>11.1f} %{carried:>16.2f}'
          f'{100 * result["accuracy"]:>11.2f} %{told}', flush=True)
    return carried


def main():
    options = arguments()
    if os.geteuid() != 0:
        raise SystemExit('far_labs.py: only root can create network namespaces')
    lines = Lines(dict.fromkeys(SLOW, options.mbit))
    try:
        with tempfile.TemporaryDirectory() as place:
            print(f'{"":<18}{"samples/s":>12}{"efficiency":>13}{"bytes/sample":>16}{"accuracy":>13}')
            bsp = measure(options, lines, place, 'bsp', 1, [])
            far = measure(options, lines, place, 'diloco-64', options.epochs, ['cluster.sync=diloco:64', *CODED])
            print(f'bytes: {bsp / far:.0f} times fewer')
            if options.kill > 0:
                measure(options, lines, place, 'diloco-64-killed', options.epochs,
                        ['cluster.sync=diloco:64', *CODED], options.kill)
    finally:
        lines.remove()


if __name__ == '__main__':
    main()
