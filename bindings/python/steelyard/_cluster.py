"""Where the job of this process is: the cluster that the environment names, or a whole one of its
own.

  STEELYARD           the scheduler's endpoint: "host:7070", "tcp://host:7070", "ipc:///path". Not
                      set: a child process is started, with a scheduler and servers that train for
                      this process alone
  STEELYARD_NAME      what people call this worker
  STEELYARD_DEVICE    what it computes on: "cpu", "cuda:0", ...
  STEELYARD_SIMULATE_SLOWDOWN
                      slows its computing down, to try unequal machines
  STEELYARD_EXCHANGE  "auto" or "sockets"
  STEELYARD_KEYS      a directory of keys (`steelyard keys`), or a file of them: where the scheduler of
                      STEELYARD has keys
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

from steelyard._errors import CONFIGURATION, UNREACHABLE, Failure
from steelyard._library import program

# Runs a program that is told to end when the process that started it is gone. It is a process of
# its own, since code between fork and exec is not safe where there are threads.
_BOUND_TO_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


class GivenCluster:
    """A cluster that others started."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.worker_name = os.environ.get('STEELYARD_NAME', '')

    def check(self) -> None:
        """Raises if the cluster is known to be gone."""

    def finish(self) -> None:
        """Waits until results are written, and raises if that failed."""

    def close(self) -> None:
        """Ends what this process started."""


class OwnCluster(GivenCluster):
    """Scheduler and servers in a child process, for this worker alone. The child ends when this
    process does."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._directory = tempfile.mkdtemp(prefix='steelyard-')
        super().__init__(f'ipc://{self._directory}/scheduler')
        self.worker_name = 'worker-0'
        self._owner = os.getpid()
        command = [program(), 'run', '-n', '1', '--sockets', self._directory, *arguments]
        try:
            # In a session of its own: Ctrl-C reaches this process only, which leaves the job in
            # order.
            self._child = subprocess.Popen(
                [sys.executable, '-I', '-S', '-c', _BOUND_TO_PARENT, str(self._owner), *command],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as why:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise Failure(f'{command[0]} cannot be started: {why}', CONFIGURATION) from why

    def check(self) -> None:
        code = self._child.poll()
        if code is not None:
            self._remove()
            raise _ended(code, 'the cluster of this process ended before the job did')

    def finish(self) -> None:
        while True:
            try:
                code = self._child.wait(timeout=0.2)  # in short waits, so that Ctrl-C works
            except subprocess.TimeoutExpired:
                continue
            break
        self._remove()
        if code != 0:
            raise _ended(code, 'the cluster of this process failed')

    def close(self) -> None:
        if os.getpid() != self._owner:
            return  # a fork has no part in it
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            try:
                self._child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def _ended(code: int, what: str) -> Failure:
    how = f'with code {code}' if code >= 0 else f'by signal {-code}'
    return Failure(f'{what}: it ended {how}, and said above why', code if code > 0 else UNREACHABLE)


def find(arguments: Sequence[str] = ()) -> GivenCluster:
    """The cluster that the environment names, or one of this process's own, started with these
    arguments."""
    endpoint = os.environ.get('STEELYARD', '')
    if not endpoint:
        return OwnCluster(arguments)
    for beginning in ('tcp://',):
        if endpoint.startswith(beginning):
            endpoint = endpoint[len(beginning) :]
    return GivenCluster(endpoint)


def endpoint_is_given() -> bool:
    """Whether the environment names a cluster; one of this process's own needs no keys."""
    return bool(os.environ.get('STEELYARD', ''))


def device_name() -> Optional[str]:
    """The device that the environment names: "cpu", "cuda:0", ... None: it names none."""
    name = os.environ.get('STEELYARD_DEVICE', '')
    if name in ('', 'auto'):
        return None
    return name


def description(cluster: GivenCluster, device: str) -> dict[str, Any]:
    """The part of a worker's description that says where it is and what it runs on. The library takes
    the rest from the environment."""
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
    """What a job is called after: the script, as far as its name can be one."""
    stem = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ''))[0]
    return re.sub('[^A-Za-z0-9_.-]+', '-', stem).strip('-.')[:60] or 'job'
