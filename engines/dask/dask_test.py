"""steelyard.dask on a real Dask cluster of three processes on this machine."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

try:
    import dask
    from distributed import Client, LocalCluster
except ImportError as why:
    print(f'skipped: {why}: script/setup --engines installs Dask')
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tests/bindings/python'))

import engine_case  # noqa: E402
from engine_case import parent_of, processes, runs  # noqa: E402

import steelyard.dask  # noqa: E402
from steelyard import Failure  # noqa: E402

SLOWED = {f'worker-{i}': {'simulate_slowdown': 50} for i in range(3)}  # rounds of tens of milliseconds
LONG = {'train.epochs': 30}


class DaskCase(engine_case.EngineCase):
    def setUp(self):
        super().setUp()
        scratch = dask.config.set({'temporary-directory': str(self.folder / 'dask')})
        self.addCleanup(scratch.__exit__, None, None, None)
        self.cluster = LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None)
        self.addCleanup(self.cluster.close)
        self.client = Client(self.cluster)
        self.addCleanup(self.client.close)

    def run_job(self, script=None, workers=None, **more):
        return steelyard.dask.run(self.client, script or self.job, workers, run_dir=self.run_directory,
                                  launch_options=['--quiet'], **more)

    # ---- jobs

    def test_a_function_trains(self):
        def train():  # pickled by value
            engine_case.train()

        result = self.run_job(train, workers=2)
        self.assertIsNone(result.error, self.logs())
        self.assertLess(result.history[-1]['loss'], 0.1 * result.history[0]['loss'])
        self.assertNotIn('worker-2', self.events())

    def test_missing_workers_are_waited_for(self):
        with self.assertRaisesRegex(Failure, 'the Dask cluster has 3 workers after 1 s, not 4'):
            self.run_job(workers=4, wait=1)

    # ---- losses

    def test_a_killed_dask_worker_is_replaced_and_leaves_nothing(self):
        def kill():
            self.some_rounds_pass()
            worker, = processes('worker', '--name', 'worker-1')
            begin = time.monotonic()
            os.kill(parent_of(parent_of(worker)), signal.SIGKILL)
            self.wait_for(lambda: not runs(worker), 'end of the worker')
            gone = time.monotonic() - begin
            self.wait_for(lambda: self.joined('worker-1') > 1, 'second worker-1')
            print(f'a killed Dask worker: its worker gone after {gone:.2f} s, '
                  f'back after {time.monotonic() - begin:.2f} s')

        self.beside(kill)
        result = self.run_job(settings=LONG, worker_keys=SLOWED)
        self.assert_whole(result, epochs=30)

    def test_a_lost_client_leaves_nothing(self):
        script = self.folder / 'client.py'
        script.write_text(
            'import sys\nimport steelyard.dask\nfrom distributed import Client\n'
            f'steelyard.dask.run(Client({self.client.scheduler.address!r}), {str(self.job)!r},\n'
            f'    run_dir={str(self.run_directory)!r}, settings={LONG!r}, worker_keys={SLOWED!r})\n')
        process = subprocess.Popen([sys.executable, script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.some_rounds_pass()
        process.kill()
        self.wait_for(lambda: not processes(), 'end of all processes')


if __name__ == '__main__':
    unittest.main()
