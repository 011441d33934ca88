"""Results of scripts: scores, rates, checkpoints and resuming from them; and workers that are refused."""
import json
import re
import signal
import struct
import sys

from cluster_case import HERE, PROGRAM, ClusterCase, torch

SCRIPT = HERE / 'cluster_script.py'


def tensors(path):
    """Reads a safetensors file as {name: tensor of float32}."""
    raw = path.read_bytes()
    length = struct.unpack('<Q', raw[:8])[0]
    about = json.loads(raw[8:8 + length])
    found = {}
    for name, its in about.items():
        if name != '__metadata__':
            begin, end = (8 + length + it for it in its['data_offsets'])
            found[name] = torch.frombuffer(bytearray(raw[begin:end]), dtype=torch.float32).view(its['shape'])
    return found


class ScriptCase(ClusterCase):
    def alone(self, *options, **environment):
        return self.start(sys.executable, SCRIPT, '--run-dir', self.run_directory, *options, **environment)

    def run_two(self, *options, sets=()):
        return self.start(PROGRAM, 'run', '-n', 2, '--run-dir', self.run_directory,
                          *[word for it in sets for word in ('--set', it)], SCRIPT, *options)

    def until_at_work(self):
        self.wait_for((self.folder / 'at-work').exists, 'worker at work')


class Errors(ScriptCase):
    def test_an_exception_in_both_workers_ends_the_job(self):
        text = self.expect_end(self.run_two('--raise-on', 'worker-0,worker-1'), 1)
        self.assertEqual(self.result()['outcome'], 'worker failed', text)
        self.assertIn('ValueError: spoiled sample', self.result()['text'])


class Results(ScriptCase):
    def test_of_two_workers(self):
        text = self.expect_end(self.run_two(sets=['worker.worker-1.simulate_slowdown=3']))
        ends = re.findall(r'the end: finished, right (\d+)', text)
        self.assertEqual(len(ends), 2, text)
        self.assertAlmostEqual(self.result()['accuracy'], int(ends[0]) / 60, places=6)
        self.assertEqual(len({it['epoch'] for it in self.rounds('evaluate')}), 3, text)
        for it in self.rounds():
            self.assertAlmostEqual(it['lr'], 0.1 * 0.5**it['epoch'], places=7)
        kept = tensors(self.folder / self.result()['checkpoint'] / 'model.safetensors')
        model = torch.load(self.folder / 'model.pt')
        self.assertEqual(set(kept), set(model))
        for name, tensor in kept.items():
            self.assertTrue(torch.equal(tensor, model[name]), name)

    def test_a_job_resumes_where_it_was(self):
        whole = self.folder / 'whole'
        self.expect_end(self.start(sys.executable, SCRIPT, '--run-dir', whole, '--epochs', '4'))
        expected = torch.load(self.folder / 'model.pt')
        self.expect_end(self.start(PROGRAM, 'run', '--run-dir', self.run_directory, '--set', 'train.rounds=25', SCRIPT,
                                   '--epochs', '4'))
        text = self.expect_end(self.alone('--resume', '--epochs', '4'))
        self.assertIn('first piece: epoch 2 round 5', text)
        self.assertEqual([it['round'] for it in self.rounds()][-15:], list(range(25, 40)))
        self.assert_same(torch.load(self.folder / 'model.pt'), expected, 1e-4)


class Refused(ScriptCase):
    def refused(self, *options, text):
        """Starts a second worker with these options: it must be refused, and the job must continue without it."""
        sockets = self.folder / 'sockets'
        sockets.mkdir()
        launcher = self.start(PROGRAM, 'run', '-n', '1', '--sockets', sockets, '--run-dir', self.run_directory)
        endpoint = f'ipc://{sockets}/scheduler'
        first = self.start(sys.executable, SCRIPT, '--hold', STEELYARD=endpoint, STEELYARD_NAME='first')
        self.until_at_work()
        second = self.start(sys.executable, SCRIPT, *options, STEELYARD=endpoint, STEELYARD_NAME='second')
        code, output = self.ended(second)
        self.assertIn(code, (1, 76, 78), output)
        self.assertRegex(output, text)
        self.assertIsNone(first.poll())
        before = len(self.rounds())
        self.wait_for(lambda: len(self.rounds()) > before, 'further round')
        launcher.send_signal(signal.SIGINT)
        self.expect_end(launcher, 75)
        code, output = self.ended(first)
        self.assertNotIn('Segmentation', output)

    def test_another_length(self):
        self.refused('--samples', '180', text='180')


if __name__ == '__main__':
    import unittest
    unittest.main()
