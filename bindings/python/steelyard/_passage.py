"""The line between `steelyard launch` in a child of this process and `steelyard attend` in an actor of Ray or
Dask.

`launch` reaches a host by a command; here that is steelyard/_relay.py, which connects to a socket of this process.
A Passage passes the lines of one host on. It also hides the loss of an actor from `launch`, which counts a host
whose connection ends as lost for good: the passage reports that the host's processes were killed, and gives their
next start to a new actor. Each line is a message in JSON (app/launch/pipes.h); keys and jobs pass unread.
"""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from typing import Any, Optional

from steelyard._errors import UNREACHABLE, Failure

_BETWEEN_STARTS = 0.2  # seconds between two actors


class Lost(Exception):
    """The actor is lost, or closed."""


class Place:
    """Where the processes of one host run: an actor that holds `attend`. The engine's adapter derives from it. One
    thread calls start() and receive(), others send() and stop()."""

    def __init__(self) -> None:
        self.closed = threading.Event()  # no more starts are wanted; start() must return or raise then

    def start(self) -> None:
        """Waits for an actor, a new one if the last is lost, and starts `attend` there. Raises Lost to be called
        again, any other exception if there will never be one."""
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        """Raises Lost."""
        raise NotImplementedError

    def receive(self) -> Optional[bytes]:
        """Bytes from `attend`; None if it has written nothing for a while, b'' at its end. Raises Lost."""
        raise NotImplementedError

    def stop(self) -> None:
        """Ends `attend` and its processes. Raises nothing."""
        raise NotImplementedError


class Passage:
    """The passage of one host."""

    def __init__(self, name: str, place: Place, function: Optional[str] = None) -> None:
        """`function`, as steelyard._function packs it, takes the place of the script."""
        self.name, self.place = name, place
        self.ready = threading.Event()  # `attend` has answered, or `failure` says why it never will
        self.failure: Optional[Failure] = None
        self._function = function
        self._lock = threading.RLock()  # for all below
        self._connection: Optional[socket.socket] = None  # to the relay
        self._greeting = b''  # the first line of `attend`
        self._up = False  # `attend` takes messages
        self._leaving = False
        self._running: set[str] = set()  # processes on the actor
        self._waiting: dict[str, bytes] = {}  # the starts for the next actor
        self._thread = threading.Thread(target=self._from_place, name=f'steelyard {name}', daemon=True)
        self._thread.start()

    def connect(self, connection: socket.socket) -> None:
        """Passes the lines of this relay on, until it ends."""
        with self._lock:
            self._connection = connection
            self._write(self._greeting)
            if self.failure is not None:
                connection.close()
        threading.Thread(target=self._from_launch, args=(connection,), daemon=True).start()

    def leave(self) -> bool:
        """The actor's node will go away: asks the processes there to leave the job. They are started again on the
        next actor. Returns false if they were asked already."""
        with self._lock:
            if self._leaving or not self._up:
                return False
            self._leaving = True
            for name in self._running:
                self._send({'to': name, 'signal': int(signal.SIGTERM)})
            if not self._running:
                self.place.stop()
            return True

    def close(self) -> None:
        """Ends the actor's `attend`, and the line."""
        self.place.closed.set()
        self.place.stop()
        self._thread.join()
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    # ---- from `launch` to the actor

    def _from_launch(self, connection: socket.socket) -> None:
        try:
            with connection.makefile('rb') as lines:
                for line in lines:
                    self._pass_on(json.loads(line), line)
        except (OSError, ValueError):  # closed
            pass
        self.place.closed.set()
        self.place.stop()

    def _pass_on(self, message: dict[str, Any], line: bytes) -> None:
        name = message.get('start')
        with self._lock:
            if name is not None and self._function is not None:
                message.update(arguments=['-u', '-m', 'steelyard._function'], input=self._function)
                line = _line(message)
            if self._up and not (name is not None and self._leaving):
                if name is not None:
                    self._running.add(name)
                self._send(line)
            elif name is not None:
                self._waiting[name] = line
            elif message.get('to') in self._waiting and message.get('signal') in (signal.SIGTERM, signal.SIGKILL):
                self._ended(message['to'], message['signal'])

    def _send(self, message: bytes | dict[str, Any]) -> None:
        try:
            self.place.send(message if isinstance(message, bytes) else _line(message))
        except Lost:
            pass  # the other thread notices, too

    # ---- from the actor to `launch`

    def _from_place(self) -> None:
        try:
            while not self.place.closed.is_set():
                try:
                    self.place.start()
                    self._read()
                except Lost:
                    pass
                self._lost()
                time.sleep(_BETWEEN_STARTS)
        except Exception as why:  # whatever the engine raises
            self._fail(why)
        finally:
            with self._lock:
                if self._connection is not None:
                    _shut(self._connection)

    def _read(self) -> None:
        rest = b''
        while (data := self.place.receive()) != b'':
            *lines, rest = (rest + (data or b'')).split(b'\n')
            for line in lines:
                self._take(line + b'\n')
        if not self.ready.is_set() and not self.place.closed.is_set():
            raise Failure('`steelyard attend` exited at once there: is it the program of this release?', UNREACHABLE)

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = {}
        if not isinstance(message, dict):
            message = {}
        with self._lock:
            if 'ready' in message:
                self._begin(line)
            elif message.get('ended') in self._running:
                status = message.get('status', 0)
                self._ended(message['ended'], signal.SIGTERM if self._leaving and status else status)
                if self._leaving and not self._running:
                    self.place.stop()
            else:
                self._write(line)

    def _begin(self, greeting: bytes) -> None:
        self._up, self._leaving = True, False
        if not self._greeting:  # `launch` expects one
            self._greeting = greeting
            self._write(greeting)
            self.ready.set()
        for name, line in self._waiting.items():
            self._running.add(name)
            self._send(line)
        self._waiting.clear()

    def _lost(self) -> None:
        with self._lock:
            self._up = False
            for name in sorted(self._running):
                self._ended(name, signal.SIGKILL)

    def _ended(self, name: str, status: int) -> None:
        """A process has ended; `status` as wait() gives it: the number of a signal."""
        self._running.discard(name)
        self._waiting.pop(name, None)
        self._write(_line({'ended': name, 'status': int(status)}))

    def _write(self, line: bytes) -> None:
        if self._connection is None:
            return
        try:
            self._connection.sendall(line)
        except OSError:  # `launch` has ended
            pass

    def _fail(self, why: Exception) -> None:
        code = why.code if isinstance(why, Failure) else UNREACHABLE
        self.failure = Failure(f'host {self.name!r}: {why}', code)
        self.place.closed.set()
        self.ready.set()


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b'\n'


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
