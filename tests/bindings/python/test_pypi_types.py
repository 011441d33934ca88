"""The types of join(): what type checkers find in a script with typos."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class TypeCheckers(unittest.TestCase):
    """They find the typos of typos.py, and nothing else in it."""

    def found(self, *command):
        done = subprocess.run([f'{os.path.dirname(sys.executable)}/{command[0]}', *command[1:], str(HERE / 'typos.py')],
                              capture_output=True, text=True, env={**os.environ, 'MYPYPATH': os.environ['PYTHONPATH']})
        lines = {int(it) for it in re.findall(r'typos\.py:(\d+):.*error', done.stdout)}
        typos = {at for at, it in enumerate((HERE / 'typos.py').read_text().splitlines(), 1) if it.endswith('# typo')}
        self.assertEqual(len(typos), 10)
        self.assertEqual(lines - typos, set(), done.stdout)
        self.assertGreaterEqual(len(lines), 8, done.stdout + done.stderr)

    def test_mypy(self):
        self.found('mypy', '--cache-dir', os.devnull, '--no-site-packages', '--ignore-missing-imports')

    def test_basedpyright(self):
        self.found('basedpyright', '--level', 'error', '--pythonpath', sys.executable)


if __name__ == '__main__':
    unittest.main()
