"""Jobs whose workers run on the places of an engine. The engine here is a thread with an event loop."""
import asyncio
import functools
import importlib
import os
import pickle
import signal
import sys
import threading
import unittest
from unittest import mock

import engine_case
from engine_case import EngineCase, parent_of, processes, runs

from steelyard import Failure
from steelyard._attend import Attend
from steelyard._engine import EngineJob, Worker, run_job
from steelyard._passage import Place


class Here(Place):
    """An actor in this process."""

    def __init__(self, loop):
        super().__init__()
        self._loop = loop
        self._actor = Attend()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def start(self):
        self._call(self._actor.start())

    def send(self, data):
        self._call(self._actor.send(data))

    def receive(self):
        return self._call(self._actor.receive())

    def stop(self):
        self._call(self._actor.stop())


class Nowhere(Here):
    def start(self):
        raise Failure('no such node: add it', 78)


class JobCase(EngineCase):
    def setUp(self):
        super().setUp()
        self.loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self.loop.run_forever)
        thread.start()
        self.addCleanup(self.loop.close)
        self.addCleanup(thread.join)
        self.addCleanup(lambda: self.loop.call_soon_threadsafe(self.loop.stop))

    def run_job(self, script, workers=2, place=Here, keys=None, watch=lambda passages: None, **more):
        asked = {'arguments': (), 'settings': {}, 'servers': 1, 'run_dir': self.run_directory, 'resume': False,
                 'launch_options': ['--quiet'], 'dumps': pickle.dumps, **more}
        there = [Worker(place(self.loop), '127.0.0.1', keys or {}) for _ in range(workers)]
        return run_job(EngineJob(script, **asked), there, '127.0.0.1', watch)

    def test_a_job_file_has_the_bits_of_train(self):
        result = self.run_job(self.job)
        self.assert_whole(result, epochs=3)
        self.assertEqual(self.bits(result.checkpoint), self.bits_of_train())
        self.assertEqual(len(result.history), 24 + 3)
        self.assertGreater(result.metrics['accuracy'], 0.5)

    def test_settings_and_keys_reach_job_and_workers(self):
        result = self.run_job(self.job, settings={'train.epochs': 2, 'cluster.policy': 'equal'},
                              keys={'max_batch': 50, 'precision': 'float32'})
        self.assert_whole(result, epochs=2)
        self.assertEqual({tuple(it['shares']) for it in self.rounds()}, {(128, 128)})

    def test_a_function_trains(self):
        result = self.run_job(functools.partial(engine_case.train))
        self.assertIsNone(result.error, self.logs())
        self.assertEqual(len(self.rounds()), 32)
        self.assertLess(result.history[-1]['loss'], 0.1 * result.history[0]['loss'])

    def test_a_script_gets_its_arguments(self):
        script = self.folder / 'script.py'
        script.write_text('import sys\nassert sys.argv[1:] == ["a b", "--c"], sys.argv\n'
                          f'sys.path.insert(0, {os.path.dirname(engine_case.__file__)!r})\n'
                          'import engine_case\nengine_case.train()\n')
        result = self.run_job(script, arguments=['a b', '--c'])
        self.assertIsNone(result.error, self.logs())

    def test_a_lost_attend_is_replaced(self):
        lost = []

        def kill():
            self.some_rounds_pass()
            worker, = processes('worker', '--name', 'worker-1')
            lost.append(worker)
            os.kill(parent_of(worker), signal.SIGKILL)
            self.wait_for(lambda: self.joined('worker-1') > 1, 'second worker-1')

        self.beside(kill)
        result = self.run_job(self.job, settings={'train.epochs': 30}, keys={'simulate_slowdown': 100})
        self.assert_whole(result, epochs=30)
        self.assertFalse(runs(lost[0]))

    def test_a_worker_leaves_its_place_and_comes_back(self):
        asked = []

        def drain(passages):
            if not asked and len(self.rounds()) > 3:
                asked.append(passages[1].leave())

        result = self.run_job(self.job, settings={'train.epochs': 30}, keys={'simulate_slowdown': 100}, watch=drain)
        self.assertEqual(asked, [True])
        self.assert_whole(result, epochs=30)
        self.assertEqual(self.joined('worker-1'), 2)
        self.assertIn("worker 'worker-1' left", self.events())

    def test_ctrl_c_saves_and_a_second_run_resumes(self):
        def interrupt():
            self.some_rounds_pass()
            os.kill(os.getpid(), signal.SIGINT)

        self.beside(interrupt)
        with self.assertRaises(KeyboardInterrupt):
            self.run_job(self.job, settings={'train.epochs': 60}, keys={'simulate_slowdown': 100})
        done = len(self.rounds())
        self.assertLess(done, 60 * 8)
        result = self.run_job(self.job, settings={'train.epochs': 60}, resume=True)
        self.assert_whole(result, epochs=60)

    def test_a_failure_has_its_reason(self):
        result = self.run_job(self.job, settings={'train.lr': -1})
        self.assertIn('train.lr', str(result.error))
        self.assertEqual(result.error.code, 78)
        self.assertEqual((result.metrics, result.checkpoint), ({}, None))

    def test_a_place_that_cannot_start_is_named(self):
        with self.assertRaisesRegex(Failure, "host 'node-0': no such node: add it"):
            self.run_job(self.job, place=Nowhere)

    def test_a_function_takes_no_arguments_and_a_limited_size(self):
        with self.assertRaisesRegex(Failure, 'functools.partial'):
            self.run_job(engine_case.train, arguments=['a'])
        with self.assertRaisesRegex(Failure, 'load data and weights inside it'):
            self.run_job(functools.partial(len, b'x' * (5 << 20)))


class MissingEngine(unittest.TestCase):
    def test_it_is_named_with_its_package(self):
        for module, engine in (('ray', 'ray'), ('dask', 'distributed')):
            with mock.patch.dict(sys.modules, {engine: None}):
                sys.modules.pop(f'steelyard.{module}', None)
                with self.assertRaisesRegex(Failure, f'steelyard.{module} needs .*pip install'):
                    importlib.import_module(f'steelyard.{module}')


if __name__ == '__main__':
    unittest.main()
