"""A DataLoader as training data, and PyTorch's names for options."""
import collections
import dataclasses

from torch_case import TorchCase, mean_loss, mlp, samples, torch
import standin
from test_torch_order import Numbers, OrderCase, sgd
from steelyard import Failure
from steelyard._torch_data import arguments_of, moved
from steelyard._torch_loader import Given, data_of, either, options_of, taken_from

utils = torch.utils.data
rnn = torch.nn.utils.rnn


def doubled(numbers):
    return torch.tensor([2 * it for it in numbers])


class WholeLoader(OrderCase):
    def used_by(self, loader, **options):
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        model, epochs = torch.nn.Embedding(400, 1), {}
        job = self.join(cluster, model, sgd(model), loader, batch=options.pop('batch', None), **options)
        for numbers in job:
            epochs.setdefault(job.epoch, []).extend(numbers.tolist())
            job.backward(model(numbers).mean())
        self.cluster = cluster
        return [epochs[it] for it in sorted(epochs)]

    def test_its_data_set_batch_and_order_are_taken_over(self):
        data = Numbers(100)
        self.assertEqual(self.used_by(utils.DataLoader(data, batch_size=20)), [list(range(100))] * 2)
        self.assertEqual((self.cluster.train['batch'], self.cluster.description['data']), (20, 'Numbers'))
        epochs = self.used_by(utils.DataLoader(data, batch_size=20, shuffle=True))
        self.assertEqual([sorted(it) for it in epochs], [list(range(100))] * 2)
        self.assertEqual(epochs[0], self.cluster.order(0))  # the job's own order
        self.used_by(utils.DataLoader(data, batch_size=20), batch=50)
        self.assertEqual(self.cluster.train['batch'], 50)

    def test_sampler_collate_and_drop_last(self):
        some = utils.SubsetRandomSampler(range(40))
        loader = utils.DataLoader(Numbers(100), 16, sampler=some, drop_last=True, collate_fn=doubled)
        epochs = self.used_by(loader)
        self.assertEqual([len(set(it)) for it in epochs], [32, 32])
        self.assertTrue(all(it % 2 == 0 for it in epochs[0]))
        loader = utils.DataLoader(Numbers(100), 32, drop_last=True)
        self.assertEqual(self.used_by(loader), [list(range(96))] * 2)

    def test_a_batch_sampler_and_a_stream(self):
        lists = [list(range(10)), list(range(30, 40)), [7]]
        loader = utils.DataLoader(Numbers(100), batch_sampler=lists)
        self.assertEqual(self.used_by(loader), [sum(lists, [])] * 2)
        self.assertEqual(self.cluster.train['batch'], 10)

        class Stream(utils.IterableDataset):
            def __iter__(self):
                return iter(range(50))
        self.assertEqual(self.used_by(utils.DataLoader(Stream(), 20), samples=50), [list(range(50))] * 2)

    def test_loader_processes_and_their_options(self):
        loader = utils.DataLoader(Numbers(100), 20, num_workers=2, prefetch_factor=3, persistent_workers=True,
                                  multiprocessing_context='fork', timeout=50, worker_init_fn=print)
        given = Given()
        given.complete(loader)
        self.assertEqual(given.workers, 2)
        kept = {key: given.options[key] for key in ('prefetch_factor', 'persistent_workers', 'timeout')}
        self.assertEqual(kept, {'prefetch_factor': 3, 'persistent_workers': True, 'timeout': 50})
        self.assertEqual(given.options['multiprocessing_context'].get_start_method(), 'fork')
        loader.worker_init_fn = None
        self.assertEqual(self.used_by(loader), [list(range(100))] * 2)
        self.assertEqual(data_of(loader, None, Given(workers=0)).options, {})

    def test_a_generator_determines_the_order(self):
        epochs = []
        for seed in (1, 1, 2):
            own = torch.Generator().manual_seed(seed)
            loader = utils.DataLoader(Numbers(100), 20, shuffle=True, generator=own)
            epochs.append(self.used_by(loader))
            self.assertEqual(self.used(generator=torch.Generator().manual_seed(seed), batch=20), epochs[-1])
        self.assertEqual(epochs[0], epochs[1])
        self.assertNotEqual(epochs[0], epochs[2])

    def test_refused(self):
        class Own(utils.DataLoader):
            def __iter__(self):
                return super().__iter__()
        data = Numbers(100)

        def refuse(text, loader, **options):
            with self.assertRaisesRegex(Failure, text):
                self.used_by(loader, **options)
        refuse('Own, a DataLoader with an __iter__ of its own', Own(data))
        refuse('batch_size=None', utils.DataLoader(data, batch_size=None))
        refuse('shuffle beside a DataLoader', utils.DataLoader(data), shuffle=True)
        refuse('sampler beside a DataLoader', utils.DataLoader(data), sampler=[1])
        refuse('leave it out', utils.DataLoader(data, sampler=utils.DistributedSampler(data, 2, 0)))
        unordered = utils.DataLoader(data)
        unordered.in_order = False
        refuse('in_order=False', unordered)

    def test_a_loader_of_test_samples(self):
        def score(model, x, y):
            return mean_loss(model, x, y), 0

        def join(test):
            model, cluster = mlp(), standin.Cluster(evaluate=True)
            job = self.join(cluster, model, sgd(model), samples(), test=test, score=score, epochs=1)
            for x, y in job:
                job.backward(mean_loss(model, x, y))
            return cluster.description['test_samples']
        data = samples(30)
        self.assertEqual(join(utils.DataLoader(data, 7)), 30)
        self.assertEqual(join(utils.DataLoader(data, 7, shuffle=True)), 30)
        for text, loader in (('test is a DataLoader with a sampler', utils.DataLoader(data, sampler=[1, 2])),
                             ('drop_last=True: all test', utils.DataLoader(data, 7, drop_last=True)),
                             ('another collate_fn', utils.DataLoader(data, 7, collate_fn=doubled))):
            with self.assertRaisesRegex(Failure, text):
                join(loader)


class Names(OrderCase):
    def test_both_names_of_an_option(self):
        self.assertEqual(self.used(batch=None, batch_size=20, shuffle=False), [list(range(100))] * 2)
        self.assertEqual(self.cluster.train['batch'], 20)
        self.used(batch=20, batch_size=20)
        numbers = self.used(batch=None, batch_size=20, collate_fn=lambda its: torch.tensor(its) // 2)
        self.assertLess(max(numbers[0]), 50)
        self.refuse('batch=32 and batch_size=20 are the same option', batch_size=20)
        self.refuse('workers=1 and num_workers=2', workers=1, num_workers=2)
        self.refuse('collate=.* and collate_fn=', collate=doubled, collate_fn=tuple)
        self.refuse('batch is missing', batch=None)

    def test_options_of_loader_processes(self):
        self.assertEqual(options_of({'timeout': 3}, prefetch_factor=4, pin_memory=None),
                         {'timeout': 3, 'prefetch_factor': 4})
        with self.assertRaisesRegex(Failure, 'prefetch_factor=4 and loader: prefetch_factor=2'):
            options_of({'prefetch_factor': 2}, prefetch_factor=4)
        self.refuse('need loader processes', prefetch_factor=4)
        self.used(pin_memory=True, worker_init_fn=print)  # without effect, as in DataLoader
        self.used(num_workers=1, multiprocessing_context='fork', prefetch_factor=4, persistent_workers=True)
        self.assertEqual(either('a', None, 'b', 0), 0)

    def test_every_option_of_dataloader_is_known(self):
        import inspect
        known = set(inspect.signature(utils.DataLoader.__init__).parameters) - {'self'}
        taken = {'dataset', 'batch_size', 'shuffle', 'sampler', 'batch_sampler', 'num_workers', 'collate_fn',
                 'drop_last', 'in_order'}
        from steelyard import _torch_loader
        self.assertEqual(known - taken - set(_torch_loader._OPTIONS), set())
        self.assertEqual(taken_from(utils.DataLoader(Numbers(9))).options, {})


Pair = collections.namedtuple('Pair', 'x y')


@dataclasses.dataclass(frozen=True)
class Fields:
    x: torch.Tensor
    name: str


class Encoding(collections.UserDict):
    """Has its own .to(), as BatchEncoding of transformers."""

    def to(self, device):
        return Encoding({key: it.to(device) for key, it in self.data.items()})


class Batches(TorchCase):
    place = torch.device('meta')

    def test_containers_keep_their_class(self):
        one = torch.ones(1)
        many = collections.defaultdict(list, a=[one])
        batch = moved({'pair': Pair(one, 'text'), 'fields': Fields(one, 'n'), 'many': many,
                       'encoding': Encoding(ids=one), 'tuple': (one, None)}, self.place)
        self.assertEqual((batch['pair'].x.device, batch['pair'].y), (self.place, 'text'))
        self.assertEqual((batch['fields'].x.device, batch['fields'].name), (self.place, 'n'))
        self.assertEqual((batch['many']['a'][0].device, batch['many']['new']), (self.place, []))
        self.assertEqual(batch['encoding']['ids'].device, self.place)
        self.assertEqual((type(batch['encoding']), type(batch['pair'])), (Encoding, Pair))
        self.assertEqual((one.device.type, many['a'][0].device.type), ('cpu', 'cpu'))

    def test_a_packed_sequence_moves_itself(self):
        packed = rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)])
        batch = moved((packed, torch.ones(2)), self.place)
        self.assertEqual(batch[0].data.device, self.place)
        self.assertEqual(batch[0].batch_sizes.device.type, 'cpu')  # as pack_padded_sequence needs it
        self.assertEqual(len(arguments_of(packed)), 1)

    def test_a_dictionary_is_one_argument(self):
        data = [{'x': x, 'more': {'y': y}} for x, y in samples(64)]
        model, seen = mlp(), []

        def loss(m, batch):
            seen.append(batch)
            return mean_loss(m, batch['x'], batch['more']['y'])
        cluster = standin.Cluster(evaluate=True)
        job = self.join(cluster, model, sgd(model), data, test=data[:20], score=loss)
        job.run(lambda batch: loss(model, batch))
        self.assertTrue(all(sorted(it) == ['more', 'x'] for it in seen))
        self.assertEqual(len(cluster.scores), 2)
        self.assertEqual(job.outcome, 'finished')
