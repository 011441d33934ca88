"""The passage between `steelyard launch` and an actor: what `launch` sees while actors come and go."""
import json
import queue
import signal
import socket
import sys
import pathlib
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'bindings/python'))

from steelyard import Failure  # noqa: E402
from steelyard._passage import Lost, Passage, Place  # noqa: E402

READY = {'ready': '0.1.0', 'protocol': 1}
DEADLINE = 30  # seconds


class StandIn(Place):
    """An actor that the test plays: `received` has what came from `launch`."""

    def __init__(self):
        super().__init__()
        self.received = queue.Queue()
        self.starts = threading.Semaphore(1)
        self._said = queue.Queue()

    def start(self):
        while not self.starts.acquire(timeout=0.05):
            if self.closed.is_set():
                raise Lost
        self.say(READY)

    def send(self, data):
        self.received.put(json.loads(data))

    def receive(self):
        said = self._said.get()
        if said is Lost:
            raise Lost
        return said

    def stop(self):
        self._said.put(b'')

    def say(self, message):
        self._said.put(json.dumps(message).encode() + b'\n')

    def lose(self):
        self._said.put(Lost)


class PassageCase(unittest.TestCase):
    def setUp(self):
        self.place = StandIn()
        self.open()

    def open(self, **keywords):
        self.passage = Passage('node-0', self.place, **keywords)
        self.addCleanup(self.passage.close)
        self.launch, its = socket.socketpair()
        self.addCleanup(self.launch.close)
        self.launch.settimeout(DEADLINE)
        self.lines = self.launch.makefile('rb')
        self.addCleanup(self.lines.close)
        self.assertTrue(self.passage.ready.wait(DEADLINE))
        self.passage.connect(its)

    def tell(self, **message):
        self.launch.sendall(json.dumps(message).encode() + b'\n')

    def told(self):
        return self.place.received.get(timeout=DEADLINE)

    def heard(self):
        return json.loads(self.lines.readline())

    def begin(self, name='worker-0'):
        self.tell(start=name, arguments=['worker'])
        self.assertEqual(self.told()['start'], name)


class PassageOfProgram(PassageCase):
    # ---- while the actor lives

    def test_lines_pass_in_both_directions(self):
        self.assertEqual(self.heard(), READY)
        self.tell(start='worker-0', arguments=['worker'], keys='secret')
        self.assertEqual(self.told(), {'start': 'worker-0', 'arguments': ['worker'], 'keys': 'secret'})
        self.tell(beat=1)
        self.assertEqual(self.told(), {'beat': 1})
        self.place.say({'from': 'worker-0', 'text': 'hello'})
        self.assertEqual(self.heard(), {'from': 'worker-0', 'text': 'hello'})
        self.place.say({'ended': 'worker-0', 'status': 0})
        self.assertEqual(self.heard(), {'ended': 'worker-0', 'status': 0})

    def test_the_end_of_launch_ends_the_actor(self):
        self.assertEqual(self.heard(), READY)
        self.launch.shutdown(socket.SHUT_WR)
        self.assertEqual(self.lines.readline(), b'')
        self.assertTrue(self.place.closed.is_set())

    # ---- a lost actor

    def test_processes_of_a_lost_actor_were_killed_and_start_on_the_next(self):
        self.assertEqual(self.heard(), READY)
        self.begin('worker-0')
        self.begin('worker-1')
        self.place.lose()
        self.assertEqual(self.heard(), {'ended': 'worker-0', 'status': signal.SIGKILL})
        self.assertEqual(self.heard(), {'ended': 'worker-1', 'status': signal.SIGKILL})
        self.tell(start='worker-0', arguments=['again'])
        self.tell(beat=1)
        self.place.starts.release()
        self.assertEqual(self.told(), {'start': 'worker-0', 'arguments': ['again']})
        self.place.say({'from': 'worker-0', 'text': 'back'})
        self.assertEqual(self.heard(), {'from': 'worker-0', 'text': 'back'}, 'a second greeting is not for launch')

    def test_a_process_that_waits_for_an_actor_can_be_stopped(self):
        self.assertEqual(self.heard(), READY)
        self.begin()
        self.place.lose()
        self.assertEqual(self.heard()['ended'], 'worker-0')
        self.tell(start='worker-0', arguments=['again'])
        self.tell(to='worker-0', signal=int(signal.SIGTERM))
        self.assertEqual(self.heard(), {'ended': 'worker-0', 'status': signal.SIGTERM})
        self.place.starts.release()
        self.tell(start='worker-1')
        self.assertEqual(self.told(), {'start': 'worker-1'}, 'worker-0 is not started any more')

    # ---- a draining node

    def test_processes_leave_a_draining_node_and_start_on_the_next(self):
        self.assertEqual(self.heard(), READY)
        self.begin()
        self.assertTrue(self.passage.leave())
        self.assertFalse(self.passage.leave(), 'it was asked already')
        self.assertEqual(self.told(), {'to': 'worker-0', 'signal': signal.SIGTERM})
        self.place.say({'ended': 'worker-0', 'status': 75 << 8})
        self.assertEqual(self.heard(), {'ended': 'worker-0', 'status': signal.SIGTERM})
        self.tell(start='worker-0', arguments=['again'])
        self.place.starts.release()
        self.assertEqual(self.told(), {'start': 'worker-0', 'arguments': ['again']})
        self.place.say({'ended': 'worker-0', 'status': 75 << 8})
        self.assertEqual(self.heard(), {'ended': 'worker-0', 'status': 75 << 8}, 'it does not leave any more')

    def test_a_job_that_ends_while_its_node_drains_has_ended(self):
        self.assertEqual(self.heard(), READY)
        self.begin()
        self.assertTrue(self.passage.leave())
        self.place.say({'ended': 'worker-0', 'status': 0})
        self.assertEqual(self.heard(), {'ended': 'worker-0', 'status': 0})


class PassageOfFunction(PassageCase):
    def open(self, **keywords):
        super().open(function='packed', **keywords)

    def test_the_function_takes_the_place_of_the_script(self):
        self.assertEqual(self.heard(), READY)
        self.tell(start='worker-0', program='python3', arguments=['-u', 'train.py'], environment=['A=1'])
        self.assertEqual(self.told(), {'start': 'worker-0', 'program': 'python3', 'environment': ['A=1'],
                                       'input': 'packed', 'arguments': ['-u', '-m', 'steelyard._function']})


class PassageWithoutActor(unittest.TestCase):
    def test_the_reason_is_kept_and_the_line_ends(self):
        class Nowhere(StandIn):
            def start(self):
                raise Failure('no program there', 78)

        passage = Passage('node-3', Nowhere())
        self.addCleanup(passage.close)
        self.assertTrue(passage.ready.wait(DEADLINE))
        self.assertEqual(str(passage.failure), "host 'node-3': no program there")
        self.assertEqual(passage.failure.code, 78)
        launch, its = socket.socketpair()
        self.addCleanup(launch.close)
        launch.settimeout(DEADLINE)
        passage.connect(its)
        self.assertEqual(launch.recv(1), b'')

    def test_an_attend_that_exits_at_once_is_a_failure(self):
        class Wrong(StandIn):
            def start(self):
                self.stop()

        passage = Passage('node-0', Wrong())
        self.addCleanup(passage.close)
        self.assertTrue(passage.ready.wait(DEADLINE))
        self.assertIn('attend', str(passage.failure))


if __name__ == '__main__':
    unittest.main()
