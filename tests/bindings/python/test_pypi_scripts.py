"""script/bench scripts: some of its scripts, and what it finds."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / 'bench/scripts'
sys.path.insert(0, str(SCRIPTS))
import cell  # noqa: E402
import registry  # noqa: E402
import table  # noqa: E402


class Scripts(unittest.TestCase):
    def run_scripts(self, names, conditions):
        """Returns the results, and the table."""
        with tempfile.TemporaryDirectory() as folder:
            results, text = pathlib.Path(folder, 'results.json'), pathlib.Path(folder, 'table.md')
            done = subprocess.run(
                [sys.executable, '-B', str(SCRIPTS / 'run.py'), '--only', names, '--conditions', conditions, '--results',
                 str(results), '--markdown', str(text)], capture_output=True, text=True, env=dict(os.environ))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return json.loads(results.read_text()), text.read_text()

    def test_servers_repair_a_round(self):
        results, text = self.run_scripts('momentum', 'slowed,killed')
        for condition in ('slowed', 'killed'):
            self.assertLessEqual(results['momentum'][condition]['difference'], 2e-6)
        fast, slow = results['momentum']['slowed']['shares']
        self.assertGreater(fast, slow)
        self.assertRegex(text, r'SGD with momentum.*\| not run \| not run \| \de-0\d \| \de-0\d \|')

    def test_a_loader_has_the_same_parameters_on_all_workers(self):
        results, text = self.run_scripts('accumulation', 'two,killed')
        self.assertLessEqual(results['accumulation']['two']['difference'], 2e-6)
        self.assertEqual(results['accumulation']['killed']['between'], 0)
        self.assertIn('[1]', text)


class Differences(unittest.TestCase):
    PLAIN = {'0 w': torch.tensor([3.0, 4.0]), '0 b': torch.tensor([0.0, 1.0])}

    def test_the_largest_relative_difference_of_a_parameter(self):
        found = {'0 w': torch.tensor([3.0, 4.5]), '0 b': torch.tensor([0.25, 1.0])}
        self.assertEqual(cell.difference(found, self.PLAIN), (0.25, '0 b'))
        self.assertEqual(cell.difference(self.PLAIN, self.PLAIN)[0], 0)

    def test_a_number_that_is_not_finite_is_no_small_difference(self):
        found = {**self.PLAIN, '0 b': torch.tensor([float('nan'), 1.0])}
        self.assertEqual(cell.difference(found, self.PLAIN)[0], float('inf'))

    def test_limits(self):
        servers, loader = (registry.Script('a', 'A', way, None) for way in ('servers', 'parallel'))
        about = {'difference': 3e-6, 'between': 0.0, 'rounding': 0.0}
        self.assertFalse(table.good(servers, 'killed', about))
        self.assertFalse(table.good(loader, 'slowed', about))
        self.assertTrue(table.good(loader, 'killed', about))
        self.assertTrue(table.good(servers, 'killed', {**about, 'rounding': 1e-6}))
        self.assertFalse(table.good(loader, 'killed', {**about, 'between': 3e-6}))
        self.assertFalse(table.good(servers, 'killed', {'error': 'no result'}))


if __name__ == '__main__':
    unittest.main()
