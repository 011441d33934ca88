"""The notebooks of examples/notebooks: their cells run in order in a fresh process, and they are stored without outputs.

Needs STEELYARD_PROGRAM and STEELYARD_LIBRARY, the program and libsteelyard.so of a build.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
NOTEBOOKS = ROOT / 'examples/notebooks'

# Reads the notebook, runs its cells in one namespace, and prints the values that a test needs.
RUNNER = '''
import json, sys
namespace = {'__name__': '__main__'}
for cell in json.load(open(sys.argv[1]))['cells']:
    if cell['cell_type'] == 'code':
        exec(compile(''.join(cell['source']), sys.argv[1], 'exec'), namespace)
print('RESULT', json.dumps(eval(sys.argv[2], namespace)))
'''


class Notebooks(unittest.TestCase):
    def result(self, name, expression):
        """The value of an expression after all cells."""
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder, 'bin')
            programs.mkdir()
            (programs / 'steelyard').symlink_to(os.environ['STEELYARD_PROGRAM'])
            environment = {**os.environ, 'PATH': f'{programs}:{os.environ["PATH"]}', 'PYTHONDONTWRITEBYTECODE': '1',
                           'PYTHONPATH': str(ROOT / 'bindings/python'), 'OMP_NUM_THREADS': '1'}
            for variable in ('STEELYARD', 'STEELYARD_NAME', 'STEELYARD_SIMULATE_SLOWDOWN', 'STEELYARD_DEVICE'):
                environment.pop(variable, None)
            done = subprocess.run([sys.executable, '-c', RUNNER, str(NOTEBOOKS / name), expression], cwd=folder,
                                  env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return json.loads(done.stdout.rpartition('RESULT ')[2])

    def test_all_are_stored_without_outputs(self):
        notebooks = {it.name: json.loads(it.read_text()) for it in NOTEBOOKS.glob('*.ipynb')}
        self.assertEqual(set(notebooks), {'unequal_workers.ipynb', 'compare_methods.ipynb'})
        for name, notebook in notebooks.items():
            code = [it for it in notebook['cells'] if it['cell_type'] == 'code']
            self.assertGreater(len(code), 2, name)
            self.assertEqual([(it['outputs'], it['execution_count']) for it in code], [([], None)] * len(code), name)

    def test_unequal_workers(self):
        results, means = self.result('unequal_workers.ipynb', '(results, {it: means(it) for it in ("equal", "steelyard")})')
        accuracies = [it['accuracy'] for it in results.values()]
        self.assertEqual([it['outcome'] for it in results.values()], ['finished'] * 3)
        self.assertGreater(min(accuracies), 0.5)
        self.assertLess(max(accuracies) - min(accuracies), 0.03)
        self.assertEqual(means['equal']['share/worker-0'], means['equal']['share/worker-1'])
        self.assertGreater(means['steelyard']['share/worker-0'], means['steelyard']['share/worker-1'])

    def test_compare_methods(self):
        methods, totals = self.result('compare_methods.ipynb', '(methods, totals)')
        percent = {it['policy']: it['percent_of_ideal']['median'] for it in methods}
        self.assertEqual(len(percent), 9)
        self.assertGreater(percent['steelyard'], percent['equal'])
        self.assertLess(totals['steelyard'][0], totals['equal'][0])
        self.assertEqual({sum(shares) for _, shares in totals.values()}, {512})


if __name__ == '__main__':
    unittest.main()
