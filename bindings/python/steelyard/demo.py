"""`python -m steelyard.demo`: the same as the command `steelyard demo`."""

from __future__ import annotations

import os
import sys

from steelyard._library import program


def main() -> None:
    os.execvp(program(), ['steelyard', 'demo', *sys.argv[1:]])


if __name__ == '__main__':
    main()
