"""`steelyard attend` in an actor: it and its processes end when the actor does, however that happens."""
import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'bindings/python'))

from steelyard._attend import Attend  # noqa: E402

DEADLINE = 60  # seconds
SLEEPS = {'start': 'sleeper', 'program': 'sh', 'arguments': ['-c', 'trap "" TERM; echo $$; while :; do sleep 1; done']}

# An actor's process: prints the processes of `attend` and of one that it has started, and goes on.
HOLDER = f"""
import asyncio, json, sys
sys.path[:0] = {sys.path[:1]!r}
from steelyard._attend import Attend
async def hold():
    actor = Attend()
    await actor.start()
    await actor.receive()
    await actor.send(json.dumps({SLEEPS!r}).encode() + b'\\n')
    print(actor._child.pid, json.loads(await actor.receive())['text'], flush=True)
    await asyncio.sleep(1000)
asyncio.run(hold())
"""


def runs(process):
    try:
        return ' Z ' not in pathlib.Path(f'/proc/{process}/stat').read_text().rpartition(')')[2][:3]
    except OSError:
        return False


class AttendCase(unittest.TestCase):
    def wait_for(self, condition, what):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, f'no {what} within {DEADLINE} seconds')
            time.sleep(0.01)

    def test_lines_pass_and_stop_ends_all(self):
        async def pass_lines():
            actor = Attend()
            await actor.start()
            self.assertIn('ready', json.loads(await actor.receive()))
            await actor.send(json.dumps({'start': 'speaks', 'program': 'echo', 'arguments': ['hello']}).encode() + b'\n')
            said = b''
            while b'ended' not in said:
                said += await actor.receive()
            first, last = map(json.loads, said.decode().splitlines())
            self.assertEqual((first['from'], first['text']), ('speaks', 'hello'))
            self.assertEqual((last['ended'], last['status']), ('speaks', 0))
            receives = asyncio.ensure_future(actor.receive())
            await asyncio.sleep(0)
            await actor.stop()
            self.assertEqual(await receives, b'')
            self.assertEqual(await actor.receive(), b'', 'it has no attend')
            await actor.send(b'{}\n')  # lost

        asyncio.run(pass_lines())

    def test_python3_is_the_python_of_the_actor(self):
        async def ask():
            actor = Attend()
            await actor.start()
            await actor.receive()
            asks = {'start': 'asks', 'program': 'python3', 'arguments': ['-c', 'import sys; print(sys.executable)']}
            await actor.send(json.dumps(asks).encode() + b'\n')
            said = await actor.receive()
            await actor.stop()
            return json.loads(said.splitlines()[0])['text']

        self.assertEqual(os.path.dirname(asyncio.run(ask())), os.path.dirname(sys.executable))

    def test_nothing_outlives_a_killed_actor(self):
        holder = subprocess.Popen([sys.executable, '-c', HOLDER], stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        attend, sleeper = map(int, holder.stdout.readline().split())
        self.assertTrue(runs(attend) and runs(sleeper))
        holder.send_signal(signal.SIGKILL)
        self.wait_for(lambda: not runs(attend) and not runs(sleeper), 'end of attend and of a script that ignores SIGTERM')

    def test_a_deleted_actor_ends_its_attend(self):
        async def forget():
            actor = Attend()
            await actor.start()
            await actor.receive()
            process = actor._child.pid
            del actor
            self.wait_for(lambda: not runs(process), 'end of attend')

        asyncio.run(forget())


if __name__ == '__main__':
    unittest.main()
