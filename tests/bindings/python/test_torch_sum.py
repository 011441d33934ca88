"""Gradients are summed over the micro-batches of a piece, whatever the script does to .grad."""
import copy

from torch_case import TorchCase, cross_entropy, mean_loss, mlp, samples, torch
from torch.utils.checkpoint import checkpoint
import standin

nn = torch.nn


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


class Zeroed(TorchCase):
    def zeroed(self, before=None, after=None, model=mlp, **options):
        """Trains with calls of before(optimizer) and after(optimizer) around job.backward(), and compares."""
        first = model()
        plain = copy.deepcopy(first)
        optimizer = sgd(first)
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        job = self.join(cluster, first, optimizer, samples(), **{'micro_batch': 4, **options})
        for x, y in job:
            if before:
                before(optimizer)
            job.backward(mean_loss(first, x, y))
            if after:
                after(optimizer)
        cluster.check_epochs()
        self.plain(cluster, plain, sgd(plain), samples())
        self.assert_same(first, plain)

    def test_before_backward(self):
        self.zeroed(before=lambda it: it.zero_grad())
        self.zeroed(before=lambda it: it.zero_grad(set_to_none=False))

    def test_after_backward(self):
        self.zeroed(after=lambda it: it.zero_grad(set_to_none=True))
        self.zeroed(after=lambda it: it.zero_grad(set_to_none=False))

    def test_by_the_model(self):
        first = mlp()
        self.zeroed(before=lambda it: first.zero_grad(), model=lambda: first)

    def test_without_overlap_and_in_half_precision(self):
        self.zeroed(after=lambda it: it.zero_grad(set_to_none=False), overlap=False)
        self.zeroed(after=lambda it: it.zero_grad(set_to_none=True), fp16=True)


class Sums(TorchCase):
    def test_gradients_can_be_read_in_the_loop(self):
        model, seen = mlp(), []
        job = self.join(standin.Cluster(), model, sgd(model), samples(), micro_batch=16)
        for x, y in job:
            job.backward(mean_loss(model, x, y))
            seen.append(float(model[0].weight.grad.norm()))
        self.assertTrue(all(it > 0 for it in seen))

    def test_sparse_gradients(self):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Embedding(7, 5, sparse=True), nn.Flatten(), nn.Linear(10, 3))
        drawn = torch.Generator().manual_seed(3)
        data = torch.utils.data.TensorDataset(torch.randint(0, 7, (100, 2), generator=drawn),
                                              torch.randint(0, 3, (100,), generator=drawn))
        plain = copy.deepcopy(model)
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        self.train(cluster, model, torch.optim.SGD(model.parameters(), lr=0.1), data, micro_batch=4)
        self.plain(cluster, plain, torch.optim.SGD(plain.parameters(), lr=0.1), data)
        self.assert_same(model, plain)

    def test_parameters_in_bfloat16_are_summed_in_float32(self):
        def model():
            return mlp().to(torch.bfloat16)

        def loss(m, x, y):
            return cross_entropy(m(x.to(torch.bfloat16)).float(), y)
        data, few, many, found = samples(64), model(), model(), []
        for one, parts in ((few, 64), (many, 1)):
            cluster = standin.Cluster()
            self.train(cluster, one, torch.optim.SGD(one.parameters(), lr=0.5), data, loss, batch=64, epochs=1,
                       micro_batch=parts)
            found.append(cluster.sum)
        off = float(abs(found[0] - found[1]).max() / abs(found[0]).max())
        self.assertLess(off, 0.01)  # 64 additions in bfloat16 are off by more than 0.03

    def test_a_branch_that_some_micro_batches_do_not_use(self):
        class Branch(nn.Module):
            def __init__(self):
                super().__init__()
                self.always, self.sometimes = nn.Linear(10, 3), nn.Linear(10, 3)

            def forward(self, x):
                scores = self.always(x)
                return scores + self.sometimes(x) if x[0, 0] > 0 else scores
        torch.manual_seed(1)
        model = Branch()
        plain, data = copy.deepcopy(model), samples(96)
        cluster = standin.Cluster()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        self.train(cluster, model, optimizer, data, micro_batch=4)
        self.plain(cluster, plain, torch.optim.SGD(plain.parameters(), lr=0.2), data, parts=8)
        self.assert_same(model, plain)

    def test_a_second_accumulation_on_top_of_a_sum_computes_the_piece_again(self):
        torch.manual_seed(1)
        wide = 50
        model = nn.Sequential(nn.Linear(10, wide), nn.Sequential(nn.Linear(wide, wide), nn.ReLU()),
                              nn.Linear(wide, 3))
        plain, data, turns = copy.deepcopy(model), samples(), []

        def loss(m, x, y):
            hidden = m[0](x)
            if m is model:
                turns.append(1)
            twice = m is model and len(turns) == 8  # the last micro-batch of the second round
            middle = m[1]
            a = checkpoint(middle, hidden, use_reentrant=True) if twice else middle(hidden)
            b = checkpoint(middle, hidden, use_reentrant=True) if twice else middle(hidden)
            return cross_entropy(m[2](a + b), y)
        cluster = standin.Cluster()
        job = self.train(cluster, model, sgd(model), data, loss, micro_batch=8)
        self.assertFalse(job._gradients.overlap)
        self.assertGreater(len(turns), 26)  # one piece was computed again
        self.plain(cluster, plain, sgd(plain), data, loss)
        self.assert_same(model, plain)
