"""Disturbs a real training, and compares what comes out with an undisturbed one.

    script/chaos [--faults kill] [--seconds 60] [--every 2] [--seed 1] [--roles worker,server,scheduler]

Trains LeNet-5 on synthetic data with two servers, a mirror of each shard (`replicas = 1`) and three unequal
workers, twice: undisturbed and disturbed.

Losses come in turn, --every so many seconds, once all that was lost is back: one at a time is what is
promised.
  kill       kill -9 of a random process
  stop       SIGSTOP of a random process for 0.5 to 8 seconds, then SIGCONT
  halfopen   packets to a random process, from it, or both are dropped for 0.5 to 8 seconds
  disk       the run directory is full for 0.5 to 8 seconds
Bad weather holds beside them, in turn, --hold seconds each and --every so many seconds. All end when the
training is nearly over.
  silent     1,000 connections that say nothing to each port that is listened on
  garbage    random bytes, and right beginnings of ZMTP followed by random bytes, to each of these ports
  loss       every process loses 5 % of the packets that it gets
  bandwidth  no process sends more than 100 Mbit/s
  clock      the wall clock jumps by an hour or ten years, to and fro (Debian package faketime)
`all` are all of these. kill, stop and clock are done to `steelyard train`. The others need root: disk mounts
a small tmpfs, and the rest start the job with `launch`, in network namespaces (Debian packages iproute2 and
nftables). What the machine cannot do is skipped, with the reason.

Fails unless every position of every epoch is counted once, the versions follow one another, the parameters
are those of the undisturbed run (--tolerance; 0 with a job that is reproducible), and no process had more
than --memory times its memory there. The same seed disturbs in the same order.
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
    parser.add_argument('--seconds', default=60, type=float, help='that the undisturbed training takes')
    parser.add_argument('--every', default=2.0, type=float, metavar='SECONDS')
    parser.add_argument('--hold', default=20.0, type=float, metavar='SECONDS')
    parser.add_argument('--seed', default=1, type=int)
    parser.add_argument('--roles', default=list(ROLES), metavar='ROLE,...', **words)
    parser.add_argument('--cluster', default='sum_order = "ordered"\npolicy = "equal"', metavar='LINES',
                        help='further lines of [cluster]')
    parser.add_argument('--insecure', action='store_true', help='`launch` without keys')
    parser.add_argument('--tolerance', default=1e-4, type=float)
    parser.add_argument('--memory', default=1.5, type=float, metavar='FACTOR')
    parser.add_argument('--folder', type=pathlib.Path,
                        help='keep the runs there; an undisturbed one that is there serves again')
    parser.add_argument('--steelyard', default=ROOT / 'build/release/bin/steelyard', help='the program',
                        type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument(network.INSIDE, action='store_true', help=argparse.SUPPRESS)
    return parser.parse_args()


def possible(asked, say):
    known = list(faults.FAULTS)
    asked = known if asked == ['all'] else asked
    if unknown := set(asked) - set(known):
        raise SystemExit(f'chaos: no fault is called {", ".join(unknown)}: there are {", ".join(known)}')
    for name in asked:
        if (why := faults.lacking(name)) and say:
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
    while kinds and run.going_on(options.every) and not run.nearly_over() and run.wait_for_whole():
        fault, rounds, heard = kinds[len(done) % len(kinds)], len(run.rounds()), run.losses()
        with fault(run, draw, options) as name:
            when = time.monotonic()
            run.going_on(draw.uniform(*faults.LOSSES[fault]))
        run.going_on(0.5)
        heard = min(run.losses() - heard, default=None)
        done.append(report.Loss(fault.__name__, name, rounds, heard and max(0.0, heard - when)))
    return done


def turn(run, kinds, options):
    draw = random.Random(options.seed)
    draw.shuffle(kinds)
    while kinds and run.going_on(options.every) and not run.nearly_over():
        kinds.append(kinds.pop(0))
        with kinds[-1](run, draw, options):
            run.going_on(options.hold)


def disturb(run, losses, weather, options):
    """Until the training is over. Which losses there were."""
    if not run.wait_for_whole():
        raise SystemExit(f'chaos: the training was over before it was disturbed: see {run.folder}')
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
    kinds = possible(options.faults, say=not options.inside)
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
