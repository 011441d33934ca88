"""script/gpu-check and the kit without a GPU: bench/gpu/run.sh with programs for the host executor.

    gpu_check_test.py BIN short|long

Short: a wrong op, an op without end, a crash and a lost device are found, and hide no case behind them; the limit of time
is obeyed; table and results are there after each part; libraries that are missing are named. Long: every op and every
built-in model, in float32 and bf16, with two samples or one grain, the tests of the kernels, and a job.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RUN = SOURCE / 'bench/gpu/run.sh'
sys.path.append(str(SOURCE / 'bench/gpu'))
import cases  # noqa: E402
import table  # noqa: E402

LIBRARIES = 'libcudnn.so.9', 'libcublasLt.so.13', 'libnvrtc.so.13'


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / 'out'

    def check(self, *words, until=100, silence=60, env=None):
        """Runs the parts and options. Returns its exit code, its output and the rows of each part."""
        result = subprocess.run([RUN, *words, '--bin', BIN, '--device', 'host-cuda', '--small', '--out', self.out,
                                 '--until', str(until), '--silence', str(silence)], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=until + 60, env=env)
        return result.returncode, result.stdout, table.read(self.out)

    def program(self, name, text):
        """Makes a program in place of a real one."""
        path = self.folder / name
        path.write_text('#!/usr/bin/env python3\nimport os, sys, time\n' + text, encoding='utf-8')
        path.chmod(0o755)
        return path


class Faults(Base):
    def planted(self, part, fault, silence=60):
        """The rows of a part with a fault at case 2, and its output."""
        code, text, parts = self.check(part, '--plant', f'{part}={fault}:2', silence=silence)
        self.assertEqual(code, 1, text)
        self.assertIn('script/gpu-check: 1 failures, the first: ', text)
        return parts[part]

    def test_a_wrong_result(self):
        for part in 'smoke', 'ops':
            rows = self.planted(part, 'wrong')
            self.assertEqual([row[1] for row in rows].count('WRONG'), 1, rows)
        self.assertRegex(rows[2][3], 'differs from the reference.s by')
        self.assertEqual([row[1] for row in rows].count('correct'), len(rows) - 1)

    def test_a_wrong_gradient(self):
        result = subprocess.run([f'{BIN}/steelyard_gpu_check', 'models', '--small', '--end', '3', '--plant', 'wrong:1'],
                                stdout=subprocess.PIPE, text=True, timeout=100)
        self.assertEqual(result.returncode, 1)
        figures = [line.split('\t')[1] for line in result.stdout.splitlines() if not line.startswith('@')]
        self.assertEqual(figures, ['correct', 'WRONG', 'correct'])

    def test_the_failure_of_a_process_that_reads_lent_memory(self):
        result = subprocess.run([f'{BIN}/steelyard_gpu_check', 'read-lent', 'no-number'], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=100)
        self.assertEqual(result.returncode, 5)
        self.assertRegex(result.stderr, '^steelyard_gpu_check: memory of another process: stoull')
        self.assertNotIn('usage', result.stderr)

    def test_a_lost_device_a_crash_and_a_hang_hide_nothing(self):
        for fault, words in (('lost', 'the device is lost'), ('crash', 'crash: SIGABRT'), ('hang', 'no result within 20 s')):
            rows = self.planted('smoke', fault, silence=20)
            failed = [row for row in rows if row[1] == 'FAILED']
            self.assertEqual([row[0] for row in failed], ['smoke: a product, float32'])
            self.assertIn(words, failed[0][3])
            self.assertIn('smoke: shared memory registered with the device', [row[0] for row in rows])
            self.assertEqual([row[1] for row in rows].count('ok'), 8)


class Deadline(Base):
    def test_parts_end_in_time_and_leave_a_table(self):
        # The hang has no end of its own; without a limit the call would not return in time.
        code, text, parts = self.check('smoke', 'limits', 'ops', '--plant', 'limits=hang:1', until=30, silence=1000)
        self.assertIn(['limits: 6 cases', 'not measured (the time was not enough)', '', ''], parts['limits'])
        self.assertTrue(any(row[1] == 'correct' for row in parts['ops']), text)
        self.assertEqual(code, 0, text)

    def test_each_part_writes_the_table(self):
        process = subprocess.Popen([RUN, 'smoke', 'limits', '--plant', 'limits=hang:0', '--bin', BIN, '--device', 'host-cuda',
                                    '--out', self.out, '--until', '600', '--silence', '600'], stdout=subprocess.PIPE,
                                   text=True, start_new_session=True)
        try:
            for line in process.stdout:  # each comes at once
                if line.startswith('== limits'):
                    break
            text = (self.out / 'table.txt').read_text(encoding='utf-8')
            self.assertRegex(text, r'smoke +11 correct +0 wrong')
            self.assertEqual(list(json.loads((self.out / 'result.json').read_text(encoding='utf-8'))['parts']), ['smoke'])
        finally:
            process.stdout.close()
            os.killpg(process.pid, 9)
            process.wait()
        self.assertLessEqual(len(list(self.out.iterdir())), 8)

    def test_earlier_parts_stay_in_the_table(self):
        self.check('smoke')
        _, text, parts = self.check('limits')
        self.assertEqual(set(parts), {'smoke', 'limits'})
        self.assertRegex(self.check('table')[1], r'smoke +11 correct +0 wrong')
        self.assertRegex(text, r'not measured +env, tests')


class Suites(Base):
    def test_a_crash_in_one_suite_hides_no_test(self):
        program = self.program('test_nn_cuda', '''
tests = {'A.': ['good', 'bad', 'behind'], 'B.': ['good']}
if '--gtest_list_tests' in sys.argv:
    for suite, names in tests.items():
        print(suite, *('  ' + it for it in names), sep='\\n')
    sys.exit()
chosen = next(it for it in sys.argv if it.startswith('--gtest_filter=')).partition('=')[2]
for suite, names in tests.items():
    for name in names:
        if chosen in (suite + '*', suite + name):
            if name == 'bad':
                print('x.cpp:1: Failure', flush=True)
                os.abort()
            print(f'[       OK ] {suite}{name} (1 ms)', flush=True)
''')
        rows = []
        cases.run_suites(str(program), dict(os.environ), rows.append, time.monotonic() + 100, 60)
        self.assertEqual(rows, [['test A.bad', 'FAILED', '', 'crash: SIGABRT; x.cpp:1: Failure'],
                                ['tests A', '2 of 3 passed', '1 of them only alone', ''], ['tests B', '1 of 1 passed', '', '']])

    def test_a_program_that_does_not_start_fails_its_part(self):
        program = self.program('steelyard_gpu_check', 'sys.exit("no libcudnn.so.9")\n')
        with self.assertRaisesRegex(RuntimeError, 'no libcudnn.so.9'):
            cases.run_cases([str(program), 'ops'], dict(os.environ), print, time.monotonic() + 100, 60, print)


class Libraries(Base):
    def setUp(self):
        super().setUp()
        loader = self.folder / 'ldconfig'  # as on a machine where the loader knows none of them
        loader.write_text('#!/bin/sh\n', encoding='utf-8')
        loader.chmod(0o755)
        self.env = {**os.environ, 'PATH': f'{self.folder}:{os.environ["PATH"]}', 'LD_LIBRARY_PATH': '/of/the/driver',
                    'CUDA_HOME': str(self.folder / 'toolkit')}

    def make(self, folder, *names):
        (self.folder / folder).mkdir(parents=True, exist_ok=True)
        for name in names:
            (self.folder / folder / name).touch()
        return str(self.folder / folder)

    def test_what_is_missing_is_named(self):
        self.make('toolkit/lib64', 'libcublasLt.so.13')
        result = subprocess.run([RUN, 'smoke'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                                env=self.env)
        self.assertEqual(result.returncode, 1)
        self.assertIn('run.sh: missing: libcudnn.so.9 libnvrtc.so.13: not in', result.stdout)

    def test_the_toolkit_comes_before_python_packages_and_neither_replaces_the_path(self):
        toolkit = self.make('toolkit/lib64', 'libcublasLt.so.13')
        package = self.make('site/nvidia/cu13/lib', *LIBRARIES)
        env = {**self.env, 'PYTHONPATH': str(self.folder / 'site')}
        rows = dict(row[:2] for row in self.check('env', env=env)[2]['env'])
        self.assertEqual(rows['env: library path'].split(':'), ['/of/the/driver', toolkit, package])


class Whole(Base):
    def test_every_part(self):
        code, text, parts = self.check('--tests=CudaNetwork.*:CudaLoss.*', until=590, silence=300)
        self.assertEqual(code, 0, text)
        print(text[-4000:], json.loads((self.out / 'result.json').read_text(encoding='utf-8'))['about']['took'])
        self.assertEqual([row[1] for row in parts['models']], ['correct'] * 40)
        self.assertEqual({row[1] for row in parts['ops']}, {'correct'})
        self.assertRegex(parts['jobs'][0][1], 'samples/s|finished')
        self.assertEqual([row for it in parts.values() for row in it if 'not enough' in row[1]], [])


if __name__ == '__main__':
    BIN, length = sys.argv[1:3]
    chosen = [Whole] if length == 'long' else [Faults, Deadline, Suites, Libraries]
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(map(load, chosen)))
    sys.exit(not result.wasSuccessful())
