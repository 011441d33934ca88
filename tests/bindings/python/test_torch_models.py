"""Models with unusual parameters or passes learn the same as in a plain loop."""
import copy

from torch_case import TorchCase, mean_loss, mlp, samples, torch
import standin
from torch.utils.checkpoint import checkpoint

nn = torch.nn


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


class Parameters(TorchCase):
    def test_frozen_parameters_are_not_sent_but_compared(self):
        model, other = mlp(), mlp(2)
        other.load_state_dict(model.state_dict())
        other[0].weight.data[0, 0] += 1
        hashes = []
        for one in (model, other):
            one[0].weight.requires_grad_(False)
            cluster = standin.Cluster()
            before = one[0].weight.clone()
            self.both(one, sgd, samples(), cluster=cluster)
            self.assertTrue(torch.equal(before, one[0].weight))
            self.assertNotIn('0.weight', [it['name'] for it in cluster.description['tensors']])
            hashes.append(cluster.description['data_hash'])
        self.assertNotEqual(*hashes)

    def test_a_parameter_in_no_group_does_not_change(self):
        model = mlp()
        before = model[2].bias.detach().clone()
        optimizer = torch.optim.SGD([model[0].weight, model[0].bias, model[2].weight], lr=0.1)
        cluster = standin.Cluster()
        self.train(cluster, model, optimizer, samples())
        self.assertTrue(torch.equal(before, model[2].bias))
        self.assertEqual(len(cluster.description['tensors']), 3)

    def test_unused_parameters_count_zero(self):
        model = mlp()
        model.extra = nn.Linear(2, 2)
        model.forward = lambda x: model[2](model[1](model[0](x)))
        before = model.extra.weight.detach().clone()
        self.train(standin.Cluster(shares=lambda number: [1, 7]), model, sgd(model), samples())
        self.assertTrue(torch.equal(before, model.extra.weight))

    def test_conditional_parameters(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(10, 3), nn.Linear(10, 3)

            def forward(self, x):  # each row on its own, so that the sums do not depend on how the batch is cut
                chosen = x[:, 0] > 0.8
                out = self.a(x)
                return out + torch.zeros_like(out).index_put((chosen,), self.b(x[chosen])) if chosen.any() else out
        torch.manual_seed(1)
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        self.both(Model(), lambda m: torch.optim.SGD(m.parameters(), lr=0.2), samples(), cluster=cluster,
                  micro_batch=4)

    def test_tied_parameters_are_one_entry(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(10, 10), nn.Linear(10, 10)
                self.b.weight = self.a.weight
                self.c = nn.Linear(10, 3)

            def forward(self, x):
                return self.c(torch.relu(self.b(torch.relu(self.a(x)))))
        torch.manual_seed(1)
        cluster, _ = self.both(Model(), sgd, samples())
        names = [it['name'] for it in cluster.description['tensors']]
        self.assertEqual(names, ['a.weight', 'a.bias', 'b.bias', 'c.weight', 'c.bias'])

    def test_other_strides(self):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 3), nn.Flatten(), nn.Linear(80, 3))
        data, plain = samples(shape=(3, 8, 8)), copy.deepcopy(model)
        model = model.to(memory_format=torch.channels_last)
        self.assertFalse(model[0].weight.is_contiguous())
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        self.train(cluster, model, sgd(model), data)
        self.plain(cluster, plain, sgd(plain), data)
        self.assert_same(model, plain)
        self.assertFalse(model[0].weight.is_contiguous())

    def test_sparse_gradients(self):
        data = torch.utils.data.TensorDataset(torch.randint(0, 30, (100, 4)), torch.randint(0, 3, (100,)))
        torch.manual_seed(1)
        model = nn.Sequential(nn.Embedding(30, 5, sparse=True), nn.Flatten(), nn.Linear(20, 3))
        plain = copy.deepcopy(model)
        plain[0].sparse = False
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        self.train(cluster, model, torch.optim.SGD(model.parameters(), lr=0.5), data)
        self.plain(cluster, plain, torch.optim.SGD(plain.parameters(), lr=0.5), data)
        self.assert_same(model, plain)

    def test_a_model_of_bfloat16_is_copied_through_float32(self):
        model = mlp().to(torch.bfloat16)
        cluster = standin.Cluster()
        self.train(cluster, model, sgd(model), samples(),
                   loss=lambda m, x, y: nn.functional.cross_entropy(m(x.to(torch.bfloat16)).float(), y))
        self.assertEqual(model[0].weight.dtype, torch.bfloat16)
        wide = torch.from_numpy(cluster.flat[:200]).view(20, 10).float()
        self.assertTrue(torch.equal(model[0].weight, wide.to(torch.bfloat16)))


class Passes(TorchCase):
    def wide(self, reentrant=None):
        """A model with tensors large enough to be sent on their own."""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = nn.Linear(10, 200), nn.Linear(200, 200), nn.Linear(200, 3)

            def middle(self, x):
                return torch.relu(self.b(x))

            def forward(self, x):
                x = torch.relu(self.a(x))
                for _ in range(2):
                    x = self.middle(x) if reentrant is None else checkpoint(self.middle, x, use_reentrant=reentrant)
                return self.c(x)
        torch.manual_seed(1)
        return Model()

    def test_gradients_are_sent_during_backward(self):
        cluster, job = self.both(self.wide(), sgd, samples(), micro_batch=8)
        self.assertTrue(job._gradients.overlap)
        self.assertGreaterEqual(len(cluster.finals), len(cluster.pieces) - 1)

    def test_reentrant_checkpointing_turns_overlap_off(self):
        cluster, job = self.both(self.wide(reentrant=True), sgd, samples())
        self.assertFalse(job._gradients.overlap)
        self.assertEqual(cluster.finals, [])

    def test_non_reentrant_checkpointing_keeps_overlap(self):
        cluster, job = self.both(self.wide(reentrant=False), sgd, samples())
        self.assertTrue(job._gradients.overlap)
        self.assertTrue(cluster.finals)

    def test_a_second_pass_in_some_rounds_only_is_refused(self):
        model = self.wide()
        turns = []

        def loss(m, x, y):
            turns.append(1)
            x = torch.relu(m.a(x))
            for _ in range(2):
                x = checkpoint(m.middle, x, use_reentrant=True) if len(turns) > 3 else m.middle(x)
            return nn.functional.cross_entropy(m.c(x), y)
        with self.assertRaisesRegex(steelyard_failure(), 'overlap=False'):
            self.train(standin.Cluster(), model, sgd(model), samples(), loss)

    def test_bfloat16_autocast(self):
        def loss(m, x, y):
            with torch.autocast('cpu', dtype=torch.bfloat16):
                return nn.functional.cross_entropy(m(x).float(), y)
        self.both(mlp(), sgd, samples(), loss=loss, within=2e-3)

    def test_dropout_depends_only_on_the_piece(self):
        ends = []
        for _ in range(2):
            model = nn.Sequential(*mlp(), nn.Dropout(0.5))
            torch.manual_seed(len(ends))  # what the process drew before does not matter
            self.train(standin.Cluster(shares=lambda number: [1, 7]), model, sgd(model), samples(), micro_batch=8)
            ends.append(model[0].weight.detach().clone())
        self.assertTrue(torch.equal(*ends))


class Norms(TorchCase):
    def net(self):
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(10, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Linear(20, 3))

    def test_one_piece_of_two_grains_is_the_plain_loop_with_two_parts(self):
        cluster, _ = self.both(self.net(), sgd, samples(96), cluster=standin.Cluster(), micro_batch=16, parts=2)
        self.assertEqual(cluster.description['grain'], 16)
        rules = {it['name']: it.get('rule') for it in cluster.description['tensors']}
        self.assertEqual(rules['1.running_var'], 'mean')
        self.assertNotIn('1.num_batches_tracked', rules)

    def test_statistics_of_unequal_shares_are_averaged_by_weight(self):
        model = self.net()
        plain, data = copy.deepcopy(model), samples(64)
        cluster = standin.Cluster(shares=lambda number: [1, 3])
        self.train(cluster, model, sgd(model), data, batch=64, epochs=1, micro_batch=16)
        expected = 0
        order = cluster.order(0)
        for share in (order[:16], order[16:]):
            its = copy.deepcopy(plain)
            for at in range(0, len(share), 16):
                its(torch.stack([data[it][0] for it in share[at:at + 16]]))
            expected = expected + len(share) / 64 * its[1].running_mean
        self.assertLess((model[1].running_mean - expected).abs().max().item(), 1e-6)

    def test_the_size_divides_the_batch_and_later_workers_take_the_jobs(self):
        cluster = standin.Cluster()
        model, sizes = self.net(), set()
        job = self.join(cluster, model, sgd(model), samples(96), batch=48)
        self.assertEqual(cluster.description['grain'], 24)
        cluster.description['grain'] = 12
        for x, y in job:
            sizes.add(len(x))
            job.backward(mean_loss(model, x, y))
        self.assertEqual(sizes, {12})

    def test_masks_with_infinities_are_constants(self):
        model = mlp()
        model.register_buffer('mask', torch.tensor([0., -torch.inf]))
        cluster = standin.Cluster()
        self.train(cluster, model, sgd(model), samples())
        self.assertNotIn('mask', [it['name'] for it in cluster.description['tensors']])
        self.assertTrue(cluster.description['data_hash'])


def steelyard_failure():
    import steelyard
    return steelyard.Failure
