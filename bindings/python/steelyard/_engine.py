"""A job whose workers run on places of an engine (Ray, Dask): `steelyard launch` in a child of this process, with
scheduler and servers on this machine and each worker on a place (steelyard/_passage.py).
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from steelyard._child_output import ChildOutput
from steelyard._cluster import BOUND_TO_PARENT, in_notebook
from steelyard._errors import UNREACHABLE, Failure, refuse
from steelyard._function import packed
from steelyard._history import read_history
from steelyard._job_text import toml_value
from steelyard._library import PACKAGE, program
from steelyard._passage import Passage, Place

Script = Union[str, 'os.PathLike[str]', Callable[[], object]]
_TICK = 0.5  # seconds
_RELAY = 'relay'  # the name of the socket
_LONGEST_FUNCTION = 4 << 20  # bytes; a message of `launch` has at most 8 MiB (app/launch/pipes.h)


@dataclasses.dataclass(frozen=True)
class Result:
    """How a job ended."""

    metrics: dict[str, Any]  # of result.json: accuracy, test_loss, rounds, samples_per_second, ...
    checkpoint: Optional[str]  # the directory of the last one
    path: str  # the run directory
    error: Optional[Failure]  # None if the job has finished

    @property
    def history(self) -> list[dict[str, Any]]:
        """A dictionary for each round and each evaluation."""
        return read_history(self.path, over=False)


@dataclasses.dataclass(frozen=True)
class Worker:
    """A worker of the job, alone on its host."""

    place: Place
    address: str  # of its node
    keys: Mapping[str, Any]  # of its [[host.worker]]


@dataclasses.dataclass(frozen=True)
class EngineJob:
    """The arguments of run() that both adapters have and describe."""

    script: Script
    arguments: Sequence[str]
    settings: Mapping[str, Any]
    servers: int
    run_dir: Union[None, str, 'os.PathLike[str]']
    resume: bool
    launch_options: Sequence[str]
    dumps: Callable[[object], bytes]  # of the engine: pickles functions of scripts and notebooks, too

    def target(self) -> str:
        """The job file or script, as `launch` takes it."""
        if callable(self.script):
            name = re.sub('[^A-Za-z0-9_]+', '_', getattr(self.script, '__name__', '')).strip('_')
            return (name or 'function') + '.py'
        return os.fspath(self.script)

    def function(self) -> Optional[str]:
        """The function, packed; None for a job file or script."""
        if not callable(self.script):
            return None
        if self.arguments:
            raise refuse('arguments= is for scripts: give a function its arguments by functools.partial')
        text = packed(self.script, self.dumps)
        if len(text) > _LONGEST_FUNCTION:
            raise refuse(
                f'the function takes {len(text)} bytes as a pickle, at most {_LONGEST_FUNCTION} are possible: '
                'load data and weights inside it'
            )
        return text

    def run_directory(self) -> str:
        """As `steelyard launch` chooses it: the next free runs/NAME-N."""
        if self.run_dir is not None:
            return os.path.abspath(self.run_dir)
        base = os.path.abspath(f'runs/{pathlib.Path(self.target()).stem}')
        return next(it for n in itertools.count(1) if not os.path.exists(it := f'{base}-{n}'))


def run_job(
    job: EngineJob,
    workers: Sequence[Worker],
    address: str,
    watch: Callable[[Sequence[Passage]], None] = lambda passages: None,
) -> Result:
    """Runs the job, with its scheduler at this address of this machine. `watch` is called now and then."""
    directory, function = job.run_directory(), job.function()
    folder = tempfile.mkdtemp(prefix='steelyard-')  # 0700: other users cannot connect to the socket in it
    passages: list[Passage] = []
    try:
        hosts = pathlib.Path(folder, 'hosts.toml')
        hosts.write_text(_hosts_text(workers, address, job.servers, f'{folder}/{_RELAY}'))
        passages += [Passage(f'node-{i}', it.place, function) for i, it in enumerate(workers)]
        for passage in passages:
            _wait_for(passage)
        with _Relays(folder, passages):
            code, errors = _launch(_command(job, str(hosts), directory), lambda: watch(passages))
    finally:
        threads = [threading.Thread(target=it.close) for it in passages]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shutil.rmtree(folder, ignore_errors=True)
    return _result(directory, code, errors, passages)


def _wait_for(passage: Passage) -> None:
    while not passage.ready.wait(_TICK):  # in short waits, so that Ctrl-C works
        pass
    if passage.failure is not None:
        raise passage.failure


def _hosts_text(workers: Sequence[Worker], address: str, servers: int, relay: str) -> str:
    with socket.socket() as free:
        free.bind((address, 0))
        port = free.getsockname()[1]
    # `launch` refuses 127.0.0.1 for a host that others must reach; here they may all be on this machine.
    where = {'address': 'localhost' if address == '127.0.0.1' else address, 'listen': address}
    text = _table('[[host]]', name='driver', **where, scheduler=True, port=port, servers=servers)
    reach = [sys.executable, '-I', '-S', str(PACKAGE / '_relay.py'), relay, '{name}']
    for i, worker in enumerate(workers):
        text += _table('[[host]]', name=f'node-{i}', through=reach, address=worker.address)
        text += _table('[[host.worker]]', **{'name': f'worker-{i}', **worker.keys})
    return text


def _table(header: str, **keys: Any) -> str:
    return '\n'.join([header, *(f'{key} = {toml_value(key, value)}' for key, value in keys.items())]) + '\n'


class _Relays:
    """The socket that relays connect to. The folder with the socket and the hosts file is removed once all have
    connected, so that a killed process leaves none."""

    def __init__(self, folder: str, passages: Sequence[Passage]) -> None:
        self._folder = folder
        self._awaited = {it.name: it for it in passages}
        self._socket = socket.socket(socket.AF_UNIX)
        path = f'{folder}/{_RELAY}'
        try:
            self._socket.bind(path)
        except OSError as why:
            raise refuse(f'{path} cannot be a socket ({why}): set TMPDIR to a local folder with a short path') from why
        self._socket.listen(len(passages))
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # the thread has closed it
            pass

    def _accept(self) -> None:
        with self._socket:
            while self._awaited:
                try:
                    connection, _ = self._socket.accept()
                except OSError:  # shut down
                    return
                name = b''
                while not name.endswith(b'\n') and (byte := connection.recv(1)):
                    name += byte
                passage = self._awaited.pop(name.decode().rstrip('\n'), None)
                if passage is None:
                    connection.close()
                else:
                    passage.connect(connection)
        shutil.rmtree(self._folder, ignore_errors=True)


def _command(job: EngineJob, hosts: str, directory: str) -> list[str]:
    settings = [
        f'{key}={value if isinstance(value, str) else toml_value(key, value)}' for key, value in job.settings.items()
    ]
    options = [word for it in settings for word in ('--set', it)] + ['--run-dir', directory, *job.launch_options]
    options += ['--resume'] if job.resume else []
    return [program(), 'launch', *options, hosts, job.target(), *job.arguments]


def _launch(command: Sequence[str], watch: Callable[[], None]) -> tuple[int, str]:
    """Runs `launch` until it ends. Returns its exit code and its last errors. On Ctrl-C the job is saved and ended,
    and KeyboardInterrupt raised."""
    output = ChildOutput()
    # The script's `python3` is the one of its node's environment (steelyard/_attend.py).
    environment = {**os.environ, 'STEELYARD_PYTHON': 'python3'}
    try:
        child = subprocess.Popen(
            [sys.executable, '-I', '-S', '-c', BOUND_TO_PARENT, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=output.for_child if in_notebook() else None,
            stderr=output.for_child,
            env=environment,
            start_new_session=True,  # so that Ctrl-C reaches only this process
        )
    finally:
        output.begin()
    interrupts = 0
    try:
        while True:
            try:
                code = child.wait(timeout=_TICK)
                break
            except subprocess.TimeoutExpired:
                watch()
            except KeyboardInterrupt:
                interrupts += 1
                child.send_signal(signal.SIGINT)
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
    if interrupts:
        raise KeyboardInterrupt
    return code, output.errors()


def _result(directory: str, code: int, errors: str, passages: Sequence[Passage]) -> Result:
    try:
        found = json.loads(pathlib.Path(directory, 'result.json').read_text())
    except (OSError, ValueError):  # the job has not begun
        found = {}
    error = None
    if code != 0:
        lost = [str(it.failure) for it in passages if it.failure is not None]
        text = '\n'.join([it for it in [found.get('text', ''), errors, *lost] if it])
        error = Failure(text or f'`steelyard launch` exited with code {code}', code if code > 0 else UNREACHABLE)
    checkpoint = found.get('checkpoint') or None
    metrics = {key: it for key, it in found.items() if key not in ('format', 'text', 'exit_code', 'checkpoint')}
    return Result(metrics, checkpoint, directory, error)
