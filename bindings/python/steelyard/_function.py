"""Runs a function as the worker of a job: `python -m steelyard._function`, with the function on standard input
(steelyard/_passage.py passes it)."""

from __future__ import annotations

import base64
import pickle
import sys
from typing import Callable


def packed(function: Callable[[], object], dumps: Callable[[object], bytes]) -> str:
    """A function as text. `dumps` pickles functions of scripts and notebooks too."""
    name = getattr(function, '__name__', 'function')
    return base64.b64encode(pickle.dumps((name, sys.path, dumps(function)))).decode()


def main() -> None:
    name, path, function = pickle.loads(base64.b64decode(sys.stdin.buffer.read()))
    sys.argv[0] = name  # in messages, and the default name of a job
    sys.path += [it for it in path if it not in sys.path]  # the function's module may be beside a script
    pickle.loads(function)()


if __name__ == '__main__':
    main()
