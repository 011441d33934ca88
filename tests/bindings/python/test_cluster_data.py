"""Workers of a real cluster use each sample as often as a stream, a sampler or a batch sampler yields it."""
import itertools
import os
import pathlib
import signal
import time

from cluster_case import ClusterCase, cluster_jobs, torch

nn, utils = torch.nn, torch.utils.data
ROWS, BATCH, EPOCHS = 240, 24, 4


class Stream(utils.IterableDataset):
    """Its items are the numbers from 0."""

    def __iter__(self):
        return itertools.count()


class Numbers(utils.Dataset):
    def __len__(self):
        return ROWS

    def __getitem__(self, number):
        return number


def lists():
    return utils.BatchSampler(utils.RandomSampler(range(ROWS)), 17, False)


KINDS = {
    'stream': lambda: (Stream(), {'samples': ROWS}),
    'read ahead': lambda: (Stream(), {'samples': ROWS, 'num_workers': 1, 'multiprocessing_context': 'fork'}),
    'fixed': lambda: (Numbers(), {'shuffle': False}),
    'weights': lambda: (Numbers(), {'sampler': utils.WeightedRandomSampler([0.0] * 100 + [1.0] * 140, 130)}),
    'other weights': lambda: (Numbers(), {'sampler': utils.WeightedRandomSampler([1.0] * 240, 130)}),
    'drop_last': lambda: (Numbers(), {'sampler': utils.SubsetRandomSampler(range(100)), 'drop_last': True}),
    'lists': lambda: (Numbers(), {'batch_sampler': lists(), 'batch_size': BATCH}),
}


def count(kind, environment, folder, until=None, seconds=0.0):
    """The process of a worker that counts: each use of a sample moves the sample's row of the weight by -1.
    It kills itself once the file `until` exists."""
    worker = environment['STEELYARD_NAME']
    cluster_jobs.be_worker(environment, f'{folder}/{worker}.log')
    import steelyard.torch
    model = nn.Embedding(ROWS, 1)
    nn.init.zeros_(model.weight)
    data, options = KINDS[kind]()
    options = {'batch': None if 'batch_size' in options else BATCH, **options}
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    job = steelyard.torch.join(model, optimizer, data, epochs=EPOCHS, micro_batch=4, **options)
    used = []
    for numbers in job:
        pathlib.Path(folder, f'{worker}.began').touch()
        used.append((job.epoch, job.position, numbers.tolist()))
        time.sleep(seconds * len(numbers))
        # The servers divide by the samples of the round, which is shorter at the end of an epoch.
        length = min(BATCH, job.about['train_samples'] - job.round * BATCH)
        job.backward(model(numbers).mean() * length)
        if until and os.path.exists(until):
            os.kill(os.getpid(), signal.SIGKILL)
    torch.save({'weight': model.weight.detach(), 'used': used}, f'{folder}/{worker}.pt')


class Counted(ClusterCase):
    def run_all(self, kind, *sets, workers=2):
        launcher = self.cluster(workers, *sets)
        processes = [self.start_worker(count, f'worker-{it}', kind) for it in range(workers)]
        for process in processes:
            self.expect_exit(process)
        self.expect_end(launcher)
        return [self.kept(f'worker-{it}') for it in range(workers)]

    def expect_uses(self, kept, expected):
        for its in kept:
            off = its['weight'][:, 0] + torch.tensor(expected, dtype=torch.float32)
            self.assertLess(off.abs().max().item(), 1e-4, off)

    def uses(self, kept):
        """How often each sample was yielded, over all workers."""
        times = [0] * ROWS
        for its in kept:
            for _, _, numbers in its['used']:
                for number in numbers:
                    times[number] += 1
        return times

    def test_a_stream(self):
        kept = self.run_all('stream', 'cluster.policy=static', 'policy.static.speeds=1 3')
        self.expect_uses(kept, [EPOCHS] * ROWS)

    def test_a_fixed_order(self):
        kept = self.run_all('fixed', 'cluster.policy=equal')
        self.expect_uses(kept, [EPOCHS] * ROWS)
        firsts = {position: numbers[0] for its in kept for _, position, numbers in its['used'][:1]}
        self.assertEqual(firsts, {it: it for it in firsts})

    def test_a_sampler_with_weights(self):
        kept = self.run_all('weights', 'cluster.policy=static', 'policy.static.speeds=1 3')
        times = self.uses(kept)
        self.assertEqual((sum(times), sum(times[:100])), (130 * EPOCHS, 0))
        self.expect_uses(kept, times)

    def test_drop_last(self):
        kept = self.run_all('drop_last')
        times = self.uses(kept)
        self.assertEqual((sum(times), max(times)), (96 * EPOCHS, EPOCHS))
        self.expect_uses(kept, times)

    def test_a_batch_sampler(self):
        kept = self.run_all('lists')
        self.expect_uses(kept, [EPOCHS] * ROWS)

    def test_a_worker_with_another_sampler_is_refused_by_name(self):
        launcher = self.cluster(2)  # waits for a second worker, so training has not begun
        self.start_worker(count, 'worker-0', 'weights')
        self.wait_for(lambda: "'worker-0' joined" in launcher.out.read_text(), 'worker-0')
        other = self.start_worker(count, 'other', 'other weights')
        self.expect_exit(other, 1)
        self.assertRegex(pathlib.Path(self.folder, 'other.log').read_text(),
                         "the hash is 'sampler=WeightedRandomSampler [0-9a-f]+' instead of 'sampler=Weighted")
        self.assertNotEqual(self.ended(launcher)[0], 0)

    def killed(self, kind):
        launcher = self.cluster(2, 'cluster.heartbeat=0.1')
        end = self.folder / 'kill'
        ada = self.start_worker(count, 'worker-0', kind, seconds=0.003)
        bob = self.start_worker(count, 'worker-1', kind, seconds=0.003, until=str(end))
        self.wait_for((self.folder / 'worker-1.began').exists, 'share of worker-1')
        end.touch()
        bob.join(60)
        self.assertEqual(bob.exitcode, -signal.SIGKILL)
        self.expect_exit(ada)
        self.expect_end(launcher)
        return [self.kept('worker-0')]

    def test_a_stream_loses_nothing_if_a_worker_is_killed(self):
        self.expect_uses(self.killed('stream'), [EPOCHS] * ROWS)

    def test_a_stream_that_is_read_ahead_loses_nothing_either(self):
        self.expect_uses(self.killed('read ahead'), [EPOCHS] * ROWS)


def train_normed(environment, folder):
    """The process of a worker: batch norm, 97 samples in batches of 64, micro-batches of 16."""
    worker = environment['STEELYARD_NAME']
    cluster_jobs.be_worker(environment, f'{folder}/{worker}.log')
    import steelyard.torch
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(10, 20), nn.BatchNorm1d(20), nn.Linear(20, 3))
    optimizer, data = torch.optim.SGD(model.parameters(), lr=0.1), cluster_jobs.samples(97)
    job = steelyard.torch.join(model, optimizer, data, batch=64, epochs=3, micro_batch=16)
    sizes = []
    for x, y in job:
        sizes.append((job.epoch, job.position, len(x)))
        job.backward(cluster_jobs.mean_loss(model, x, y))
    torch.save({'sizes': sizes, 'weight': model[0].weight.detach()}, f'{folder}/{worker}.pt')


class Normed(ClusterCase):
    def trained(self, workers, *sets):
        launcher = self.cluster(workers, *sets)
        processes = [self.start_worker(train_normed, f'worker-{it}') for it in range(workers)]
        for process in processes:
            self.expect_exit(process)
        self.expect_end(launcher)
        kept = [self.kept(f'worker-{it}') for it in range(workers)]
        sizes = [it[2] for its in kept for it in its['sizes']]
        self.assertEqual((sizes.count(17), sizes.count(16), len(sizes)), (3, 15, 18))
        return kept[0]['weight']

    def test_a_lone_sample_joins_the_micro_batch_before_in_any_division(self):
        alone = self.trained(1)
        self.doCleanups()
        self.setUp()
        shared = self.trained(2, 'cluster.policy=equal')
        self.assertLess((alone - shared).abs().max().item(), 1e-5)
        shares = [it['shares'] for it in self.rounds() if it['round'] % 2 == 1]
        self.assertEqual({tuple(sorted(it)) for it in shares}, {(1, 32)})


if __name__ == '__main__':
    import unittest
    unittest.main()
