"""The tests that both adapters (steelyard.ray, steelyard.dask) must pass: the job and the script of all engines.

A subclass has run_job(script, **options), which runs it with three workers.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'tests/bindings/python'))

from engine_case import EngineCase  # noqa: E402
from same_bits import JOB, SCRIPT, bits_of  # noqa: E402


class AdapterCase(EngineCase):
    def alone(self, command, target, *arguments):
        """Runs it without an engine. Returns its run directory."""
        there = self.folder / 'alone'
        subprocess.run([os.environ['STEELYARD_PROGRAM'], *command, '--run-dir', there, '--quiet', target, *arguments],
                       check=True, stdout=subprocess.DEVNULL, env={**os.environ, 'STEELYARD_PYTHON': sys.executable})
        return there

    def test_a_job_file_has_the_bits_of_train(self):
        self.job.write_text(JOB)
        result = self.run_job(self.job)
        self.assert_whole(result, epochs=3)
        self.assertEqual(bits_of(self.run_directory), bits_of(self.alone(['train'], self.job)))

    @unittest.skipIf(importlib.util.find_spec('torch') is None, 'no PyTorch: script/setup installs it')
    def test_a_script_has_the_model_of_run(self):
        models = [self.folder / it for it in ('model.npz', 'alone.npz')]
        result = self.run_job(SCRIPT, arguments=[str(models[0])])
        self.assertIsNone(result.error, self.logs())
        self.alone(['run', '-n', '3'], SCRIPT, models[1])
        found, expected = map(numpy.load, models)
        self.assertEqual(set(found), set(expected))
        self.assertLess(max(float(abs(found[it] - expected[it]).max()) for it in expected), 2e-6)
