"""The order of samples: of a sampler, fixed, without the last incomplete batch, or of a batch sampler."""
import random

from torch_case import TorchCase, mean_loss, mlp, samples, torch
import standin
from steelyard import Failure
from steelyard._reading import cut
from steelyard._torch_order import SampledOrder, order_of

utils = torch.utils.data


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


class Numbers(utils.Dataset):
    """Each sample is its number."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        return number


class OrderCase(TorchCase):
    def used(self, count=100, shares=(1, 7), index=0, cluster=None, **options):
        """The samples of each epoch in the order of their use, and the micro-batches."""
        cluster = cluster or standin.Cluster(shares=lambda number: shares)
        model, epochs, parts = torch.nn.Embedding(count, 1), {}, []
        job = self.join(cluster, model, sgd(model), Numbers(count), index=index, **options)
        for numbers in job:
            epochs.setdefault(job.epoch, []).extend(numbers.tolist())
            parts.append((job.epoch, job.position, numbers.tolist()))
            job.backward(model(numbers).mean())
        self.cluster, self.parts = cluster, parts
        return [epochs[it] for it in sorted(epochs)]

    def refuse(self, text, **options):
        with self.assertRaisesRegex(Failure, text) as caught:
            self.used(**options)
        self.assertEqual(caught.exception.code, 78)


class Samplers(OrderCase):
    def test_an_epoch_has_the_samples_that_the_sampler_draws(self):
        weights = [0.0] * 50 + [1.0] * 50
        for sampler, count in ((utils.WeightedRandomSampler(weights, 70), 70),
                               (utils.SubsetRandomSampler(range(50, 90)), 40),
                               (utils.RandomSampler(range(100), replacement=True, num_samples=130), 130)):
            epochs = self.used(sampler=sampler)
            self.assertEqual([len(it) for it in epochs], [count, count])
            self.assertNotEqual(*epochs)
            self.assertEqual(self.cluster.description['train_samples'], count)
            if count != 130:
                self.assertGreaterEqual(min(map(min, epochs)), 50)
        self.assertEqual(sorted(set(self.used(sampler=utils.SubsetRandomSampler(range(50, 90)))[1])),
                         list(range(50, 90)))

    def test_lists_and_sequential_samplers_keep_their_order(self):
        given = [5, 3, 3, 99, 0]
        self.assertEqual(self.used(sampler=given, batch=2), [given, given])
        whole = list(range(100))
        self.assertEqual(self.used(sampler=utils.SequentialSampler(whole)), [whole, whole])
        self.assertEqual(self.used(shuffle=False), [whole, whole])

    def test_every_worker_draws_the_same_whatever_it_drew_before(self):
        epochs = []
        for turn in range(2):
            torch.manual_seed(turn)
            random.seed(turn)
            epochs.append(self.used(sampler=utils.RandomSampler(range(100)), shares=[[1, 7], [3, 1]][turn]))
        self.assertEqual(*epochs)
        self.assertNotEqual(epochs[0], self.used(sampler=utils.RandomSampler(range(100)), seed=2))

    def test_drawing_leaves_no_trace_in_the_programs_generators(self):
        own = torch.Generator().manual_seed(3)
        before = torch.get_rng_state(), random.getstate(), own.get_state()
        order = order_of(Numbers(100), 10, sampler=utils.RandomSampler(range(100), generator=own))
        drawn = order.numbers(1, 5, 0, 100)
        self.assertTrue(torch.equal(before[0], torch.get_rng_state()))
        self.assertEqual(before[1], random.getstate())
        self.assertTrue(torch.equal(before[2], own.get_state()))
        other = torch.Generator().manual_seed(4)
        order = order_of(Numbers(100), 10, sampler=utils.RandomSampler(range(100), generator=other))
        self.assertNotEqual(drawn, order.numbers(1, 5, 0, 100))

    def test_marks_differ_where_orders_do(self):
        marks = set()
        data = Numbers(100)
        for options in ({}, {'shuffle': False}, {'sampler': range(100)[::-1]}, {'drop_last': True},
                        {'sampler': utils.WeightedRandomSampler([1.0] * 100, 100)},
                        {'sampler': utils.WeightedRandomSampler([1.0] * 50 + [9.0] * 50, 100)}):
            marks.add(order_of(data, 32, **options).mark)
            self.assertIn(order_of(data, 32, **options).mark, marks)
        self.assertEqual(len(marks), 6)
        self.used(sampler=[1, 2, 3])
        self.assertIn('sampler=list', self.cluster.description['data_hash'])

    def test_two_epochs_are_kept(self):
        order = SampledOrder(utils.RandomSampler(range(10)), 'sampler', 10)
        lists = [order.numbers(1, epoch, 0, 10) for epoch in range(5)]
        self.assertEqual([epoch for _, epoch in order._kept], [3, 4])
        self.assertEqual(order.numbers(1, 1, 0, 10), lists[1])

    def test_refused(self):
        class Stateful(utils.Sampler):
            def __init__(self):
                self.order = list(range(100))

            def __len__(self):
                return 100

            def __iter__(self):
                random.shuffle(self.order)
                return iter(self.order)

        class Lengthless:
            def __iter__(self):
                return iter(range(10))

        class Growing(Lengthless):
            def set_epoch(self, epoch):
                self.count = 10 + epoch

            def __len__(self):
                return 10

            def __iter__(self):
                return iter(range(self.count))
        self.refuse('started again from the same seed', sampler=Stateful())
        self.refuse('has no length', sampler=Lengthless())
        self.refuse('yields 100, but train has 100 samples', sampler=[3, 100])
        self.refuse("yields \\('a',\\): give whole numbers", sampler=['a'])
        self.refuse('shuffle=True with sampler', sampler=[1], shuffle=True)
        self.refuse('read only once', sampler=iter([1, 2]))
        self.refuse('leave it out', sampler=utils.DistributedSampler(range(9), num_replicas=2, rank=0))
        with self.assertRaisesRegex(Failure, 'Growing yields 11 samples in epoch 1 and 10 in epoch 0'):
            self.used(sampler=Growing())


class Left(OrderCase):
    def test_drop_last_leaves_out_other_samples_in_each_epoch(self):
        epochs = self.used(drop_last=True, epochs=4)
        self.assertEqual([len(set(it)) for it in epochs], [96] * 4)
        left = [tuple(sorted(set(range(100)) - set(it))) for it in epochs]
        self.assertEqual(len(set(left)), 4)

    def test_drop_last_in_a_fixed_order_and_with_a_sampler(self):
        self.assertEqual(self.used(drop_last=True, shuffle=False), [list(range(96))] * 2)
        epochs = self.used(drop_last=True, sampler=utils.SubsetRandomSampler(range(40)))
        self.assertEqual([len(set(it)) for it in epochs], [32, 32])
        self.assertNotEqual(*[set(it) for it in epochs])

    def test_an_epoch_of_whole_batches_is_shuffled_by_the_job(self):
        self.assertFalse(order_of(Numbers(96), 32, drop_last=True).own)
        self.refuse('leaves no samples: an epoch has 100', drop_last=True, batch=101)

    def test_training_equals_the_plain_loop(self):
        model, plain, data = mlp(), mlp(), samples()
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        job = self.join(cluster, model, sgd(model), data, shuffle=False)
        for x, y in job:
            job.backward(mean_loss(model, x, y))
        optimizer = sgd(plain)
        for _ in range(2):
            for x, y in utils.DataLoader(data, batch_size=32):
                optimizer.zero_grad()
                mean_loss(plain, x, y).backward()
                optimizer.step()
        self.assert_same(model, plain)


class Groups(OrderCase):
    def lists(self, *sizes):
        ends = [sum(sizes[:it + 1]) for it in range(len(sizes))]
        return [list(range(end - size, end)) for size, end in zip(sizes, ends)]

    def test_lists_of_one_length_are_the_rounds(self):
        epochs = self.used(batch_sampler=utils.BatchSampler(utils.SequentialSampler(range(100)), 40, False),
                           batch=None, shares=(1,), micro_batch=64)
        self.assertEqual(epochs, [list(range(100))] * 2)
        self.assertEqual(self.cluster.train['batch'], 40)
        self.assertEqual([len(it) for _, _, it in self.parts[:3]], [40, 40, 20])

    def test_shuffled_lists(self):
        sampler = utils.BatchSampler(utils.RandomSampler(range(100)), 20, True)
        epochs = self.used(batch_sampler=sampler, batch=None)
        self.assertEqual([sorted(it) for it in epochs], [list(range(100))] * 2)
        self.assertNotEqual(*epochs)

    def test_micro_batches_lie_within_a_list(self):
        lists = self.lists(30, 5, 40, 1, 24)
        self.used(batch_sampler=lists, batch=48, shares=(2, 3), micro_batch=16)
        for _, _, numbers in self.parts:
            self.assertTrue(any(set(numbers) <= set(it) for it in lists), numbers)
        self.assertEqual(cut(range(20), 0, 8, 50, [12, 20]),
                         [tuple(range(8)), tuple(range(8, 12)), tuple(range(12, 20))])

    def test_refused(self):
        self.refuse('lists of 5 to 40 samples', batch_sampler=self.lists(30, 5, 40), batch=None)
        self.refuse('sampler with batch_sampler', batch_sampler=[[1]], sampler=[1])
        self.refuse('drop_last with batch_sampler', batch_sampler=[[1]], drop_last=True)
        self.refuse('lists of whole numbers', batch_sampler=[1, 2])
        self.refuse('no lists', batch_sampler=[], batch=None)
        model = torch.nn.Sequential(torch.nn.Linear(10, 3), torch.nn.BatchNorm1d(3))
        with self.assertRaisesRegex(Failure, 'with batch norm'):
            self.join(standin.Cluster(), model, sgd(model), samples(), batch_sampler=self.lists(30, 5))
