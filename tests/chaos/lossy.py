"""Measures how fast a training is under packet loss, compared with its speed without.

    script/loss [--loss 1,5] [--delay MS] [--window 6] [--times 3]

Starts one job with `launch`, as script/chaos does: LeNet-5 on synthetic data, two servers with mirrors, three
workers, each process in its own network namespace. Windows without loss and with each percentage of loss
alternate, so that other load on the machine affects both. With --delay, a relay forwards single packets with
this delay each way, and drops them itself.

Prints the rounds per second of each percentage, and their share of the rate without loss. Needs root (Debian
packages iproute2 and nftables).
"""
import argparse
import contextlib
import pathlib
import statistics
import subprocess
import tempfile
import time

import faults
import network
import relay
from chaos_run import Run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SETTLES = 1.0  # seconds after a change that are not measured


def arguments():
    parser = argparse.ArgumentParser(prog='script/loss', usage=argparse.SUPPRESS, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--loss', default=[1.0, 5.0], metavar='PERCENT,...',
                        type=lambda text: [float(it) for it in text.split(',')])
    parser.add_argument('--delay', default=0.0, type=float, metavar='MS', help='each way')
    parser.add_argument('--window', default=6.0, type=float, metavar='SECONDS')
    parser.add_argument('--times', default=3, type=int)
    parser.add_argument('--network', default=[], action='append', metavar='SETTING=VALUE',
                        help='a sysctl of net.ipv4 in each namespace, such as tcp_congestion_control=bbr')
    parser.add_argument('--cluster', default='policy = "equal"', metavar='LINES')
    parser.add_argument('--insecure', action='store_true', help='`launch` without keys')
    parser.add_argument('--steelyard', default=ROOT / 'build/release/bin/steelyard', help='the program',
                        type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument(network.INSIDE, action='store_true', help=argparse.SUPPRESS)
    return parser.parse_args()


@contextlib.contextmanager
def losing(percent, line):
    if line is None:
        which = f'numgen random mod 10000 < {round(100 * percent)}'
        with faults.dropped('loss', network.HOSTS, {'input': which}) if percent else contextlib.nullcontext():
            yield
    else:
        line.loss = percent / 100
        yield
        line.loss = 0.0


def rate(run, seconds):
    """Rounds per second."""
    begun, first = time.monotonic(), run.last_round()['round']
    if not run.still_running(seconds):
        raise SystemExit(f'loss: the training ended: see {run.folder}')
    return (run.last_round()['round'] - first) / (time.monotonic() - begun)


def main():
    options = arguments()
    network.enter()
    line = relay.build(options.delay / 1000) if options.delay else network.build()
    for host in network.HOSTS:
        for setting in options.network:
            network.on(host, f'sysctl -qw net.ipv4.{setting}')
    place = pathlib.Path(tempfile.mkdtemp(prefix='steelyard-loss-'))
    run = Run(options, place / 'job', 10**6, on_network=True)
    rates = {percent: [] for percent in (0.0, *options.loss)}
    try:
        while not run.last_round()['workers']:
            if not run.still_running(0.2):
                raise SystemExit('loss: the training did not start:\n' + (run.folder / 'output').read_text()[-2000:])
        run.still_running(3)
        for _ in range(options.times):
            for percent in rates:
                with losing(percent, line):
                    run.still_running(SETTLES)
                    rates[percent].append(rate(run, options.window))
    finally:
        run.process.terminate()
        run.process.wait(60)
    whole = statistics.median(rates[0.0])
    for percent, each in rates.items():
        print(f'{percent:4g} % lost: {statistics.median(each):8.2f} rounds/s, '
              f'{100 * statistics.median(each) / whole:5.1f} %   ({" ".join(f"{it:.2f}" for it in each)})')
    notes = [text for text in run.notes() if 'lost' in text or 'silent' in text]
    for text in notes[:5]:
        print('  note:', text[:150])
    subprocess.run(['rm', '-rf', place], check=True)


if __name__ == '__main__':
    main()
