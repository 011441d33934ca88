"""What a child process writes to standard error: shown as it arrives, and its errors kept for the
exception."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import sys
import termios
import threading
from typing import Optional

_MOST_LINES = 6  # of errors that are kept
_MOST_BYTES = 1 << 16  # of a line that has not ended
_BEGIN = 'steelyard: '
_CONTROLS = re.compile(r'\x1b\[[0-9;]*[A-Za-z]')


class ChildOutput:
    """The reading end of a child's standard error. If this process has a terminal, the child gets one
    too, so that it shows its progress as a bar."""

    def __init__(self) -> None:
        self.terminal = os.isatty(2)
        if self.terminal:
            self._end, self.for_child = os.openpty()
            width = os.get_terminal_size(2)
            fcntl.ioctl(
                self.for_child, termios.TIOCSWINSZ, struct.pack('HHHH', width.lines, width.columns, 0, 0)
            )
        else:
            self._end, self.for_child = os.pipe()
        self._errors: list[str] = []
        self._thread: Optional[threading.Thread] = None

    def begin(self) -> None:
        """Called once the child has `for_child`."""
        os.close(self.for_child)
        self._thread = threading.Thread(target=self._read, name='steelyard output', daemon=True)
        self._thread.start()

    def errors(self) -> str:
        """The last errors of the child, which has exited."""
        self.join()
        return '\n'.join(self._errors)

    def join(self) -> None:
        """Waits until all output of a child that has exited is shown."""
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _read(self) -> None:
        line = b''
        while True:
            try:
                data = os.read(self._end, 1 << 14)
            except OSError:  # a terminal whose other end is closed
                data = b''
            if not data:
                break
            _show(data)
            *whole, line = (line + data).split(b'\n')
            for it in whole:
                self._keep(it)
            line = line[-_MOST_BYTES:]
        self._keep(line)
        os.close(self._end)

    def _keep(self, raw: bytes) -> None:
        line = _CONTROLS.sub('', raw.decode(errors='replace').rstrip()).rpartition('\r')[2]
        if line.startswith(_BEGIN):
            self._errors.append(line[len(_BEGIN) :])
            del self._errors[:-_MOST_LINES]


def _show(data: bytes) -> None:
    try:
        if sys.stderr is sys.__stderr__:
            os.write(2, data)
        else:  # redirected, as in a notebook
            sys.stderr.write(data.decode(errors='replace'))
            sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # closed
        pass
