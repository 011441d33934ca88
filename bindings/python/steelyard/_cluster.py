"""Finds the cluster of this process: the one that the environment names, or a private one.

  STEELYARD           the scheduler's endpoint: "host:7070", "tcp://host:7070", "ipc:///path". If
                      not set, a child process with a scheduler and servers is started for this
                      process alone
  STEELYARD_NAME      the name of this worker
  STEELYARD_DEVICE    its device: "cpu", "cuda:0", ...
  STEELYARD_LOCAL_WORKER  "I/N": it is the I-th of N workers of this machine that choose their device
  STEELYARD_SIMULATE_SLOWDOWN
                      slows its computing down, to try unequal machines
  STEELYARD_EXCHANGE  "auto" or "sockets"
  STEELYARD_KEYS      a directory of keys (`steelyard keys`), or a key file; needed if the scheduler
                      has keys
  STEELYARD_TRACE     a directory for its trace
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Any, Optional, Sequence

from steelyard._child_output import ChildOutput
from steelyard._errors import CONFIGURATION, UNREACHABLE, Failure, refuse
from steelyard._library import program

# Runs a program that gets SIGTERM when this process exits. A separate interpreter sets this up, since
# running Python code between fork and exec is not safe with threads.
BOUND_TO_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


class GivenCluster:
    """A cluster that this process did not start."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.worker_name = os.environ.get('STEELYARD_NAME', '')
        self._run_directory: Optional[str] = None

    @property
    def run_directory(self) -> Optional[str]:
        """The directory of the results; None if it is not known here. `steelyard run` writes it to a
        file beside its sockets."""
        if self._run_directory is None and self.endpoint.startswith('ipc://'):
            try:
                with open(_sockets(self.endpoint) + '/run_dir') as file:
                    self._run_directory = file.read() or None
            except OSError:
                pass
        return self._run_directory

    def check(self) -> None:
        """Raises Failure if the cluster is known to have exited."""

    def finish(self) -> None:
        """Called at the end of a job that has succeeded. Waits until the results are written; raises
        Failure if that failed."""
        _over.add(self.endpoint)

    def close(self) -> None:
        """Stops the processes that this process started."""


class OwnCluster(GivenCluster):
    """Scheduler and servers in a child process, for this worker alone. The child exits with this
    process."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._output = ChildOutput()
        self._summary = _Summary(self._output, '--quiet' in arguments)
        self._directory = tempfile.mkdtemp(prefix='steelyard-')
        super().__init__(f'ipc://{self._directory}/scheduler')
        self.worker_name = 'worker-0'
        self._owner = os.getpid()
        command = [program(), 'run', '-n', '1', '--sockets', self._directory, *arguments]
        try:
            # In a separate session, so that Ctrl-C reaches only this process, which then leaves the
            # job properly.
            self._child = subprocess.Popen(
                [sys.executable, '-I', '-S', '-c', BOUND_TO_PARENT, str(self._owner), *command],
                stdin=subprocess.DEVNULL,
                stdout=self._summary.for_child,
                stderr=self._output.for_child,
                start_new_session=True,
            )
        except OSError as why:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise Failure(f'{command[0]} cannot be started: {why}', CONFIGURATION) from why
        finally:
            self._output.begin()

    def check(self) -> None:
        code = self._child.poll()
        if code is not None:
            self._remove()
            raise self._ended(code, 'the cluster of this process exited before the end of the job')

    def finish(self) -> None:
        while True:
            try:
                code = self._child.wait(timeout=0.2)  # in short waits, so that Ctrl-C works
            except subprocess.TimeoutExpired:
                continue
            break
        self._remove()
        if code != 0:
            raise self._ended(code, 'the cluster of this process failed')
        self._output.join()
        self._summary.show()

    def close(self) -> None:
        if os.getpid() != self._owner:
            return  # in a fork: the cluster belongs to the parent
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            try:
                self._child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
        self._output.join()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


    def _ended(self, code: int, what: str) -> Failure:
        how = f'with code {code}' if code >= 0 else f'by signal {-code}'
        errors = self._output.errors()
        return Failure(
            f'{what}: it exited {how}' + (f': {errors}' if errors else ''),
            code if code > 0 else UNREACHABLE,
        )


class _Summary:
    """The summary that a private cluster writes to standard output: shown whole; in a notebook, some
    of its lines; nothing if `quiet`."""

    def __init__(self, output: ChildOutput, quiet: bool) -> None:
        self._file: Any = None
        self.for_child: Any = None  # inherited
        if quiet:
            self.for_child = subprocess.DEVNULL
        elif in_notebook():
            self.for_child = self._file = tempfile.TemporaryFile()
        elif output.terminal and os.isatty(1):
            self.for_child = output.for_child  # one terminal, so that lines stay in order

    def show(self) -> None:
        if self._file is None:
            return
        with self._file as file:
            file.seek(0)
            lines = file.read().decode(errors='replace').splitlines()
        rows = ('  test ', '  time ', '  run directory ')
        for line in lines[:1] + [it for it in lines[1:] if it.startswith(rows)]:
            print(line)


def in_notebook() -> bool:
    """Whether standard output goes to a notebook."""
    return type(sys.stdout).__module__.startswith('ipykernel')


_over: set[str] = set()  # endpoints of jobs that have ended in this process


def _sockets(endpoint: str) -> str:
    return os.path.dirname(endpoint[len('ipc://') :])


def _next_of(endpoint: str) -> str:
    """The endpoint of the job after those that have ended in this process. `steelyard run` starts its
    scheduler when the first script requests it (app/launch/further_jobs.h)."""
    if endpoint not in _over:
        return endpoint
    sockets = _sockets(endpoint) if endpoint.startswith('ipc://') else ''
    if not os.path.isdir(sockets + '/next'):
        raise refuse(
            f'the job at {endpoint} is over, and each process joins one job there: train the second one '
            'with another script, use `steelyard run`, or run this script alone'
        )
    number = 2
    while (its := f'ipc://{sockets}/{number}/scheduler') in _over:
        number += 1
    with open(f'{sockets}/next/{number}', 'w'):
        pass
    return its


def find(arguments: Sequence[str] = ()) -> GivenCluster:
    """The cluster that the environment names; otherwise starts a private one with these arguments."""
    endpoint = os.environ.get('STEELYARD', '')
    if not endpoint:
        return OwnCluster(arguments)
    for beginning in ('tcp://',):
        if endpoint.startswith(beginning):
            endpoint = endpoint[len(beginning) :]
    return GivenCluster(_next_of(endpoint))


def endpoint_is_given() -> bool:
    """Whether the environment names a cluster. A private one needs no keys."""
    return bool(os.environ.get('STEELYARD', ''))


def device_name() -> Optional[str]:
    """The device of STEELYARD_DEVICE: "cpu", "cuda:0", ...; None if it is unset or "auto"."""
    name = os.environ.get('STEELYARD_DEVICE', '')
    if name in ('', 'auto'):
        return None
    return name


def workers_here() -> int:
    """How many workers of this machine choose their device; 0 if no launcher has started this one, or if its
    device is given."""
    workers = os.environ.get('STEELYARD_LOCAL_WORKER', '').partition('/')[2]
    return int(workers) if workers.isdigit() else 0


def own_device(devices: int) -> int:
    """The number of the GPU for this worker among those of this machine that its process may use, if the device
    is not given: one for each worker, in their order. Further workers share them."""
    place, _, workers = os.environ.get('STEELYARD_LOCAL_WORKER', '').partition('/')
    number = int(place) if place.isdigit() else 0
    if number >= devices and not _told_of_sharing:
        _told_of_sharing.append(True)
        me, its = os.environ.get('STEELYARD_NAME', 'this worker'), number % devices
        count = f'{devices} GPU' + ('s' if devices > 1 else '')
        print(
            f'steelyard: {me} shares GPU {its} with another worker, since {workers} workers run here and may use '
            f'{count}: they compute in turns, and each needs its own memory there: start {devices} with '
            f'`steelyard run -n {devices}`, or give some of them the processor with '
            f'`--set worker.{me}.device=cpu`; CUDA_VISIBLE_DEVICES limits the GPUs',
            file=sys.stderr,
        )
    return number % devices


_told_of_sharing: list[bool] = []  # not empty: this process has


def description(cluster: GivenCluster, device: str) -> dict[str, Any]:
    """The keys of a worker's description for scheduler, device, keys and name. The library takes the
    rest from the environment."""
    about: dict[str, Any] = {
        'scheduler': cluster.endpoint,
        'kind': 'cpu' if device == 'cpu' else 'gpu',
    }
    if not endpoint_is_given():
        about['keys'] = ''
    if cluster.worker_name:
        about['name'] = cluster.worker_name
    return about


def script_name() -> str:
    """The default name of a job: the script's file name, restricted to valid characters."""
    stem = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ''))[0]
    return re.sub('[^A-Za-z0-9_.-]+', '-', stem).strip('-.')[:60] or 'job'
