"""Common parts of tests on real clusters: processes in a temporary folder, and conditions to wait for.

Needs STEELYARD_PROGRAM and STEELYARD_LIBRARY, the program and libsteelyard.so of a build, and torch.
"""
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import torch  # script/setup installs it

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM, LIBRARY = (os.environ.get(it, '') for it in ('STEELYARD_PROGRAM', 'STEELYARD_LIBRARY'))
for variable, there in (('STEELYARD_PROGRAM', PROGRAM), ('STEELYARD_LIBRARY', LIBRARY)):
    if not os.path.exists(there):
        raise FileNotFoundError(f'{variable} is not a file of a build')

sys.path.insert(0, str(HERE.parents[2] / 'bindings/python'))

import cluster_jobs  # noqa: E402

torch.set_num_threads(1)
PROCESSES = multiprocessing.get_context('forkserver')
PROCESSES.set_forkserver_preload(['cluster_jobs', 'steelyard.torch'])
DEADLINE = 180  # seconds; on a busy machine a script needs a minute to import torch


class ClusterCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='steelyard-test-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_directory = self.folder / 'run'
        self._started = []
        self.addCleanup(self._end_all)

    def _end_all(self):
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait()

    def wait_for(self, condition, what):
        """Waits until condition() gives a true value, and returns that."""
        end = time.monotonic() + DEADLINE
        while not (given := condition()):
            if time.monotonic() > end:
                self.fail(f'no {what} within {DEADLINE} seconds\n{self.logs()}')
            time.sleep(0.01)
        return given

    def logs(self):
        files = [*self.folder.glob('*.log'), *self.folder.glob('run/log/*.log')]
        return '\n'.join(f'--- {it.name}\n{it.read_text(errors="replace")}' for it in files)

    # ---- processes

    def environment(self, **more):
        its = {**os.environ, 'PYTHONPATH': str(HERE.parents[2] / 'bindings/python'), 'PYTHONDONTWRITEBYTECODE': '1',
               'OMP_NUM_THREADS': '1', 'STEELYARD_PYTHON': sys.executable}
        for name in ('STEELYARD', 'STEELYARD_NAME', 'STEELYARD_SIMULATE_SLOWDOWN', 'STEELYARD_DEVICE', 'STEELYARD_EXCHANGE'):
            its.pop(name, None)
        return {**its, **more}

    def start(self, *command, **environment):
        """Starts a process in the folder. Its output goes to a log file there; .out is the path."""
        path = self.folder / f'process-{len(self._started)}.log'
        with open(path, 'wb') as out:
            process = subprocess.Popen([str(it) for it in command], cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=subprocess.STDOUT, env=self.environment(**environment),
                                       start_new_session=True)
        process.out = path
        self._started.append(process)
        return process

    def ended(self, process):
        """Waits for the process to exit. Returns its exit code and its output."""
        try:
            code = process.wait(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            self.fail(f'{process.args} is still running\n{self.logs()}')
        return code, process.out.read_text(errors='replace')

    def expect_end(self, process, code=0):
        found, text = self.ended(process)
        self.assertEqual(found, code, self.logs())
        return text

    # ---- a cluster with forked workers

    def cluster(self, workers, *sets):
        """Starts scheduler and servers. Their workers are started by start_worker()."""
        sockets = self.folder / 'sockets'
        sockets.mkdir()
        self.endpoint = f'ipc://{sockets}/scheduler'
        settings = [word for it in sets for word in ('--set', it)]
        self.launcher = self.start(PROGRAM, 'run', '-n', workers, '--sockets', sockets, '--run-dir',
                                   self.run_directory, *settings)
        return self.launcher

    def start_worker(self, target, name, *arguments, slow='1', **keywords):
        """Runs target(..., environment, folder) in a process of its own."""
        environment = {'STEELYARD': self.endpoint, 'STEELYARD_NAME': name, 'STEELYARD_SIMULATE_SLOWDOWN': slow,
                       'STEELYARD_LIBRARY': LIBRARY, 'STEELYARD_PROGRAM': PROGRAM}
        process = PROCESSES.Process(target=target, args=(*arguments, environment, str(self.folder)), kwargs=keywords)
        process.start()
        self.addCleanup(_end, process)
        return process

    def expect_exit(self, worker, code=0):
        worker.join(DEADLINE)
        self.assertEqual(worker.exitcode, code, self.logs())

    # ---- results

    def rounds(self, purpose='train'):
        try:
            lines = (self.run_directory / 'rounds.jsonl').read_text().split('\n')[:-1]
        except FileNotFoundError:
            return []
        return [it for it in map(json.loads, lines) if it['purpose'] == purpose]

    def result(self):
        return json.loads((self.run_directory / 'result.json').read_text())

    def kept(self, name):
        return torch.load(self.folder / f'{name}.pt')

    def assert_same(self, found, expected, within):
        self.assertEqual(set(found), set(expected))
        for name, tensor in found.items():
            if tensor.is_floating_point():
                off = (tensor - expected[name]).abs().max().item()
                self.assertLessEqual(off, within, name)


def _end(process):
    if process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
    process.join()
