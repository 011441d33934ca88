"""The command `steelyard`: the program of this package, which starts scripts with the Python that it was installed in."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bin', 'steelyard')
    os.environ.setdefault('STEELYARD_PYTHON', sys.executable)
    try:
        os.execv(program, ['steelyard', *sys.argv[1:]])
    except OSError as trouble:
        sys.exit(f'steelyard: {program} cannot be run ({trouble.strerror}): install the package anew, with pip install ./python')
