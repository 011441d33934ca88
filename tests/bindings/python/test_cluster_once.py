"""Each sample of an epoch counts once, even if workers are killed or join.

The model has a row for each sample, and the rate is such that a sample moves its row by 1: after N
epochs each row has moved by N, if each sample has counted once in each.
"""
import os
import pathlib
import signal
import time

from cluster_case import DEADLINE, ClusterCase, cluster_jobs, torch

COUNT, BATCH, EPOCHS, WIDTH = 400, 40, 3, 64


class Rows(torch.nn.Module):
    """Two tables, each so large that its gradient is sent as soon as it is final: first b, then a."""

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Embedding(COUNT, WIDTH), torch.nn.Embedding(COUNT, WIDTH)
        with torch.no_grad():
            self.a.weight.zero_()
            self.b.weight.zero_()


def case():
    return cluster_jobs.Case(model=Rows, data=range(COUNT), batch=BATCH, epochs=EPOCHS, micro_batch=5,
                             optimizer=lambda model: torch.optim.SGD(model.parameters(), lr=BATCH))


def count(environment, folder, kill=None, wait=None):
    """`kill`: this worker kills itself in the second epoch, "between" two micro-batches or "within" the last
    backward of a piece, when one gradient has been sent. `wait`: a file to wait for in the second epoch."""
    name = environment['STEELYARD_NAME']
    cluster_jobs.be_worker(environment, f'{folder}/{name}.log')
    model = case().first_model()
    job = case().join(model)
    for numbers in job:
        late = job.epoch == 1 and job.round >= 3
        if late and wait:
            wait_for_file(pathlib.Path(folder, wait))
        a, b = model.a(numbers), model.b(numbers)
        if late and kill == 'within' and job._body.last:
            a.register_hook(lambda gradient: os.kill(os.getpid(), signal.SIGKILL))
        job.backward((a.sum() + b.sum()) / len(numbers))
        pathlib.Path(folder, f'{name}.at_work').touch()
        if late and kill == 'between' and not job._body.last:
            os.kill(os.getpid(), signal.SIGKILL)
    torch.save({'state': model.state_dict(), 'main': job.main}, f'{folder}/{name}.pt')


def wait_for_file(path):
    end = time.monotonic() + DEADLINE
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(path)
        time.sleep(0.005)


class Once(ClusterCase):
    def expect_once(self, *names):
        for name in names:
            for table, moved in self.kept(name)['state'].items():
                self.assertEqual(sorted(set((-moved).flatten().tolist())), [EPOCHS], f'{table} of {name}')
        self.assertEqual(sum(self.kept(it)['main'] for it in names), 1)
        self.assertEqual(self.result()['outcome'], 'finished')

    def lose_one(self, how):
        launcher = self.cluster(3, 'cluster.servers=2', 'cluster.policy=equal', 'cluster.heartbeat_timeout=2')
        lost = self.start_worker(count, 'worker-0', kill=how)
        others = [self.start_worker(count, f'worker-{it}') for it in (1, 2)]
        self.expect_exit(lost, -signal.SIGKILL)
        for process in others:
            self.expect_exit(process)
        self.expect_end(launcher)
        self.expect_once('worker-1', 'worker-2')
        rounds = self.rounds()
        self.assertIn('worker-0', rounds[10]['workers'])
        self.assertNotIn('worker-0', rounds[-1]['workers'])

    def test_a_worker_is_killed_between_two_micro_batches(self):
        self.lose_one('between')

    def test_a_worker_is_killed_after_sending_a_part_of_its_gradient(self):
        self.lose_one('within')

    def test_a_worker_joins_late(self):
        launcher = self.cluster(1, 'cluster.policy=equal')
        first = self.start_worker(count, 'worker-0', wait='late.joined')
        self.wait_for((self.folder / 'worker-0.at_work').exists, 'first worker at work')
        late = self.start_worker(join_late, 'late')
        for process in (first, late):
            self.expect_exit(process)
        self.expect_end(launcher)
        self.expect_once('worker-0', 'late')
        self.assertEqual(set(self.rounds()[-1]['workers']), {'worker-0', 'late'})

    def test_the_only_worker_is_killed_and_another_joins(self):
        launcher = self.cluster(1, 'cluster.heartbeat_timeout=2')
        first = self.start_worker(count, 'worker-0', kill='between')
        self.expect_exit(first, -signal.SIGKILL)
        second = self.start_worker(count, 'second')
        self.expect_exit(second)
        self.expect_end(launcher)
        self.expect_once('second')


def join_late(environment, folder):
    """As count(), but with other first weights. Writes a file when it has joined."""
    cluster_jobs.be_worker(environment, f'{folder}/late.log')
    model = case().first_model()
    with torch.no_grad():
        model.a.weight.fill_(5)
    job = case().join(model)
    job.wait_until_joined()
    pathlib.Path(folder, 'late.joined').touch()
    for numbers in job:
        job.backward((model.a(numbers).sum() + model.b(numbers).sum()) / len(numbers))
    torch.save({'state': model.state_dict(), 'main': job.main}, f'{folder}/late.pt')


if __name__ == '__main__':
    import unittest
    unittest.main()
