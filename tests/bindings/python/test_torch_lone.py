"""Batch norm gets no micro-batch of one sample: it joins the one before, or the job is refused."""
import copy
import threading

from torch_case import TorchCase, mean_loss, mlp, samples, torch
import standin
from steelyard import Failure
from steelyard._reading import cut

nn = torch.nn


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def net():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(10, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Linear(20, 3))


class Joined(TorchCase):
    def plain_with(self, cluster, model, data, size, batch, epochs):
        """The usual loop with micro-batches of `size`; a lone sample is joined to the one before."""
        optimizer = sgd(model)
        for epoch in range(epochs):
            order = cluster.order(epoch)
            for at in range(0, len(order), batch):
                numbers = order[at:at + batch]
                optimizer.zero_grad()
                parts = [numbers[it:it + size] for it in range(0, len(numbers), size)]
                if len(parts[-1]) == 1:
                    parts[-2:] = [parts[-2] + parts[-1]]
                for some in parts:
                    x, y = torch.utils.data.default_collate([data[it] for it in some])
                    (mean_loss(model, x, y) * (len(some) / len(numbers))).backward()
                optimizer.step()

    def expect_plain(self, cluster, model, plain, data, size, batch, epochs=2):
        self.plain_with(cluster, plain, data, size, batch, epochs)
        names = {it for it in model.state_dict() if 'running' in it}  # averaged over pieces, as documented
        found, expected = model.state_dict(), plain.state_dict()
        for name in set(found) - names - {'1.num_batches_tracked'}:
            self.assertLessEqual((found[name] - expected[name]).abs().max().item(), 1e-5, name)

    def sizes(self, cluster, model, data, index=0, **options):
        return self.sizes_of(self.join(cluster, model, sgd(model), data, index=index, **options), model)

    def sizes_of(self, job, model):
        sizes = []
        for x, y in job:
            sizes.append((job.position, len(x)))
            job.backward(mean_loss(model, x, y))
        return sizes

    def test_alone_it_joins_the_micro_batch_before(self):
        model, data = net(), samples(97)
        plain = copy.deepcopy(model)
        cluster = standin.Cluster()
        sizes = self.sizes(cluster, model, data, batch=64, micro_batch=16)
        self.assertEqual([it for _, it in sizes[:6]], [16] * 4 + [16, 17])
        cluster.check_epochs()
        self.expect_plain(cluster, model, plain, data, 16, 64)

    def test_of_two_workers_the_one_before_takes_it_and_the_other_computes_nothing(self):
        data = samples(97)
        models = [net(), net()]
        plain = copy.deepcopy(models[0])
        # The last round has 33 samples: the first worker has two grains, and the second has the lone sample.
        cluster = standin.Cluster(shares=lambda number: [[1, 1], [32, 1]][number % 2], workers=2)
        found = [None, None]
        jobs = [self.join(cluster, models[it], sgd(models[it]), data, index=it, batch=64, micro_batch=16)
                for it in range(2)]

        def work(index):
            found[index] = self.sizes_of(jobs[index], models[index])
        threads = [threading.Thread(target=work, args=(it,), daemon=True) for it in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        last = [it for it in cluster.pieces if it[1] % 2 == 1]
        self.assertEqual(sorted(it[2:4] for it in last), [(64, 96)] * 2 + [(96, 97)] * 2)
        self.assertEqual([it for at, it in found[0] if at == 64], [16, 17] * 2)
        self.assertEqual({at for at, _ in found[1]}, {32})
        self.assertEqual({loss for _, _, begin, _, _, loss in last if begin == 96}, {0.0})
        self.assertEqual(sorted(set(cluster.weights)), [0.0, 32, 33.0])
        self.expect_plain(cluster, models[0], plain, data, 16, 64)

    def test_weights_by_tokens_count_with_the_joined_sample(self):
        model = net()
        cluster = standin.Cluster(shares=lambda number: [32, 1])
        job = self.join(cluster, model, sgd(model), samples(33), batch=64, micro_batch=16, epochs=1)
        for x, y in job:
            job.backward(mean_loss(model, x, y), weight=10 * len(x))
        self.assertEqual(sorted(cluster.weights), [0.0, 330.0])

    def test_a_sampler_and_a_lone_sample(self):
        model = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
        data = [(torch.tensor([float(it)]), it % 3) for it in range(33)]
        job = self.join(standin.Cluster(shares=lambda number: [32, 1]), model, sgd(model), data, batch=64,
                        micro_batch=16, epochs=1, shuffle=False)
        seen = []
        for x, y in job:
            seen.append(x[:, 0].int().tolist())
            job.backward(mean_loss(model, x, y))
        self.assertEqual(seen, [list(range(16)), list(range(16, 33))])

    def test_other_models_have_micro_batches_of_one_sample(self):
        sizes = self.sizes(standin.Cluster(shares=lambda number: [32, 1]), mlp(), samples(33), batch=64,
                           micro_batch=16, epochs=1)
        self.assertEqual([it for _, it in sizes], [16, 16, 1])
        self.assertEqual(cut(range(33), 0, 16, 64, joins_lone=True)[-1], tuple(range(16, 33)))
        self.assertEqual(cut([5], 96, 16, 64, joins_lone=True), [(5,)])


class Refused(TorchCase):
    def join_with(self, count, model=None, **options):
        model = model or net()
        self.join(standin.Cluster(), model, sgd(model), samples(count), **options).leave()

    def refuse(self, text, count, **options):
        with self.assertRaisesRegex(Failure, text) as caught:
            self.join_with(count, **options)
        self.assertEqual(caught.exception.code, 78)

    def test_a_round_of_one_sample(self):
        text = '513 samples are divided by the batch of 64, and the batch norm 1 .*drop_last=True'
        self.refuse(text, 513, batch=64)
        self.refuse('batch = 1', 5, batch=1)
        self.refuse('micro_batch = 1', 64, micro_batch=1)

    def test_where_it_cannot_happen(self):
        self.join_with(513, batch=64, drop_last=True)
        self.join_with(514, batch=64)
        self.join_with(513, batch=64, rounds=8, epochs=None)
        self.join_with(97, batch=64, micro_batch=16)
        self.join_with(513, batch=64, model=net().eval())
        self.join_with(513, batch=64, model=mlp())
        self.refuse('one sample', 513, batch=64, rounds=9, epochs=None)

    def test_norms_of_images_take_one_image(self):
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 3))
        cluster = standin.Cluster()
        job = self.join(cluster, model, sgd(model), samples(33, shape=(1, 8, 8)), epochs=1)
        sizes = []
        for x, y in job:
            sizes.append(len(x))
            job.backward(mean_loss(model, x, y))
        self.assertEqual(sizes, [32, 1])

    def test_the_error_of_batch_norm_is_explained(self):
        model = net().eval()
        job = self.join(standin.Cluster(), model, sgd(model), samples(33), epochs=1)
        model.train()
        with self.assertRaisesRegex(ValueError, 'more than 1 value') as caught:
            for x, y in job:
                job.backward(mean_loss(model, x, y))
        self.assertIn('drop_last=True', job._explain(caught.exception))
