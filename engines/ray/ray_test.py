"""steelyard.ray on a real Ray cluster of three unequal nodes on this machine."""
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import unittest
from unittest import mock

try:
    import ray
    from ray._raylet import GcsClient
    from ray.cluster_utils import Cluster
    from ray.core.generated.autoscaler_pb2 import DrainNodeReason
    from ray.util import state
except ImportError as why:
    print(f'skipped: {why}: script/setup --engines installs Ray')
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tests/bindings/python'))

import engine_case  # noqa: E402
from engine_case import parent_of, processes, runs  # noqa: E402

import steelyard.ray  # noqa: E402
from steelyard import Failure  # noqa: E402
from steelyard._passage import Passage  # noqa: E402

WORKERS = [{'CPU': 1}, {'CPU': 2}, {'CPU': 1, 'fast_disk': 1}]
SLOWED = {f'worker-{i}': {'simulate_slowdown': 50} for i in range(3)}  # rounds of tens of milliseconds
LONG = {'train.epochs': 30}


def setUpModule():
    global cluster, folder
    folder = tempfile.mkdtemp(prefix='ray-', dir='/tmp')  # Ray's sockets need a short path
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.shutdown)
    cluster.add_node(num_cpus=1, temp_dir=folder, include_dashboard=True)
    cluster.add_node(num_cpus=2)
    cluster.add_node(num_cpus=1, resources={'fast_disk': 1})
    ray.init(address=cluster.address)
    unittest.addModuleCleanup(ray.shutdown)


class RayCase(engine_case.EngineCase):
    def run_job(self, script=None, workers=WORKERS, **more):
        return steelyard.ray.run(script or self.job, workers, run_dir=self.run_directory,
                                 launch_options=['--quiet'], wait=60, **more)

    # ---- jobs

    def test_a_function_trains(self):
        def train():  # pickled by value
            engine_case.train()

        result = self.run_job(train)
        self.assertIsNone(result.error, self.logs())
        self.assertLess(result.history[-1]['loss'], 0.1 * result.history[0]['loss'])

    def test_the_example_trains(self):
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        import example
        result = self.run_job(example.train)
        self.assertIsNone(result.error, self.logs())

    def test_a_failed_script_is_an_error_with_its_reason(self):
        script = self.folder / 'script.py'
        script.write_text('import steelyard\nraise ValueError("no data here")\n')
        result = self.run_job(script)
        log = self.run_directory / 'log/worker-0.log'
        self.assertIn(f"process 'worker-0' on host 'node-0' exited with code 1; its log is {log}", str(result.error))
        self.assertIn('no data here', log.read_text())

    def test_unknown_resources_are_refused(self):
        with self.assertRaisesRegex(Failure, 'Ray has not placed .*unicorn.* it has .*fast_disk'):
            steelyard.ray.run(self.job, [{'unicorn': 1}], wait=1)

    # ---- losses

    def test_a_killed_actor_is_replaced_and_leaves_nothing(self):
        def kill():
            self.some_rounds_pass()
            worker, = processes('worker', '--name', 'worker-1')
            actor = parent_of(parent_of(worker))
            begin = time.monotonic()
            os.kill(actor, signal.SIGKILL)
            self.wait_for(lambda: not runs(worker), 'end of the worker')
            gone = time.monotonic() - begin
            self.wait_for(lambda: self.joined('worker-1') > 1, 'second worker-1')
            print(f'a killed actor: its worker gone after {gone:.2f} s, back after {time.monotonic() - begin:.2f} s')

        self.beside(kill)
        result = self.run_job(settings=LONG, worker_keys=SLOWED)
        self.assert_whole(result, epochs=30)

    def test_a_worker_leaves_a_draining_node_and_moves(self):
        nodes = [cluster.add_node(num_cpus=1, resources={'spot': 1}) for _ in range(2)]

        def drain():
            self.some_rounds_pass()
            worker, = processes('worker', '--name', 'worker-1')
            actor, = state.list_actors(filters=[('pid', '=', parent_of(parent_of(worker)))])
            node, = (it for it in nodes if it.node_id == actor.node_id)
            begin = time.monotonic()
            reason = DrainNodeReason.Value('DRAIN_NODE_REASON_PREEMPTION')
            deadline = int((time.time() + 600) * 1000)
            self.assertTrue(GcsClient(address=cluster.address).drain_node(node.node_id, reason, 'spot', deadline)[0])
            self.wait_for(lambda: "worker 'worker-1' left" in self.events(), 'leaving worker')
            left = time.monotonic() - begin
            self.some_rounds_pass()
            self.assertEqual(self.joined('worker-1'), 1)
            begin = time.monotonic()
            cluster.remove_node(node)
            self.wait_for(lambda: self.joined('worker-1') > 1, 'second worker-1')
            print(f'a drained node: left after {left:.2f} s, '
                  f'back {time.monotonic() - begin:.2f} s after its end')

        self.beside(drain)
        result = self.run_job(workers=[{'CPU': 1}, {'spot': 1}], settings=LONG, worker_keys=SLOWED)
        self.assert_whole(result, epochs=30)
        self.assertNotIn('lost', self.events())

    # ---- secrets

    def test_no_secret_is_visible(self):
        secrets, seen = set(), []
        pass_on = Passage._pass_on

        def listening(passage, message, line):
            secrets.update(it.split()[-1].encode() for it in message.get('keys', '').splitlines()[:1])
            pass_on(passage, message, line)

        def look():
            self.some_rounds_pass()
            time.sleep(2)  # Ray reports tasks once a second
            seen.append(repr((state.list_actors(detail=True), state.list_tasks(detail=True, limit=10000),
                              state.list_workers(detail=True), state.list_objects(detail=True))).encode())
            for process in pathlib.Path('/proc').glob('[0-9]*'):
                for name in ('environ', 'cmdline'):
                    try:
                        seen.append((process / name).read_bytes())
                    except OSError:
                        pass
            for place in (folder, self.folder):
                seen.extend(it.read_bytes() for it in pathlib.Path(place).rglob('*') if it.is_file())

        self.beside(look)
        with mock.patch.object(Passage, '_pass_on', listening):
            result = self.run_job(settings=LONG, worker_keys=SLOWED)
        self.assert_whole(result, epochs=30)
        self.assertEqual(len(secrets), 3)
        self.assertTrue(any(b'_Actor.receive' in it for it in seen), 'tasks are listed')
        self.assertTrue(any(b'worker-0' in it for it in seen), 'command lines are read')
        self.assertEqual([it for it in secrets if any(it in text for text in seen)], [])


if __name__ == '__main__':
    unittest.main()
