"""The command `steelyard`: runs the program in this package, with STEELYARD_PYTHON set to this Python."""
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
        sys.exit(f'steelyard: {program} cannot be run ({why.strerror}): reinstall the package with pip')
