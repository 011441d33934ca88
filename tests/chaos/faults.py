"""Faults that can be caused in a run. Each lasts as long as its `with` block, and yields the name of its victim.

Losses (LOSSES) occur one after another, each after the previous one is recovered, since only one at a time is
guaranteed to be survived. Bad weather (WEATHER) occurs at the same time.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile

import clock as wall_clock
import flood
import network
from chaos_run import ROLES


def victim(run, draw, roles):
    return draw.choice(run.processes(draw.choice(roles)))


@contextlib.contextmanager
def kill(run, draw, options):
    number, name = victim(run, draw, options.roles)
    os.kill(number, signal.SIGKILL)
    yield name


@contextlib.contextmanager
def stop(run, draw, options):
    number, name = victim(run, draw, options.roles)
    os.kill(number, signal.SIGSTOP)
    try:
        yield name
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGCONT)


@contextlib.contextmanager
def dropped(name, hosts, chains):
    """Drops packets at these hosts. `chains`: a filter for arriving ('input') and for leaving ('output') packets."""
    table = f'inet {name}'
    for host in hosts:
        network.on(host, 'nft add table', table)
        for hook, which in chains.items():
            network.on(host, f'nft add chain {table} {hook} {{ type filter hook {hook} priority 0; }}')
            network.on(host, f'nft add rule {table} {hook} {which} drop')
    try:
        yield
    finally:
        for host in hosts:
            network.on(host, 'nft delete table', table)


@contextlib.contextmanager
def halfopen(run, draw, options):
    name = victim(run, draw, options.roles)[1]
    ways = draw.choice([('input',), ('output',), ('input', 'output')])
    with dropped('halfopen', [name], {way: 'meta l4proto tcp' for way in ways}):
        yield name


@contextlib.contextmanager
def disk(run, draw, options):
    """Fills the disk. Counts as a loss, since a scheduler killed during this time would have no journal."""
    filler = run.results / 'filler'
    try:
        with open(filler, 'wb', buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))
        yield 'scheduler'
    finally:
        filler.unlink()


@contextlib.contextmanager
def loss(run, draw, options):
    with dropped('loss', network.HOSTS, {'input': 'numgen random mod 100 < 5'}):
        yield 'all'


@contextlib.contextmanager
def bandwidth(run, draw, options):
    for host in network.HOSTS:
        shape = 'tc qdisc add dev line root tbf rate 100mbit burst 256k latency 50ms'
        network.on(host, shape)
    try:
        yield 'all'
    finally:
        for host in network.HOSTS:
            network.on(host, 'tc qdisc delete dev line root')


@contextlib.contextmanager
def clock(run, draw, options):
    """Moves the clock of all processes by an hour or ten years, and back."""
    wall_clock.move(run.clock, draw.choice([-1, 1]) * draw.choice([3600, 10 * 365 * 86400]))
    try:
        yield 'all'
    finally:
        wall_clock.move(run.clock, 0)


@contextlib.contextmanager
def silent(run, draw, options):
    with flood.Flood(run, draw, 1000, flood.silence):
        yield 'all'


@contextlib.contextmanager
def garbage(run, draw, options):
    with flood.Flood(run, draw, 20, flood.garbage, seconds=0.5):
        yield 'all'


# The shortest and longest duration of each loss, in seconds.
LOSSES = {kill: (0, 0), stop: (0.5, 8), halfopen: (0.5, 8), disk: (0.5, 8)}
WEATHER = (silent, garbage, loss, bandwidth, clock)
NETWORK = (silent, garbage, halfopen, loss, bandwidth)
FAULTS = {fault.__name__: fault for fault in (*LOSSES, *WEATHER)}
NFT = "nft 'add table inet chaos; add chain inet chaos in; add rule inet chaos in {} drop'"
TRIALS = {halfopen: NFT.format('iifname lo'), loss: NFT.format('numgen random mod 100 < 5'),
          bandwidth: 'tc qdisc add dev lo root tbf rate 1mbit burst 9k latency 1s'}


def lacking(name):
    """Why this machine cannot cause the fault; None if it can."""
    fault = FAULTS[name]
    if fault is clock:
        with tempfile.TemporaryDirectory() as folder:
            return wall_clock.lacking(pathlib.Path(folder, 'clock'))
    if fault is disk or fault in NETWORK:
        if os.geteuid() != 0:
            return 'needs root'
        trial = 'ip link set lo up && ' + TRIALS.get(fault, 'true')
        tried = subprocess.run(['unshare', '--net', '--mount', 'sh', '-c', trial], check=False,
                               capture_output=True, text=True)
        if tried.returncode != 0:
            return f'{tried.stderr.strip()} (Debian packages iproute2 and nftables)'
    return None
