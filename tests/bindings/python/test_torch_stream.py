"""Streams are read by position: once by each worker, and again only for samples that it did not keep."""
import os
import threading
import warnings

from torch_case import TorchCase, torch
import standin
from steelyard import Failure
from steelyard._torch_data import Reader, Source
from steelyard._torch_stream import Stream

utils = torch.utils.data


class Items(utils.IterableDataset):
    """Yields numbers, and shares itself among loader processes as PyTorch's documentation shows."""

    def __init__(self, count, offset=1000):
        self.count, self.offset, self.epochs, self.read = count, offset, [], 0

    def set_epoch(self, epoch):
        self.epochs.append(epoch)

    def __iter__(self):
        info = utils.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for it in range(first, self.count, step):
            self.read += 1
            yield torch.tensor(it), os.getpid()


class Sized(Items):
    def __len__(self):
        return self.count


class StreamCase(TorchCase):
    def used(self, items, cluster=None, shares=(1, 7), **options):
        """The items of each epoch, in the order of their use."""
        self.cluster, epochs = cluster or standin.Cluster(shares=lambda number: shares), {}
        self.use(*self.joined(items, **options), epochs)
        return [epochs[it] for it in sorted(epochs)]

    def joined(self, items, index=0, **options):
        model = torch.nn.Embedding(200, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return self.join(self.cluster, model, optimizer, items, index=index, **options), model

    def use(self, job, model, epochs):
        for numbers, _ in job:
            epochs.setdefault(job.epoch, []).extend(numbers.tolist())
            job.backward(model(numbers).mean())


class Streams(StreamCase):
    def test_an_epoch_has_the_first_samples_in_their_order(self):
        items = Items(1000)
        self.assertEqual(self.used(items, samples=100), [list(range(100))] * 2)
        self.assertEqual((items.epochs, items.read), ([0, 1], 200))
        self.assertEqual(self.cluster.description['data'], 'Items')

    def test_a_length_of_its_own(self):
        self.assertEqual(self.used(Sized(70)), [list(range(70))] * 2)
        self.assertEqual(self.used(Sized(70), samples=40), [list(range(40))] * 2)
        self.assertEqual(self.used(Sized(70), drop_last=True), [list(range(64))] * 2)

    def test_any_iterable_that_can_start_again(self):
        class Plain:
            def __iter__(self):
                return ((torch.tensor(it), 0) for it in range(50))
        self.assertEqual(self.used(Plain(), samples=50), [list(range(50))] * 2)

    def test_two_workers_share_a_stream_and_each_reads_it_once(self):
        turns = [[1, 3], [3, 1], [0, 1]]
        self.cluster = standin.Cluster(shares=lambda number: turns[number % 3], workers=2)
        streams, found = [Items(100), Items(100)], {}
        jobs = [self.joined(streams[it], index=it, samples=100) for it in range(2)]
        threads = [threading.Thread(target=self.use, args=(*it, found), daemon=True) for it in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual([sorted(found[it]) for it in (0, 1)], [list(range(100))] * 2)
        for stream in streams:
            self.assertEqual(stream.epochs, [0, 1])
            self.assertLessEqual(stream.read, 200)

    def test_one_loader_process_reads_all_of_it(self):
        with self.assertWarnsRegex(UserWarning, 'one loader process reads the stream, not 3'):
            epochs = self.used(Items(100), samples=100, workers=3, shares=(1, 1),
                               loader={'multiprocessing_context': 'fork'})
        self.assertEqual(epochs, [list(range(100))] * 2)

    def test_test_samples_beside_a_stream(self):
        scores = []

        def score(model, numbers, _):
            scores.extend(numbers.tolist())
            return torch.zeros(()), 0
        cluster = standin.Cluster(evaluate=True)
        self.used(Items(64), samples=64, cluster=cluster, epochs=1, score=score,
                  test=[(torch.tensor(it), 0) for it in (150, 151, 152)])
        self.assertEqual(scores, [150, 151, 152])

    def test_unseeded_generators_draw_the_same_in_every_worker(self):
        class Drawn(utils.IterableDataset):
            def __iter__(self):
                return ((torch.randint(0, 200, ()), 0) for _ in range(100))
        epochs = []
        for turn in range(2):
            torch.manual_seed(turn)
            epochs.append(self.used(Drawn(), samples=100, shares=[[1, 7], [3, 1]][turn]))
        self.assertEqual(*epochs)
        self.assertNotEqual(*epochs[0])


class Windows(StreamCase):
    def stream(self, samples=100, batch=10):
        stream = Stream(Items(1000), samples, batch)
        return stream, lambda *numbers: [int(it[0]) for it in stream.__getitems__(numbers)]

    def test_the_last_two_rounds_are_kept(self):
        stream, get = self.stream()
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            self.assertEqual(get(39), [39])
            self.assertEqual(get(20, 38, 40, 21), [20, 38, 40, 21])
            self.assertEqual((stream.items.read, len(stream._kept)), (41, 20))
            self.assertEqual(get(105), [5])  # of the next epoch
            self.assertEqual(stream.items.epochs, [0, 1])
            self.assertEqual(get(40), [40])

    def test_an_earlier_sample_starts_the_stream_again_and_warns_once(self):
        stream, get = self.stream()
        get(50)
        with self.assertWarnsRegex(UserWarning, 'read again from its start'):
            self.assertEqual(get(10), [10])
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            self.assertEqual(get(51, 52), [51, 52])
            self.assertEqual(get(30), [30])
        self.assertEqual((stream.restarts, stream.items.epochs), (2, [0, 0, 0]))

    def test_a_worker_that_joins_later_begins_with_its_epoch(self):
        stream, get = self.stream()
        self.assertEqual(get(310, 311), [10, 11])
        self.assertEqual((stream.items.epochs, stream.items.read, stream.restarts), ([3], 12, 0))

    def test_in_a_loader_process(self):
        reader = Reader(Source(Stream(Items(1000), 100, 10), None), None, 1,
                        options={'multiprocessing_context': 'fork'})
        self.addCleanup(reader.close)
        reader.expect([(20, 21)], [(30, 31)])
        for numbers in ((20, 21), (30, 31), (25,)):  # the last one was lost by another worker
            batch, owner = reader.get(numbers)
            self.assertEqual(batch.tolist(), list(numbers))
            self.assertNotEqual(int(owner[0]), os.getpid())


class Refused(StreamCase):
    def refuse(self, text, items, **options):
        with self.assertRaisesRegex(Failure, text):
            self.used(items, **options)

    def test_streams_that_end_early(self):
        self.refuse('ended after 90 samples in epoch 0, but an epoch has 100: give samples=90', Items(90),
                    samples=100)
        once = iter([(torch.tensor(it), 0) for it in range(100)])

        class Once(utils.IterableDataset):
            def __iter__(self):
                return once
        self.refuse('ended after 0 samples in epoch 1, .* can be read only once', Once(), samples=100)

    def test_options(self):
        self.refuse('generator, which can be read only once', (it for it in range(9)), samples=9)
        self.refuse('give samples=', Items(9))
        self.refuse('samples = 0', Items(9), samples=0)
        self.refuse('shuffle with a stream', Items(9), samples=9, shuffle=True)
        self.refuse('sampler with a stream', Items(9), samples=9, sampler=[1])
        self.refuse('batch_sampler with a stream', Items(9), samples=9, batch_sampler=[[1]])
        self.refuse('samples=9 is for streams', list(range(9)), samples=9)
        self.refuse('read it into a list', Sized(9), test=Items(9), score=lambda *it: 0)
