"""A script finds its cluster: the one that the environment names, or one of its own."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from unittest import mock

import standin  # noqa: F401
from steelyard import Failure, _cluster, _library


class Own(unittest.TestCase):
    """With a fake program that records its arguments and then runs the code of a test."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.dict(os.environ, {'STEELYARD_PROGRAM': str(self.folder / 'program')}))
        for name in ('STEELYARD', 'STEELYARD_NAME'):
            os.environ.pop(name, None)

    def program(self, body):
        path = self.folder / 'program'
        path.write_text(f'#!{sys.executable}\nimport os, sys, time\n' + textwrap.dedent(f'''
            folder = {str(self.folder)!r}
            with open(folder + '/started', 'w') as file:
                file.write(' '.join([str(os.getpid()), *sys.argv[1:]]))
        ''') + textwrap.dedent(body))
        path.chmod(0o755)

    def started(self):
        path = self.folder / 'started'
        while not (path.exists() and path.read_text()):
            time.sleep(0.01)
        return path.read_text().split()

    def test_it_has_its_own_sockets_and_is_waited_for(self):
        self.program('')
        cluster = _cluster.find(['--set', 'cluster.servers=1'])
        cluster.finish()
        _, *words = self.started()
        self.assertEqual(words[:4], ['run', '-n', '1', '--sockets'])
        self.assertEqual(words[5:], ['--set', 'cluster.servers=1'])
        self.assertEqual(cluster.endpoint, f'ipc://{words[4]}/scheduler')
        self.assertEqual(cluster.worker_name, 'worker-0')
        self.assertFalse(os.path.exists(words[4]))

    def test_its_exit_code_is_that_of_the_job(self):
        self.program('sys.exit(74)')
        with self.assertRaisesRegex(Failure, 'code 74') as caught:
            _cluster.find().finish()
        self.assertEqual(caught.exception.code, 74)

    def test_an_early_exit_is_noticed(self):
        self.program('sys.exit(78)')
        cluster = _cluster.find()
        with self.assertRaises(Failure) as caught:
            while True:
                cluster.check()
        self.assertEqual(caught.exception.code, 78)

    def test_its_errors_are_part_of_the_exception_and_shown(self):
        script = """
            sys.stderr.write('\\rwaiting\\n')
            sys.stderr.write('\\r\\x1b[Ksteelyard: the job:16:1: unknown key "epoch"\\n')
            sys.exit(78)
        """
        self.program(script)
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown), self.assertRaises(Failure) as caught:
            _cluster.find().finish()
        self.assertEqual(str(caught.exception), 'the cluster of this process failed: it exited with code 78: '
                                                'the job:16:1: unknown key "epoch"')
        self.assertIn('unknown key', shown.getvalue())

    def test_a_quiet_one_shows_no_summary(self):
        self.program('print("finished")')
        for options, expected in (([], 'finished\n'), (['--quiet'], '')):
            done = subprocess.run([sys.executable, '-c', textwrap.dedent(f"""
                import sys
                sys.path[:0] = {sys.path!r}
                from steelyard import _cluster
                _cluster.find({options}).finish()
            """)], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, expected)

    def test_in_a_notebook_the_summary_is_short(self):
        rows = ['finished', '  test accuracy       90.00 %', '  time                0:07   (100 rounds)',
                '  samples per second  100', '  worker-0            64.0 samples', '  run directory       runs/a-1']
        self.program(f'print({chr(10).join(rows)!r})')
        shown = io.StringIO()
        with mock.patch.object(_cluster, 'in_notebook', lambda: True), contextlib.redirect_stdout(shown):
            _cluster.find().finish()
        self.assertEqual(shown.getvalue().splitlines(), [rows[0], rows[1], rows[2], rows[5]])

    def test_on_a_terminal_it_has_a_terminal(self):
        self.program('os.write(2, b"%d\\n" % (os.isatty(1) + os.isatty(2)))')
        here, there = os.openpty()
        process = subprocess.Popen([sys.executable, '-c', textwrap.dedent(f"""
            import sys
            sys.path[:0] = {sys.path!r}
            from steelyard import _cluster
            _cluster.find().finish()
        """)], stdout=there, stderr=there)
        self.assertEqual(process.wait(), 0)
        self.assertIn(b'2', os.read(here, 100))

    def test_the_run_directory_is_known_while_it_runs_and_after(self):
        self.program("""
            place = sys.argv[sys.argv.index('--sockets') + 1]
            with open(place + '/run_dir', 'w') as file:
                file.write('/runs/a-1')
            while not os.path.exists(folder + '/read'):
                time.sleep(0.01)
        """)
        cluster = _cluster.find()
        while cluster.run_directory is None:
            time.sleep(0.01)
        (self.folder / 'read').touch()
        cluster.finish()
        self.assertEqual(cluster.run_directory, '/runs/a-1')

    def test_closing_ends_it(self):
        self.program('time.sleep(600)')
        cluster = _cluster.find()
        pid = int(self.started()[0])
        cluster.close()
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_it_ends_with_its_parent(self):
        self.program('time.sleep(600)')
        parent = subprocess.Popen([sys.executable, '-c', textwrap.dedent(f'''
            import sys, time
            sys.path[:0] = {sys.path!r}
            from steelyard import _cluster
            cluster = _cluster.find()
            time.sleep(600)
        ''')])
        pid = int(self.started()[0])
        parent.kill()
        parent.wait()
        while _is_running(pid):
            time.sleep(0.01)

    def test_a_missing_program(self):
        with self.assertRaisesRegex(Failure, 'STEELYARD_PROGRAM'):
            _cluster.find()


class Given(unittest.TestCase):
    def test_by_the_environment(self):
        given = {'STEELYARD': 'tcp://far:7070', 'STEELYARD_NAME': 'amber', 'STEELYARD_SIMULATE_SLOWDOWN': '2',
                 'STEELYARD_DEVICE': 'cuda:1', 'STEELYARD_EXCHANGE': 'sockets'}
        with mock.patch.dict(os.environ, given):
            cluster = _cluster.find()
            self.assertEqual(_cluster.description(cluster, 'cuda'),
                             {'scheduler': 'far:7070', 'name': 'amber', 'kind': 'gpu'})
            self.assertEqual(_cluster.device_name(), 'cuda:1')

    def test_a_second_job_under_run_is_requested(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        first, second, third = (f'ipc://{folder}/{it}scheduler' for it in ('', '2/', '3/'))
        os.mkdir(folder + '/next')
        with mock.patch.dict(os.environ, {'STEELYARD': first}):
            for endpoint, requested in ((first, set()), (second, {'2'}), (third, {'2', '3'})):
                cluster = _cluster.find()
                self.assertEqual(cluster.endpoint, endpoint)
                self.assertEqual(_cluster.find().endpoint, endpoint, 'the job is not over')
                self.assertEqual(set(os.listdir(folder + '/next')), requested)
                cluster.finish()

    def test_a_second_job_elsewhere_is_refused_at_once(self):
        with mock.patch.dict(os.environ, {'STEELYARD': 'once:7070'}):
            _cluster.find().finish()
            with self.assertRaisesRegex(Failure, 'once:7070 is over.*another script'):
                _cluster.find()

    def test_a_cluster_of_its_own_needs_no_keys(self):
        with mock.patch.dict(os.environ, {'STEELYARD_KEYS': '/x/keys'}):
            os.environ.pop('STEELYARD', None)
            cluster = _cluster.GivenCluster('ipc:///x')
            self.assertEqual(_cluster.description(cluster, 'cpu')['keys'], '')


class Library(unittest.TestCase):
    def test_a_missing_library_is_named(self):
        with mock.patch.dict(os.environ, {'STEELYARD_LIBRARY': '/nowhere/libsteelyard.so'}):
            with self.assertRaisesRegex(Failure, '/nowhere/libsteelyard.so'):
                _library.library_path()

    def test_another_file_is_refused(self):
        with tempfile.NamedTemporaryFile(suffix='.so') as file:
            with mock.patch.dict(os.environ, {'STEELYARD_LIBRARY': file.name}):
                with self.assertRaisesRegex(Failure, 'no library of steelyard'):
                    _library.library.__wrapped__()


def _is_running(pid):
    try:
        state = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != 'Z'


if __name__ == '__main__':
    unittest.main()
