"""The life of a job: workers are killed, join late or fail; the job is interrupted or resumed."""
import json
import os
import pathlib
import signal
import sys
import textwrap
import time
import unittest

from cluster_case import PROGRAM, ClusterCase, cluster_jobs, torch

nn = torch.nn

ROWS, BATCH, EPOCHS = 240, 24, 4


class Counted(torch.utils.data.Dataset):
    """Each sample is its number, and takes `seconds` to read."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return ROWS

    def __getitem__(self, number):
        time.sleep(self.seconds)
        return number


def count(environment, folder, seconds, until=None):
    """The process of a worker that counts: each use of a sample moves the sample's row of the weight by -1. The
    process kills itself once the file `until` exists."""
    worker = environment['STEELYARD_NAME']
    cluster_jobs.be_worker(environment, f'{folder}/{worker}.log')
    import steelyard.torch
    model = nn.Embedding(ROWS, 1)
    nn.init.zeros_(model.weight)
    job = steelyard.torch.join(model, torch.optim.SGD(model.parameters(), lr=BATCH), Counted(seconds), batch=BATCH,
                               epochs=EPOCHS, micro_batch=4)
    for numbers in job:
        pathlib.Path(folder, f'{worker}.began').touch()
        job.backward(model(numbers).mean())
        if until and os.path.exists(until):
            os.kill(os.getpid(), signal.SIGKILL)
    torch.save({'weight': model.weight.detach(), 'main': job.main}, f'{folder}/{worker}.pt')


class ExactlyOnce(ClusterCase):
    def began(self, worker):
        return lambda: (self.folder / f'{worker}.began').exists()

    def expect_counted(self, *workers):
        for worker in workers:
            kept = self.kept(worker)
            self.assertTrue(torch.equal(kept['weight'], torch.full((ROWS, 1), -float(EPOCHS))), kept['weight'].T)

    def test_a_worker_is_killed_and_another_joins(self):
        launcher = self.cluster(2, 'cluster.servers=2', 'cluster.heartbeat=0.1')
        end = self.folder / 'kill'
        ada = self.start_worker(count, 'worker-0', seconds=0.003)
        bob = self.start_worker(count, 'worker-1', seconds=0.003, until=str(end))
        self.wait_for(self.began('worker-1'), 'share of worker-1')
        end.touch()
        bob.join(60)
        self.assertEqual(bob.exitcode, -signal.SIGKILL)
        late = self.start_worker(count, 'late', seconds=0.001)
        self.expect_exit(ada)
        self.expect_exit(late)
        self.expect_end(launcher)
        self.assertTrue(self.began('late')(), 'the late worker had no share')
        self.expect_counted('worker-0', 'late')

    def test_a_new_worker_continues_after_the_last_was_killed(self):
        launcher = self.cluster(1, 'cluster.heartbeat=0.1')
        end = self.folder / 'kill'
        end.touch()
        first = self.start_worker(count, 'worker-0', seconds=0.001, until=str(end))
        first.join(60)
        self.assertEqual(first.exitcode, -signal.SIGKILL)
        second = self.start_worker(count, 'second', seconds=0)
        self.expect_exit(second)
        self.expect_end(launcher)
        self.expect_counted('second')


SCRIPT = '''
    import os, sys, time
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy
    import steelyard.torch

    torch.manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.randn(200, 10), torch.randint(0, 3, (200,)))
    model = nn.Sequential(nn.Linear(10, WIDE), nn.ReLU(), nn.Linear(WIDE, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    def score(model, x, y):
        scores = model(x)
        return cross_entropy(scores, y), (scores.argmax(1) == y).sum()
    job = steelyard.torch.join(model, optimizer, data, batch=20, test=data, score=score, OPTIONS)
    for at, (x, y) in enumerate(job):
        TROUBLE
        job.backward(cross_entropy(model(x), y))
    print('the end of', job.worker, 'main' if job.main else 'not main')
    if job.main:
        torch.save(model.state_dict(), 'model.pt')
'''


class Life(ClusterCase):
    def script(self, name='train.py', trouble='pass', options='epochs=2', wide=8):
        text = textwrap.dedent(SCRIPT).replace('TROUBLE', trouble).replace('OPTIONS', options)
        path = self.folder / name
        path.write_text(text.replace('WIDE', str(wide)))
        return path

    def lone(self, **script):
        options = script.pop('options', 'epochs=2')
        return self.start(sys.executable, self.script(options=f'run_dir="run", {options}', **script))

    def under_run(self, *sets, workers=2, **script):
        settings = [word for it in sets for word in ('--set', it)]
        return self.start(PROGRAM, 'run', '-n', workers, '--run-dir', self.run_directory, *settings,
                          self.script(**script))

    def checkpoints(self):
        return sorted((self.run_directory / 'checkpoints').glob('*/model.safetensors'))

    def test_a_lone_process_trains_scores_and_saves(self):
        text = self.expect_end(self.lone())
        self.assertIn('the end of worker-0 main', text)
        state = torch.load(self.folder / 'model.pt')
        header = self.checkpoints()[-1].read_bytes()
        names = json.loads(header[8:8 + int.from_bytes(header[:8], 'little')])
        self.assertLessEqual(set(state), set(names))
        last = names['2.weight']['data_offsets'][0] + 8 + int.from_bytes(header[:8], 'little')
        stored = torch.frombuffer(bytearray(header[last:last + 4 * 24]), dtype=torch.float32).reshape(3, 8)
        self.assertTrue(torch.equal(stored, state['2.weight']))
        self.assertGreater(self.result()['accuracy'], 0.3)

    def test_one_of_two_fails_and_the_other_continues(self):
        text = self.expect_end(self.under_run(trouble=(
            'if os.environ["STEELYARD_NAME"] == "worker-1" and at == 3: raise ValueError("no such column")')), 1)
        self.assertEqual(text.count('Traceback'), 1, text)
        self.assertIn("worker 'worker-1' failed: ValueError: no such column", text)
        self.assertIn('worker-0: the end of worker-0 main', text)

    def test_the_exception_of_a_lone_process_ends_its_job(self):
        code, text = self.ended(self.lone(trouble='if at == 3: raise ValueError("no such column")'))
        self.assertEqual(code, 1)
        self.assertEqual(text.count('Traceback'), 1, text)
        self.assertIn("worker 'worker-0' failed: ValueError: no such column", text)

    def test_ctrl_c_leaves_a_checkpoint_to_resume_from(self):
        process = self.lone(options='epochs=1000', trouble='time.sleep(0.01)')
        self.wait_for(self.rounds, 'round')
        process.send_signal(signal.SIGINT)
        code, text = self.ended(process)
        self.assertNotEqual(code, 0)
        self.assertIn('KeyboardInterrupt', text)
        self.assertTrue(self.checkpoints(), text)
        begun = json.loads((self.run_directory / 'rounds.jsonl').read_text().splitlines()[-1])['round']
        text = self.expect_end(self.start(sys.executable, self.script(
            options=f'run_dir="run", resume=True, rounds={begun + 10}, epochs=1000')))
        self.assertIn('resuming from', text)
        self.assertEqual(self.rounds()[-1]['round'] + 1, begun + 10)

    def test_a_cluster_is_interrupted(self):
        launcher = self.under_run(options='epochs=1000', trouble='open("began", "w"); time.sleep(0.01)')
        self.wait_for((self.folder / 'began').exists, 'round')
        launcher.send_signal(signal.SIGINT)
        code, text = self.ended(launcher)
        self.assertEqual(code, 75, text)
        self.assertTrue(self.checkpoints(), text)

    def test_another_model_is_refused_by_name(self):
        launcher = self.cluster(1)
        at = {'STEELYARD': self.endpoint}
        script = self.script(options='epochs=100000', trouble='time.sleep(0.01)')
        first = self.start(sys.executable, script, STEELYARD_NAME='ada', **at)
        self.wait_for(lambda: self.rounds(), 'round')
        other = self.start(sys.executable, self.script('other.py', wide=9), STEELYARD_NAME='bob', **at)
        code, text = self.ended(other)
        self.assertNotEqual(code, 0)
        self.assertIn('parameters in other places than the scheduler', text)
        launcher.send_signal(signal.SIGINT)
        self.expect_end(launcher, 75)
        self.assertNotEqual(self.ended(first)[0], 0, 'the job was ended on request')

    def test_an_unknown_option(self):
        code, text = self.ended(self.lone(options='policy="fastest"'))
        self.assertNotEqual(code, 0)
        self.assertIn('fastest', text)
        self.assertIn('steelyard', text)

    def test_the_run_can_be_inspected(self):
        self.expect_end(self.under_run())
        text = self.expect_end(self.start(PROGRAM, 'inspect', self.run_directory))
        self.assertIn('all hashes are correct', text)
        self.assertIn('0.weight', text)
        self.assertEqual({it for round in self.rounds() for it in round['workers']}, {'worker-0', 'worker-1'})


if __name__ == '__main__':
    unittest.main()
