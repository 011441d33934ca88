"""The loop of a job without a framework: tasks in order, the end, and leaving."""
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest

import standin
from steelyard import Failure, _worker
from steelyard._job import BaseJob, failure_text
from steelyard._job_text import CLUSTER_KEYS, job_text, place_of

HERE = pathlib.Path(__file__).resolve().parent


class Scripted:
    """A worker that hands out these tasks."""

    def __init__(self, *tasks):
        self.tasks, self.calls = list(tasks), []

    def next(self, seconds):
        self.calls.append(('next', seconds))
        return self.tasks.pop(0)

    def job(self):
        return {'worker': 'amber', 'batch': 10}

    def leave(self, failure=None):
        self.calls.append(('leave', failure))

    def free(self):
        self.calls.append(('free',))


class Watched(standin.GivenCluster):
    def __init__(self):
        super().__init__('nowhere')
        self.calls = []

    def check(self):
        self.calls.append('check')

    def finish(self):
        self.calls.append('finish')

    def close(self):
        self.calls.append('close')


def job_of(*tasks):
    worker, cluster = Scripted(*tasks), Watched()
    return BaseJob({}, None, cluster, factory=lambda *_: worker), worker, cluster


class Loop(unittest.TestCase):
    def test_it_waits_in_short_slices_and_gives_tasks(self):
        train = _worker.Task(kind=_worker.TRAIN, epoch=2, position=30)
        job, worker, cluster = job_of(_worker.Task(kind=_worker.WAIT), _worker.Task(kind=_worker.JOINED), train,
                                      _worker.Task(kind=_worker.END, main=True))
        seen = []
        for task in job._tasks():
            seen.append((task, job.epoch, job.round, job.worker))
        self.assertEqual(seen, [(train, 2, 3, 'amber')])
        self.assertEqual(cluster.calls, ['check', 'finish'])
        self.assertTrue(all(it[1] <= 0.2 for it in worker.calls if it[0] == 'next'))
        self.assertIn(('free',), worker.calls)
        self.assertTrue(job.main)

    def test_a_failed_job_raises_its_text(self):
        job, worker, cluster = job_of(_worker.Task(kind=_worker.END, code=75, message='ended on request'))
        with self.assertRaisesRegex(Failure, 'ended on request') as caught:
            list(job._tasks())
        self.assertEqual((caught.exception.code, job.main, cluster.calls), (75, False, ['close']))

    def test_leaving_is_done_once(self):
        job, worker, cluster = job_of()
        job.leave('a reason')
        job.leave()
        self.assertEqual(worker.calls, [('leave', 'a reason'), ('free',)])
        self.assertEqual(list(job._tasks()), [])

    def test_a_cluster_is_closed_if_joining_fails(self):
        cluster = Watched()

        def factory(description, weights):
            raise Failure('no')
        with self.assertRaises(Failure):
            BaseJob({}, None, cluster, factory=factory)
        self.assertEqual(cluster.calls, ['close'])

    def test_the_text_of_an_exception_is_one_line_with_its_place(self):
        try:
            raise ValueError('two\nlines')
        except ValueError as error:
            self.assertRegex(failure_text(error), r'^lines \(test_job\.py:\d+\)$')


class JobText(unittest.TestCase):
    def test_toml(self):
        text = job_text({'job.name': 'a "b"', 'train.lr': 1e-05, 'train.rates': [1, 0.5], 'train.batch': None,
                         'policy.lb-bsp.warmup': 3, 'cluster.sync': 'bsp', 'job.seed': 1, 'train.x': True})
        read = standin.tomllib.loads(text)
        self.assertEqual(read, {'job': {'name': 'a "b"', 'seed': 1},
                                'train': {'lr': 1e-05, 'rates': [1, 0.5], 'x': True},
                                'policy': {'lb-bsp': {'warmup': 3}}, 'cluster': {'sync': 'bsp'}})

    def test_bare_names(self):
        self.assertEqual([place_of(it) for it in ('sync', 'policy', 'seconds', 'job.name')],
                         ['cluster.sync', 'cluster.policy', 'train.seconds', 'job.name'])

    def test_bare_names_are_those_of_the_program(self):
        asked = subprocess.run([os.environ['STEELYARD_PROGRAM'], 'help', 'schema'], capture_output=True, check=True)
        self.assertEqual(CLUSTER_KEYS, json.loads(asked.stdout)['properties']['cluster']['properties'].keys())

    def test_invalid_keys_and_values(self):
        for keys in ({'train.lr': float('nan')}, {'train.lr': object()}, {'lr': 1}):
            with self.assertRaises(Failure):
                job_text(keys)


class Life(unittest.TestCase):
    """Scripts in processes of their own, with a fake worker that prints how it was left."""

    def run_script(self, body, expected_code):
        script = textwrap.dedent('''
            import os, signal, sys
            sys.path.insert(0, {here!r})
            import standin
            from steelyard import _worker
            from steelyard._job import BaseJob
            class Fake:
                def next(self, seconds):
                    return _worker.Task(kind=_worker.TRAIN)
                def leave(self, failure=None):
                    print('left', os.getpid() == owner, failure, flush=True)
                def free(self):
                    print('freed', flush=True)
            owner = os.getpid()
            job = BaseJob({{}}, None, standin.given(), factory=lambda *_: Fake())
        ''').format(here=str(HERE)) + textwrap.dedent(body)
        done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, expected_code, done.stderr)
        return done.stdout.split('\n')[:-1], done.stderr

    def test_an_exception_ends_the_job_with_its_text_and_is_shown_once(self):
        out, err = self.run_script('''
            for task in job._tasks():
                raise ValueError('spoiled')
        ''', 1)
        self.assertEqual(len(out), 2)
        self.assertTrue(re.match(r'left True ValueError: spoiled \(<string>:\d+\)', out[0]), out)
        self.assertEqual(err.count('ValueError: spoiled'), 1)

    def test_ctrl_c_is_no_failure(self):
        out, err = self.run_script('''
            for task in job._tasks():
                os.kill(os.getpid(), signal.SIGINT)
        ''', -2)
        self.assertEqual(out, ['left True None', 'freed'])

    def test_the_end_of_the_script(self):
        self.assertEqual(self.run_script('', 0)[0], ['left True None', 'freed'])

    def test_a_fork_neither_continues_nor_leaves(self):
        out, err = self.run_script('''
            child = os.fork()
            if child == 0:
                try:
                    next(job._tasks())
                finally:
                    sys.stdout.flush()
            os.waitpid(child, 0)
        ''', 0)
        self.assertEqual(out, ['left True None', 'freed'])
        self.assertIn('was forked', err)


if __name__ == '__main__':
    unittest.main()
