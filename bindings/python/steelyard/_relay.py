"""Connects `steelyard launch` with the Python process that started it, which passes the line on to an actor
(steelyard/_passage.py). `launch` runs one for each host, as `python -I -S _relay.py SOCKET HOST`.

It uses the standard library only, and not even this package: it must start quickly.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

_AT_ONCE = 1 << 16  # bytes
_UNREACHABLE = 69


def _send_all(line: socket.socket) -> None:
    while data := os.read(0, _AT_ONCE):
        line.sendall(data)
    line.shutdown(socket.SHUT_WR)


def main() -> int:
    path, host = sys.argv[1:3]  # `launch` appends the command that it would run on a host; the actor knows its own
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(path)
            line.sendall(host.encode() + b'\n')
        except OSError as why:
            print(f'{path}: {why.strerror}: the process that started this job has exited', file=sys.stderr)
            return _UNREACHABLE
        threading.Thread(target=_send_all, args=(line,), daemon=True).start()
        while data := line.recv(_AT_ONCE):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    return 0


if __name__ == '__main__':
    sys.exit(main())
