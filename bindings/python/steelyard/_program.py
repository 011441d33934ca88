"""The command `steelyard`: runs the program of this package, which starts scripts with the Python of this package."""
from __future__ import annotations

import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).resolve().parent / 'bin' / 'steelyard'
    os.environ.setdefault('STEELYARD_PYTHON', sys.executable)
    try:
        os.execv(program, ['steelyard', *sys.argv[1:]])
    except OSError as why:
        sys.exit(f'steelyard: {program} cannot be run ({why.strerror}): install the package anew with pip')
