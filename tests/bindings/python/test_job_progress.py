"""What a job tells its script while it runs: who logs, how far it is, and its rounds so far."""
import json
import pathlib
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import standin  # noqa: F401
from steelyard import Failure, _history, _worker
from steelyard._job import BaseJob
from test_job import Scripted, Watched

ABOUT = {'worker': 'amber', 'batch': 10, 'train_samples': 25, 'epochs': 2, 'rounds': 0, 'slot': 0}
JOINED, END = _worker.Task(kind=_worker.JOINED), _worker.Task(kind=_worker.END)


def train(epoch, position):
    return _worker.Task(kind=_worker.TRAIN, epoch=epoch, position=position)


class Listed(BaseJob):
    def __iter__(self):
        return self._tasks()


def job_of(*tasks, **about):
    worker = Scripted(JOINED, *tasks)
    worker.job = lambda: {**ABOUT, **about}
    return Listed({}, None, Watched(), factory=lambda *_: worker)


class Bar:
    """In place of tqdm."""

    made = []

    def __init__(self, **options):
        self.options, self.n = options, 0
        self.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def update(self, more):
        self.n += more


class Progress(unittest.TestCase):
    def test_the_worker_in_the_first_slot_logs(self):
        job = job_of()
        self.assertTrue(job.logs)
        self.assertEqual(job.worker, 'amber', 'it waited until it had joined')
        self.assertFalse(job_of(slot=1).logs)

    def test_rounds_of_the_whole_job(self):
        job = job_of(train(0, 0), train(1, 20), END)
        self.assertEqual(job.total_rounds, 6)
        self.assertEqual([job.rounds_done for _ in job], [0, 5])
        self.assertEqual(job.rounds_done, 6)

    def test_the_length_may_be_in_rounds_or_open(self):
        self.assertEqual(job_of(rounds=4).total_rounds, 4)
        self.assertEqual(job_of(rounds=400).total_rounds, 6)
        self.assertIsNone(job_of(epochs=0).total_rounds)

    def test_a_job_has_no_length(self):
        job = job_of()
        with self.assertRaisesRegex(TypeError, 'total_rounds'):
            len(job)
        self.assertTrue(job)

    def test_the_bar_counts_rounds_and_not_micro_batches(self):
        tqdm = types.SimpleNamespace(tqdm=Bar)
        with mock.patch.dict(sys.modules, {'tqdm': types.SimpleNamespace(auto=tqdm), 'tqdm.auto': tqdm}):
            for slot in (0, 1):
                job = job_of(train(0, 0), train(0, 5), train(1, 20), END, slot=slot)
                seen = [Bar.made[-1].n for _ in job.bar(desc='fit')]
                self.assertEqual(seen, [0, 0, 5])
                self.assertEqual(Bar.made[-1].n, 6)
                self.assertEqual(Bar.made[-1].options,
                                 {'total': 6, 'disable': slot == 1, 'unit': 'round', 'desc': 'fit'})

    def test_without_tqdm_the_remedy_is_named(self):
        with mock.patch.dict(sys.modules, {'tqdm': None, 'tqdm.auto': None}):
            with self.assertRaisesRegex(Failure, 'pip install tqdm'):
                next(job_of(train(0, 0), END).bar())

    def test_only_names_for_users_are_public(self):
        public = {it for it in dir(Listed) if not it.startswith('_')}
        self.assertEqual(public, {'bar', 'history', 'leave', 'logs', 'main', 'outcome', 'over', 'round', 'rounds_done',
                                  'run_directory', 'stop', 'total_rounds', 'wait_until_joined', 'worker'})


class History(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def write(self, name, *lines):
        path = pathlib.Path(self.folder, name)
        path.write_text(''.join(json.dumps(it) + '\n' for it in lines))
        return path

    def line(self, number, purpose='train', **more):
        return {'round': number, 'epoch': 0, 'purpose': purpose, 'begin': 0, 'end': 10, 'lr': 0.1, 'at_ms': 1500,
                'loss': 2.5, 'accuracy': None, **more}

    def test_it_has_rounds_and_evaluations(self):
        path = self.write('rounds.jsonl', self.line(0, holes=4), self.line(1, 'evaluate', accuracy=0.5))
        with open(path, 'a') as file:
            file.write('{"round":')  # the scheduler is writing
        self.assertEqual(_history.read_history(self.folder, False), [
            {'epoch': 0, 'round': 0, 'purpose': 'train', 'loss': 2.5, 'accuracy': None, 'samples': 6, 'seconds': 1.5},
            {'epoch': 0, 'round': 1, 'purpose': 'evaluate', 'loss': 2.5, 'accuracy': 0.5, 'samples': 10,
             'seconds': 1.5}])

    def test_the_end_of_the_record_is_waited_for(self):
        self.write('rounds.jsonl', self.line(0))

        def end():
            self.write('rounds.jsonl', self.line(0), self.line(1))
            self.write('events.jsonl', {'at_ms': 1, 'text': 'finished'})
        threading.Timer(0.1, end).start()
        self.assertEqual([it['round'] for it in _history.read_history(self.folder, True)], [0, 1])

    def test_it_is_empty_elsewhere(self):
        self.assertEqual(_history.read_history(None, True), [])
        self.assertEqual(_history.read_history(self.folder, False), [])
        self.assertEqual(job_of().history, [])


if __name__ == '__main__':
    unittest.main()
