"""Each sample is read once, by this process or by others, and ahead of need."""
import os

from torch_case import TorchCase, mlp, samples, torch
import standin
from steelyard._reading import Ahead, cut
from steelyard._torch_data import Reader, Source, moved


class WithReader(torch.utils.data.Dataset):
    """Each sample is its number and the process that read it."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        return number, os.getpid()

    def all_of(self, numbers):
        if not numbers:
            raise ValueError('asked for nothing')
        return [self[it] for it in numbers]


def pairs(batch):
    return [tuple(it) for it in batch]


class Reading(TorchCase):
    def reader(self, workers, train=None, test=None, **options):
        reader = Reader(Source(train or WithReader(1000), test), pairs, workers, options=options)
        self.addCleanup(reader.close)
        return reader

    def numbers(self, batch):
        return [number for number, _ in batch]

    def test_in_this_process(self):
        reader = self.reader(0, several_of(1000))
        reader.expect([(3, 1)], [(5,)])
        self.assertEqual(reader.get((3, 1)), [(3, os.getpid()), (1, os.getpid())])

    def test_test_samples_are_numbered_after_training_samples(self):
        reader = self.reader(0, [10, 11, 12], [20, 21])
        reader._collate = lambda batch: batch
        self.assertEqual([reader.get((0, 2)), reader.get((3, 4))], [[10, 12], [20, 21]])

    def test_rows_of_tensors_are_the_batches_of_default_collate(self):
        train = torch.utils.data.TensorDataset(torch.randn(9, 2, 3), torch.arange(9))
        part = torch.utils.data.Subset(torch.utils.data.Subset(train, [8, 7, 6, 5]), [2, 0, 1])
        for workers in (0, 1):
            for data in (train, part):
                reader = Reader(Source(data, data), None, workers)
                self.addCleanup(reader.close)
                for numbers, its in (((2, 0, 2), (2, 0, 2)), ((len(data) + 1,), (1,))):
                    batch = reader.get(numbers)
                    wanted = torch.utils.data.default_collate([data[it] for it in its])
                    self.assertEqual(type(batch), type(wanted))
                    for it, of in zip(batch, wanted):
                        self.assertTrue(torch.equal(it, of))

    def test_rows_go_to_a_collate_function_one_by_one(self):
        train = torch.utils.data.TensorDataset(torch.arange(5))
        reader = Reader(Source(train, None), lambda its: [int(it) for (it,) in its], 0)
        self.assertEqual(reader.get((4, 0)), [4, 0])

    def test_two_processes_by_forkserver(self):
        reader = self.reader(2, several_of(1000))
        self.assertEqual(reader._loader.multiprocessing_context.get_start_method(), 'forkserver')
        for start in (0, 100, 200):  # nothing was known in advance, and no reader waits for more
            lists = [tuple(range(start + 10 * it, start + 10 * it + 10)) for it in range(5)]
            reader.expect(lists, [])
            for numbers in lists:
                batch = reader.get(numbers)
                self.assertEqual(self.numbers(batch), list(numbers))
                self.assertNotEqual(batch[0][1], os.getpid())

    def test_guessed_samples_are_not_read_again(self):
        reader = self.reader(1, multiprocessing_context='fork')
        asked = []
        lists = [tuple(range(10 * it, 10 * it + 10)) for it in range(12)]
        for first in range(0, 12, 3):
            ahead = lists[first + 3:first + 6]
            reader.expect(lists[first:first + 3], ahead)
            asked += reader._wishes.waiting
            for numbers in lists[first:first + 3]:
                self.assertEqual(self.numbers(reader.get(numbers)), list(numbers))
        sent = list(dict.fromkeys(asked))
        self.assertEqual(sent, lists)
        self.assertEqual(len(reader._arrived), 0)

    def test_wrong_guesses_are_dropped(self):
        reader = self.reader(1, multiprocessing_context='fork')
        reader.expect([(1, 2)], [(3, 4), (5, 6), (7,), (8,)])
        reader.get((1, 2))
        reader.expect([(5, 9), (5, 6)], [])
        self.assertEqual(list(reader._wishes.waiting), [(5, 9)])
        self.assertEqual([self.numbers(reader.get(it)) for it in ((5, 9), (5, 6))], [[5, 9], [5, 6]])
        self.assertEqual((dict(reader._arrived), list(reader._wishes.waiting)), ({}, []))

    def test_unexpected_samples_are_read_at_once(self):
        reader = self.reader(1, multiprocessing_context='fork')
        self.assertEqual(self.numbers(reader.get((4, 2))), [4, 2])

    def test_a_job_with_reading_processes(self):
        cluster = standin.Cluster(shares=lambda number: [[1, 7], [3, 5], [1]][number % 3])
        self.both(mlp(), lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), samples(), workers=2,
                  cluster=cluster, micro_batch=4, loader={'prefetch_factor': 3})

    def test_batches_of_any_structure_are_moved(self):
        place = torch.device('meta')
        batch = moved({'a': [torch.ones(1), (torch.ones(2), 'text')], 'b': 3}, place)
        self.assertEqual((batch['a'][0].device, batch['a'][1][0].device), (place, place))
        self.assertEqual((batch['a'][1][1], batch['b']), ('text', 3))


def several_of(count):
    return Several(WithReader(count))


class Several(torch.utils.data.Dataset):
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return self.data.count

    def __getitems__(self, numbers):
        return self.data.all_of(numbers)

    def __getitem__(self, number):
        raise AssertionError('one by one')


class Guesses(TorchCase):
    def ahead(self, samples=100, batch=32, epochs=2):
        return Ahead({'batch': batch, 'train_samples': samples, 'epochs': epochs},
                     lambda epoch, begin, end: [1000 * epoch + it for it in range(begin, end)])

    def test_pieces_are_cut_on_a_grid_of_their_round(self):
        sizes = [len(it) for it in cut(range(20), 40, 6, 32)]  # positions 8..28 of the second round
        self.assertEqual(sizes, [4, 6, 6, 4])
        self.assertEqual(cut([7, 8, 9], 64, 6, 32), [(7, 8, 9)])
        sizes = [len(it) for it in cut(range(20), 40, 6, 32, aligned=False)]
        self.assertEqual(sizes, [6, 6, 6, 2])

    def test_the_same_part_of_the_next_round(self):
        guesses = self.ahead().after(0, 8, 8, 4)
        self.assertEqual(guesses, [tuple(range(40, 44)), tuple(range(44, 48))])

    def test_a_shorter_round_and_the_next_epoch(self):
        ahead = self.ahead()
        self.assertEqual(ahead.after(0, 64, 32, 4), [(96, 97, 98, 99)])
        self.assertEqual(ahead.after(0, 96, 2, 8), [tuple(range(1000, 1008)), tuple(range(1008, 1016))])
        self.assertEqual(ahead.after(1, 96, 2, 8), [])

    def test_several_pieces_of_a_round_are_all_guessed(self):
        ahead = self.ahead()
        ahead.after(0, 0, 4, 4)
        self.assertEqual(ahead.after(0, 4, 4, 4), [(32, 33, 34, 35), (36, 37, 38, 39)])
        self.assertEqual(ahead.after(0, 32, 4, 4), [(64, 65, 66, 67)])
