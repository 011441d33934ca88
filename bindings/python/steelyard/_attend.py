"""`steelyard attend` on a node of Ray or Dask, held by an actor of that engine.

`attend` starts the job's processes there, and kills them when the actor's process exits for any reason: its
standard input ends then. So no process outlives its actor.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Optional

from steelyard._cluster import BOUND_TO_PARENT
from steelyard._library import program

_AT_ONCE = 1 << 16  # bytes
_PATIENCE = 5.0  # seconds that receive() waits. Calls hold the actor; without any, Dask can delete it
_SILENCE = 60  # seconds; `launch` sends a heartbeat every five
_FAREWELL = 10.0  # seconds for `attend` to end; it kills its processes at once


class Attend:
    """The actor. All methods run on the engine's event loop."""

    def __init__(self) -> None:
        self._child: Optional[asyncio.subprocess.Process] = None

    async def start(self) -> None:
        """Starts `attend`; ends the one before."""
        await self.stop()
        # Programs named without a path are those of this Python's environment: `python3` is this Python.
        path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get('PATH', os.defpath)))
        command = [program(), 'attend', '--grace', '0', '--silence', str(_SILENCE)]
        self._child = await asyncio.create_subprocess_exec(
            *[sys.executable, '-I', '-S', '-c', BOUND_TO_PARENT, str(os.getpid()), *command],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, 'PATH': path},
        )

    async def send(self, data: bytes) -> None:
        """Passes bytes to `attend`. If it has exited they are lost; receive() reports that."""
        if self._child is None or self._child.stdin is None:
            return
        try:
            self._child.stdin.write(data)
            await self._child.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass

    async def receive(self) -> Optional[bytes]:
        """Bytes from `attend`; None if it wrote nothing for some seconds, b'' once it has exited."""
        if self._child is None or self._child.stdout is None:
            return b''
        try:
            return await asyncio.wait_for(self._child.stdout.read(_AT_ONCE), _PATIENCE)
        except asyncio.TimeoutError:
            return None

    async def stop(self) -> None:
        """Ends `attend` and its processes."""
        child, self._child = self._child, None
        if child is None:
            return
        if child.stdin is not None:
            child.stdin.close()
        try:
            await asyncio.wait_for(child.wait(), _FAREWELL)
        except asyncio.TimeoutError:
            child.kill()

    def __del__(self) -> None:
        child = getattr(self, '_child', None)
        if child is not None and child.returncode is None:
            try:
                os.kill(child.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
