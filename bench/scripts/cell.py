"""One cell of the table: a script under one condition, by real processes, and its difference from the plain form.

    alone    one process, with its private cluster
    two      two workers
    slowed   the second one needs four times as long for a sample
    killed   the second one is killed (kill -9) in the middle of the training, at any place in a round, and started again
"""
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
from registry import LEAST_ROUNDS, Run

PROCESSES = multiprocessing.get_context('forkserver')  # from one that has imported PyTorch, which saves seconds for each
DEADLINE = 150  # seconds
A_SAMPLE = 0.001  # seconds for each sample
ROUNDS_BEFORE_KILL, ROUNDS_AFTER_KILL = 8, 6


class CellError(Exception):
    """The cell has no result."""


class Cell:
    def __init__(self, script, condition, folder, program):
        self.script, self.condition, self.folder, self.program = script, condition, pathlib.Path(folder), program
        self.workers, self.launcher = {}, None
        self.end = time.monotonic() + DEADLINE
        self.slow = [A_SAMPLE, A_SAMPLE * (4 if condition == 'slowed' else 1)]

    def run(self, plain_of):
        """`plain_of(rounds)`: parameters of the plain form. Returns what is known of the cell."""
        try:
            about = self.alone() if self.condition == 'alone' else self.two()
        except CellError as why:
            raise CellError(f'{why}\n{self.logs()}') from None
        finally:
            self.stop()
        about['rounds'] = len(self.rounds())
        if about['rounds'] < LEAST_ROUNDS * self.script.backwards:
            raise CellError(f'only {about["rounds"]} rounds\n{self.logs()}')
        plain = plain_of(about['rounds'] if self.script.stops else 0)
        files = sorted(self.folder.glob('*.pt'))
        differences = [difference(torch.load(it), plain) for it in files]
        about['difference'], about['parameter'] = max(differences)
        return about

    # ---- conditions

    def alone(self):
        self.start('worker-0', {}, 0.0)
        self.expect_exits()
        return {}

    def two(self):
        self.start_cluster()
        about = self.kill() if self.condition == 'killed' else {}
        self.expect_exits()
        if self.launcher.wait(self.left()) != 0:
            raise CellError(f'steelyard run exited with {self.launcher.returncode}')
        names = [it.name for it in self.folder.glob('worker-*.pt')]
        if len(names) != 2:
            raise CellError(f'results of {names or "no worker"}')
        shares = [0, 0]
        for round in self.rounds():
            for name, share in zip(round['workers'], round['shares']):
                shares[int(name[-1])] += share
        if 0 in shares:
            raise CellError(f'a worker had no share: {shares}')
        return {**about, 'shares': shares}

    def start_cluster(self):
        sockets = self.folder / 'sockets'
        sockets.mkdir()
        command = [self.program, 'run', '-n', '2', '--quiet', '--sockets', sockets, '--run-dir', self.folder / 'run',
                   '--set', 'cluster.heartbeat=0.1']
        if self.whole:
            command += [process.__file__, self.script.name, self.folder, ','.join(map(str, self.slow))]
        with open(self.folder / 'launcher.log', 'wb') as log:
            self.launcher = subprocess.Popen([str(it) for it in command], stdout=log, stderr=subprocess.STDOUT,
                                             stdin=subprocess.DEVNULL, start_new_session=True, cwd=self.folder)
        for number in () if self.whole else (0, 1):
            self.start_worker(number)

    @property
    def whole(self):
        """Whether `steelyard run` starts the processes, as scripts with several jobs need it."""
        return self.script.jobs > 1

    def start_worker(self, number):
        endpoint = f'ipc://{self.folder}/sockets/scheduler'
        self.start(f'worker-{number}', {'STEELYARD': endpoint, 'STEELYARD_NAME': f'worker-{number}'}, self.slow[number])

    def kill(self):
        """Kills the second worker after some rounds, and starts it again unless `steelyard run` does that."""
        self.wait_for(lambda: len(self.rounds()) >= ROUNDS_BEFORE_KILL * self.script.backwards, 'rounds to kill in')
        pid = int((self.folder / 'worker-1.pid').read_text())
        (self.folder / 'lost').write_text('worker-1')  # the other one waits for the process in its place
        shares = self.folder / 'worker-1.shares'
        killed_in, before = len(self.rounds()), shares.stat().st_size
        (self.folder / 'worker-1.pid').unlink()
        os.kill(pid, signal.SIGKILL)
        shares.unlink()
        if not self.whole:
            self.workers['worker-1'].join(self.left())
            if self.workers['worker-1'].exitcode != -signal.SIGKILL:
                raise CellError('the worker was not killed: it had ended')
            self.start_worker(1)
        self.wait_for(lambda: shares.exists() or self.over(), 'share of the worker that was started again')
        if not shares.exists():
            raise CellError('the training ended before the killed worker was back')
        after = len(self.rounds())
        return {'killed_after_round': killed_in, 'batches_before': before, 'back_by_round': after}

    # ---- processes

    def start(self, name, environment, seconds, plain=False, rounds=0):
        arguments = self.script.name, Run(plain, rounds), str(self.folder), environment, seconds
        self.workers[name] = PROCESSES.Process(target=process.work, args=arguments)
        self.workers[name].start()

    def expect_exits(self):
        for name, worker in self.workers.items():
            worker.join(self.left())
            if worker.exitcode != 0:
                raise CellError(f'{name} ' + ('is still running' if worker.exitcode is None
                                              else f'exited with {worker.exitcode}'))

    def over(self):
        return self.launcher.poll() is not None

    def stop(self):
        for worker in self.workers.values():
            if worker.is_alive():
                worker.kill()
            worker.join()
        if self.launcher is not None and self.launcher.poll() is None:
            os.killpg(self.launcher.pid, signal.SIGKILL)
            self.launcher.wait()

    def wait_for(self, condition, what):
        while not condition():
            if self.left() <= 1:
                raise CellError(f'no {what} within {DEADLINE} seconds')
            if any(it.exitcode not in (None, 0) for it in self.workers.values()):
                raise CellError(f'a worker exited before {what}')
            time.sleep(0.002)

    def left(self):
        return max(1.0, self.end - time.monotonic())

    # ---- results

    def rounds(self):
        """The rounds of training so far, of the first job."""
        files = sorted([*self.folder.glob('run/rounds.jsonl'), *self.folder.glob('runs/*/rounds.jsonl')])
        lines = files[0].read_text().split('\n')[:-1] if files else []
        return [it for it in map(json.loads, lines) if it['purpose'] == 'train']

    def logs(self):
        files = [*self.folder.glob('*.log'), *self.folder.glob('run*/log/*.log')]
        return '\n'.join(f'--- {it.name}\n{it.read_text(errors="replace")[-3000:]}' for it in files)


def plain(script, folder, rounds):
    """The parameters after the plain form."""
    cell = Cell(script, 'plain', folder, '')
    try:
        cell.start('worker-0', {}, 0.0, plain=True, rounds=rounds)
        cell.expect_exits()
    except CellError as why:
        raise CellError(f'the plain form: {why}\n{cell.logs()}') from None
    finally:
        cell.stop()
    return torch.load(cell.folder / 'worker-0.pt')


def difference(found, expected):
    """The largest ||w - plain|| / ||plain|| over the parameters, and its name. Sums are in float64."""
    if set(found) != set(expected):
        raise CellError(f'other parameters: {sorted(set(found) ^ set(expected))}')
    worst = 0.0, ''
    for name, tensor in found.items():
        off = float((tensor.double() - expected[name].double()).norm())
        size = float(expected[name].double().norm())
        ratio = off / size if size else (0.0 if off == 0 else math.inf)
        worst = max(worst, (ratio if math.isfinite(off) else math.inf, name))
    return worst
