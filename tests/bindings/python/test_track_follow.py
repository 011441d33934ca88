"""What a tracker gets of a run: each row once, also of runs that were stopped, killed and resumed."""
import os
import signal
import subprocess
import threading
import time
import unittest

from steelyard import Failure, track
from track_case import JOB, PROGRAM, Remembering, TrackCase, line

ENDLESS = JOB.replace('epochs = 2', 'epochs = 0\nseconds = 1000')


class Made(TrackCase):
    def test_a_second_call_goes_on_and_logs_nothing_twice(self):
        self.made(*(line(it) for it in range(3)))
        first, second = Remembering(), Remembering()
        self.assertEqual(self.follow(first), 'made')
        self.assertEqual(first.calls[0], ('begin', 'run', None, 0))
        self.assertEqual(first.names, {'job.name': 'made', 'train.lr': 0.1})
        self.add(*(line(it) for it in range(2, 5)))
        self.follow(second)
        self.assertEqual(first.logged() + second.logged(), [('train', it) for it in range(5)])
        self.assertEqual(second.calls, [('begin', 'run', 'made', 3),
                                        ('end', 'stopped', 4, ['report.html', 'job.toml', 'events.jsonl'])])

    def test_the_end_is_logged_once(self):
        self.made(line(0))
        trackers = [Remembering(), Remembering()]
        for it in trackers:
            self.follow(it)
        self.assertEqual([it.calls[-1] for it in trackers],
                         [('end', 'stopped', 0, ['report.html', 'job.toml', 'events.jsonl']), ('end', 'stopped', 0, None)])

    def test_a_tracker_that_fails_gets_the_same_rows_again(self):
        class Failing(Remembering):
            def log(self, rows):
                if self.rows:
                    raise OSError('no network')
                super().log(rows)

        self.made(*(line(it) for it in range(120)))
        first, second = Failing(), Remembering()
        with self.assertRaisesRegex(OSError, 'no network'):
            self.follow(first)
        self.follow(second)
        self.assertEqual(first.logged() + second.logged(), [('train', it) for it in range(120)])
        self.assertGreater(len(first.rows), 0)

    def test_a_given_run_of_the_tracker(self):
        self.made(line(0))
        tracker = Remembering()
        self.assertEqual(self.follow(tracker, run_id='given'), 'given')
        self.assertEqual(tracker.calls[0], ('begin', 'run', 'given', 0))
        with self.assertRaisesRegex(Failure, 'is logged as the run given of memory: give no other run_id'):
            self.follow(Remembering(), run_id='another')

    def test_a_note_that_does_not_fit_is_refused_with_the_remedy(self):
        note = self.made(line(0)) / 'track-memory.json'
        self.follow(Remembering())
        with self.assertRaisesRegex(Failure, 'logged with every = 1: give the same, or delete'):
            self.follow(Remembering(), every=2)
        note.write_text('{')
        with self.assertRaisesRegex(Failure, 'track-memory.json is damaged: delete it'):
            self.follow(Remembering())

    def test_two_followers_take_turns(self):
        self.made(*(line(it) for it in range(60)))
        trackers = [Remembering(), Remembering()]
        threads = [threading.Thread(target=self.follow, args=(it,)) for it in trackers]
        for it in threads:
            it.start()
        for it in threads:
            it.join()
        self.assertEqual(sorted(len(it.rows) for it in trackers), [0, 60])


class Real(TrackCase):
    def begin(self, *options):
        """Starts a run that does not end by itself, and returns it after some rounds."""
        job = self.folder / 'job.toml'
        job.write_text(ENDLESS)
        process = subprocess.Popen([PROGRAM, 'train', job, '--run-dir', self.run_directory, '--quiet', *options],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True, env={**os.environ, 'TMPDIR': str(self.folder)})
        self.addCleanup(process.wait)
        self.addCleanup(end_session, process.pid)
        before = len(self.recorded_so_far())
        end = time.monotonic() + 60
        while len(self.recorded_so_far()) < before + 20:
            self.assertLess(time.monotonic(), end, 'no rounds')
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        return process

    def recorded_so_far(self):
        try:
            return (self.run_directory / 'rounds.jsonl').read_text().split('\n')[:-1]
        except FileNotFoundError:
            return []

    def test_rounds_arrive_while_the_job_runs_until_its_end(self):
        process = self.begin()
        tracker = Remembering()
        thread = threading.Thread(target=self.follow, args=(tracker,), kwargs={'waits': True})
        thread.start()
        end = time.monotonic() + 60
        while not tracker.rows and time.monotonic() < end:
            time.sleep(0.05)
        self.assertTrue(tracker.rows and process.poll() is None)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        thread.join(timeout=60)
        self.assertFalse(thread.is_alive())
        self.assertEqual(tracker.logged(), self.recorded())
        self.assertEqual(tracker.calls[-1][1], 'interrupted')
        self.assertEqual(tracker.calls[-1][3], ['report.html', 'job.toml', 'events.jsonl', 'result.json'])

    def wait_for_a_checkpoint(self):
        end = time.monotonic() + 60
        found = lambda: (self.run_directory / 'checkpoints').glob('*/MANIFEST.json')
        while not any(it.parent.name.isdigit() for it in found()):  # others are incomplete
            self.assertLess(time.monotonic(), end, 'no checkpoint')
            time.sleep(0.05)

    def test_nothing_twice_after_a_kill_and_a_resumption(self):
        process = self.begin()
        self.wait_for_a_checkpoint()
        os.kill(int((self.run_directory / 'lock').read_text()), signal.SIGKILL)  # the scheduler
        process.kill()
        process.wait()
        first, second = Remembering(), Remembering()
        self.follow(first, waits=True)
        self.assertEqual(first.calls[-1][1], 'stopped')
        again = self.begin('--resume')
        again.send_signal(signal.SIGINT)
        again.wait(timeout=60)
        self.follow(second)
        logged = first.logged() + second.logged()
        self.assertEqual(len(logged), len(set(logged)))
        self.assertEqual(set(logged), set(self.recorded()))
        self.assertGreater(len(second.rows), 0)
        self.assertEqual(second.calls[0][2], 'made')


def end_session(session):
    """Kills its processes. A server whose scheduler and launcher were killed waits for another one."""
    for process in [int(it) for it in os.listdir('/proc') if it.isdigit()]:
        try:
            if os.getsid(process) == session:
                os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Arguments(TrackCase):
    def test_refused(self):
        with self.assertRaisesRegex(Failure, 'is not the directory of a run'):
            track.mlflow(self.folder)
        with self.assertRaisesRegex(Failure, 'every = 0: give a whole number of at least 1'):
            track.wandb(self.made(line(0)), every=0)

    def test_a_missing_client_is_named(self):
        for kind, function in (('mlflow', track.mlflow), ('wandb', track.wandb)):
            try:
                __import__(kind)
            except ModuleNotFoundError:
                if not self.run_directory.exists():
                    self.made(line(0))
                with self.assertRaisesRegex(Failure, f'no module {kind}.*: install {kind}'):
                    function(self.run_directory)

    def test_exit_codes_of_the_command(self):
        self.assertEqual(track.main(['mlflow', str(self.folder)]), 74)


if __name__ == '__main__':
    unittest.main()
