"""Disturbs a real training, and compares the result with that of an undisturbed one.

    script/chaos [--faults kill] [--seconds 60] [--every 2] [--seed 1] [--roles worker,server,scheduler]

Trains LeNet-5 on synthetic data with two servers, a mirror of each shard (`replicas = 1`) and three unequal
workers, twice: undisturbed and disturbed.

Losses occur in turn, --every seconds after the previous one is recovered. Only one at a time is guaranteed to
be survived.
  kill       kill -9 of a random process
  stop       SIGSTOP of a random process for 0.5 to 8 seconds, then SIGCONT
  halfopen   packets to a random process, from it or both are dropped for 0.5 to 8 seconds
  disk       the run directory is full for 0.5 to 8 seconds
Bad weather occurs at the same time, one kind after the other: each lasts --hold seconds, with pauses of --every
seconds. Both stop when the training is nearly over.
  silent     1,000 silent connections to each listening port
  garbage    random bytes, and valid starts of ZMTP followed by random bytes, to each of these ports
  loss       every process loses 5 % of its incoming packets
  bandwidth  no process sends more than 100 Mbit/s
  clock      the wall clock jumps by an hour or ten years and back (Debian package faketime)
`all` selects all of these. kill, stop and clock run with `steelyard train`. The others need root: disk mounts
a small tmpfs, and the rest start the job with `launch` in network namespaces (Debian packages iproute2 and
nftables). Faults that the machine cannot cause are skipped, with the reason.

Fails unless every position of every epoch is counted once, versions are consecutive, the parameters equal those
of the undisturbed run (within --tolerance; 0 for a reproducible job), and no process takes more than --memory
times its memory in that run. The same seed gives the same order of faults.
"""
import argparse
import concurrent.futures
import pathlib
import random
import subprocess
import tempfile
import time

import checks
import faults
import network
import report
from chaos_run import ROLES, FormerRun, Run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DISK = 64  # MB


def arguments():
    parser = argparse.ArgumentParser(prog='script/chaos', usage=argparse.SUPPRESS, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    words = {'type': lambda text: text.split(',')}
    parser.add_argument('--faults', default=['kill'], metavar='FAULT,...', **words)
    parser.add_argument('--seconds', default=60, type=float, help='duration of the undisturbed training')
    parser.add_argument('--every', default=2.0, type=float, metavar='SECONDS')
    parser.add_argument('--hold', default=20.0, type=float, metavar='SECONDS')
    parser.add_argument('--seed', default=1, type=int)
    parser.add_argument('--roles', default=list(ROLES), metavar='ROLE,...', **words)
    parser.add_argument('--cluster', default='sum_order = "ordered"\npolicy = "equal"', metavar='LINES',
                        help='additional lines of [cluster]')
    parser.add_argument('--insecure', action='store_true', help='`launch` without keys')
    parser.add_argument('--tolerance', default=1e-4, type=float)
    parser.add_argument('--memory', default=1.5, type=float, metavar='FACTOR')
    parser.add_argument('--folder', type=pathlib.Path,
                        help='keep the runs there, and reuse an undisturbed one')
    parser.add_argument('--steelyard', default=ROOT / 'build/release/bin/steelyard', help='the program',
                        type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument(network.INSIDE, action='store_true', help=argparse.SUPPRESS)
    return parser.parse_args()


def possible(asked, report_skipped):
    known = list(faults.FAULTS)
    asked = known if asked == ['all'] else asked
    if unknown := set(asked) - set(known):
        raise SystemExit(f'chaos: unknown fault {", ".join(unknown)}: choose from {", ".join(known)}')
    for name in asked:
        if (why := faults.lacking(name)) and report_skipped:
            print(f'skipped: {name}: {why}')
    return [faults.FAULTS[name] for name in asked if not faults.lacking(name)]


def undisturbed(options, place, on_network):
    folder = place / ('quiet-launch' if on_network else 'quiet-train')
    if (folder / 'peaks.json').exists():
        return FormerRun(folder)
    short = Run(options, folder.with_suffix('.short'), 20, on_network)
    short.finish()
    epochs = max(20, int(20 * options.seconds / sum(report.walls(short))))
    print(f'{epochs} epochs, undisturbed', flush=True)
    Run(options, folder, epochs, on_network).finish()
    return FormerRun(folder)


def lose(run, kinds, options):
    draw, done = random.Random(options.seed), []
    draw.shuffle(kinds)
    while kinds and run.still_running(options.every) and not run.nearly_over() and run.wait_for_whole():
        fault, rounds, noticed = kinds[len(done) % len(kinds)], len(run.rounds()), run.losses()
        with fault(run, draw, options) as name:
            when = time.monotonic()
            run.still_running(draw.uniform(*faults.LOSSES[fault]))
        run.still_running(0.5)
        noticed = min(run.losses() - noticed, default=None)
        done.append(report.Loss(fault.__name__, name, rounds, noticed and max(0.0, noticed - when)))
    return done


def turn(run, kinds, options):
    draw = random.Random(options.seed)
    draw.shuffle(kinds)
    while kinds and run.still_running(options.every) and not run.nearly_over():
        kinds.append(kinds.pop(0))
        with kinds[-1](run, draw, options):
            run.still_running(options.hold)


def disturb(run, losses, weather, options):
    """Disturbs the training until it is nearly over. Returns the losses."""
    if not run.wait_for_whole():
        raise SystemExit(f'chaos: the training finished before it could be disturbed: see {run.folder}')
    with concurrent.futures.ThreadPoolExecutor() as threads:
        turns = threads.submit(turn, run, weather, options)
        try:
            return lose(run, losses, options)
        except BaseException:
            run.process.terminate()
            raise
        finally:
            turns.result()


def main():
    options = arguments()
    kinds = possible(options.faults, report_skipped=not options.inside)
    if not kinds:
        return
    on_network = any(kind in faults.NETWORK for kind in kinds)
    if on_network or faults.disk in kinds:
        network.enter()
        network.build()
    weather, losses = ([it for it in kinds if (it in faults.WEATHER) == is_so] for is_so in (True, False))
    place = (options.folder or pathlib.Path(tempfile.mkdtemp(prefix='steelyard-chaos-'))).resolve()
    quiet = undisturbed(options, place, on_network)
    name = '-'.join(kind.__name__ for kind in kinds)
    run = Run(options, place / name, quiet.epochs, on_network, DISK if faults.disk in kinds else 0,
              faults.clock in kinds)
    try:
        done = disturb(run, losses, weather, options)
        run.finish()
    finally:
        run.process.terminate()
    print(f'{name}, seed {options.seed}: {len(done)} losses')
    report.write(quiet, run, done)
    checks.counted_once(run, quiet.epochs)
    apart = checks.same_parameters(quiet, run, options.tolerance)
    checks.bounded_memory(quiet, run, options.memory)
    print(f'every position once; parameters apart by {apart:g}; memory bounded', flush=True)
    if not options.folder:
        subprocess.run(['rm', '-rf', place], check=True)


if __name__ == '__main__':
    main()
