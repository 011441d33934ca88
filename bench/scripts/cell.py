"""One cell of the table: a script under one condition, by real processes, and its difference from the plain form."""
import json
import math
import multiprocessing
import os
import pathlib
import signal
import subprocess
import time

import process
import torch
from registry import LEAST_ROUNDS

PROCESSES = multiprocessing.get_context('forkserver')  # from one that has imported PyTorch, which saves seconds for each
DEADLINE = 150  # seconds
PLAIN = {'plain': 1, 'halves': 2}
A_SAMPLE = 0.001  # seconds for reading a sample


class CellError(Exception):
    """The cell has no result."""


class Cell:
    """`condition`: 'plain', 'halves', or one of registry.CONDITIONS."""

    def __init__(self, script, condition, folder):
        self.script, self.condition, self.folder = script, condition, pathlib.Path(folder)
        self.workers, self.launcher = {}, None
        self.end = time.monotonic() + DEADLINE

    def run(self):
        """Returns the parameters at the end, of each worker."""
        self.folder.mkdir()
        try:
            if self.condition in (*PLAIN, 'alone'):
                self.start('worker-0', {}, 0.0)
                self.expect_exit('worker-0')
            else:
                self.two()
            return [torch.load(it) for it in sorted(self.folder.glob('*.pt'))]
        except CellError as why:
            raise CellError(f'{why}\n{self.logs()}') from None
        finally:
            self.stop()

    def two(self):
        self.start_cluster()
        slower = A_SAMPLE * (4 if self.condition == 'slowed' else 1)
        of = [{'STEELYARD': f'ipc://{self.folder}/sockets/scheduler', 'STEELYARD_NAME': f'worker-{it}'} for it in (0, 1)]
        self.start('worker-0', of[0], A_SAMPLE)
        self.start('worker-1', of[1], slower, role='killed' if self.condition == 'killed' else '')
        if self.condition == 'killed':
            self.expect_exit('worker-1', -signal.SIGKILL)
            self.start('worker-1', of[1], slower, role='back')
        for name in self.workers:
            self.expect_exit(name)
        if self.launcher.wait(self.left()) != 0:
            raise CellError(f'steelyard run exited with {self.launcher.returncode}')
        if (self.folder / 'lost').exists():
            raise CellError('the training ended before the killed worker was back')
        if 0 in self.shares():
            raise CellError('a worker had no share')

    # ---- processes

    def start(self, name, environment, seconds, role=''):
        arguments = self.script.name, PLAIN.get(self.condition, 0), str(self.folder), environment, seconds, role
        self.workers[name] = PROCESSES.Process(target=process.work, args=arguments)
        self.workers[name].start()

    def start_cluster(self):
        sockets = self.folder / 'sockets'
        sockets.mkdir()
        command = [os.environ['STEELYARD_PROGRAM'], 'run', '-n', '2', '--quiet', '--sockets', sockets, '--run-dir',
                   self.folder / 'run', '--set', 'cluster.heartbeat=0.1']
        with open(self.folder / 'launcher.log', 'wb') as log:
            self.launcher = subprocess.Popen([str(it) for it in command], stdout=log, stderr=subprocess.STDOUT,
                                             stdin=subprocess.DEVNULL, start_new_session=True, cwd=self.folder)

    def expect_exit(self, name, code=0):
        worker = self.workers[name]
        worker.join(self.left())
        if worker.exitcode != code:
            raise CellError(f'{name} exited with {worker.exitcode}, expected {code}; None: after {DEADLINE} seconds')

    def stop(self):
        for worker in self.workers.values():
            if worker.is_alive():
                worker.kill()
            worker.join()
        if self.launcher is not None and self.launcher.poll() is None:
            os.killpg(self.launcher.pid, signal.SIGKILL)
            self.launcher.wait()

    def left(self):
        return max(1.0, self.end - time.monotonic())

    # ---- results

    def rounds(self):
        """The records of the rounds of training."""
        lines = [line for file in [*self.folder.glob('run/rounds.jsonl'), *self.folder.glob('runs/*/rounds.jsonl')]
                 for line in file.read_text().splitlines()]
        return [it for it in map(json.loads, lines) if it['purpose'] == 'train']

    def shares(self):
        """The samples that each of two workers computed."""
        sums = [0, 0]
        for it in self.rounds():
            for name, share in zip(it['workers'], it['shares']):
                sums[int(name[-1])] += share
        return sums

    def logs(self):
        files = [*self.folder.glob('*.log'), *self.folder.glob('run*/log/*.log')]
        return '\n'.join(f'--- {it.name}\n{it.read_text(errors="replace")[-3000:]}' for it in files)


def compare(script, condition, folder, plain, rounding):
    """Runs a cell. `plain`: parameters of the plain form. `rounding`: their difference from those of the other plain
    form. Returns what is known of the cell."""
    cell = Cell(script, condition, folder)
    results = cell.run()
    if len(results) != (1 if condition == 'alone' else 2) or len(cell.rounds()) < LEAST_ROUNDS:
        raise CellError(f'results of {len(results)} workers, {len(cell.rounds())} rounds\n{cell.logs()}')
    worst, parameter = max(difference(it, plain) for it in results)
    about = {'difference': worst, 'parameter': parameter, 'rounds': len(cell.rounds()), 'rounding': rounding}
    if condition != 'alone':
        about |= {'between': difference(*results)[0], 'shares': cell.shares()}
    return about


def difference(found, expected):
    """The largest || found - expected || / || expected || of a parameter, and which."""
    assert found.keys() == expected.keys(), f'other parameters: {found.keys() ^ expected.keys()}'
    worst = 0.0, ''
    for name, tensor in found.items():
        off = float((tensor.double() - expected[name].double()).norm())
        size = float(expected[name].double().norm())
        ratio = off / size if size else (0.0 if off == 0 else math.inf)
        worst = max(worst, (ratio if math.isfinite(off) else math.inf, name))
    return worst
