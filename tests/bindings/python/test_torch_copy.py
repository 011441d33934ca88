"""A worker's own copy of the model: which gradients it takes, its buffers, and its distance from the first worker's."""
import contextlib
import io
import math

import standin  # noqa: F401  finds the package
import steelyard
from steelyard._torch_copy import COLUMNS, Copies, OwnLayout, sketch_of
from step_case import StepCase, StepCluster
from torch_case import mean_loss, mlp, samples, torch


def sgd(model):
    return torch.optim.SGD([it for it in model.parameters()], lr=0.1, momentum=0.9)


class Gradients(StepCase):
    def test_a_parameter_that_no_worker_uses_has_none(self):
        def work(job, model, optimizer):
            def after(round):
                seen.append([it.grad is None for it in model.parameters()])
            self.rounds(job, model, optimizer, lambda m, x, y: torch.relu(m[0](x)).mean(), after)
        seen = []
        self.workers(StepCluster(shares=lambda number: [1, 1], workers=2), self.copies(mlp(), 2), sgd, work)
        self.assertEqual(len(seen), 16)
        self.assertTrue(all(it == [False, False, True, True] for it in seen))

    def test_a_parameter_that_one_worker_uses_has_one_on_all(self):
        def loss(model, x, y):
            return model(x).mean() if (x[:, 0] > 1.5).any() else torch.relu(model[0](x)).mean()

        def work(job, model, optimizer):
            self.rounds(job, model, optimizer, loss,
                        lambda round: seen.setdefault(round.version, []).append(model[2].weight.grad is None))
        seen = {}
        models = self.copies(mlp(), 2)
        self.workers(StepCluster(shares=lambda number: [1, 1], workers=2), models, sgd, work, batch=8)
        self.assertTrue(all(len(set(it)) == 1 for it in seen.values()))
        self.assertEqual({it[0] for it in seen.values()}, {False, True})
        self.assert_same(models[1], models[0], 0)

    def test_freezing_and_unfreezing_between_rounds(self):
        def work(job, model, optimizer):
            for round in job.rounds():
                model[0].requires_grad_(1 <= round.version < 5)
                for x, y in round:
                    round.backward(mean_loss(model, x, y))
                seen.append((round.version, model[0].weight.grad is not None))
                optimizer.step()
        seen, model = [], mlp()
        model[0].requires_grad_(False)
        models = self.copies(model, 2)
        self.workers(StepCluster(shares=lambda number: [1, 1], workers=2), models, sgd, work)
        self.assertEqual(sorted(seen), sorted([(it, 1 <= it < 5) for it in range(8)] * 2))
        self.assert_same(models[1], models[0], 0)

    def test_buffers_are_means_of_all_micro_batches(self):
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(10, momentum=1.0), torch.nn.Linear(10, 3))
        models, data = self.copies(model, 2), samples(64)
        cluster = StepCluster(shares=lambda number: [1, 3], workers=2)
        self.workers(cluster, models, sgd, self.rounds, data, batch=64, micro_batch=16, epochs=1)
        # of each piece the last micro-batch counts, as the running mean has a momentum of 1
        numbers = cluster.order(0)
        ends = [data[it][0].mean(0) for it in (numbers[:16], numbers[48:])]
        torch.testing.assert_close(models[0][0].running_mean, ends[0] / 4 + ends[1] * 3 / 4)
        self.assertTrue(torch.equal(models[0][0].running_mean, models[1][0].running_mean))


class Distance(StepCase):
    def between(self, one, other, weight=3.0):
        """The distance that `other` finds to `one`, which is in slot 0."""
        first, its = OwnLayout(one), OwnLayout(other)
        copies = [Copies(first), Copies(its)]
        flat = torch.zeros(first.size)
        for slot, (layout, each) in enumerate(zip((first, its), copies)):
            each.begin_round(50, slot)
            part = torch.empty(layout.size)
            layout.write_buffers(part, part, weight + slot)
            part[:layout.buffers[-2].begin] = 0
            flat += part
        return copies[1].distance(flat / (2 * weight + 1)), copies[1]

    def test_of_equal_copies(self):
        self.assertLess(self.between(mlp(), mlp())[0], 1e-6)

    def test_of_a_disturbed_copy(self):
        for size in (1e-4, 1e-2, 1.0):
            one, other = mlp(wide=300), mlp(wide=300)
            with torch.no_grad():
                for it in other.parameters():
                    it.add_(torch.randn(it.shape, generator=torch.Generator().manual_seed(3)), alpha=size)
            gone = math.sqrt(sum(float((a - b).detach().square().sum()) for a, b in zip(one.parameters(), other.parameters())))
            norm = math.sqrt(sum(float(it.detach().square().sum()) for it in one.parameters()))
            found, copies = self.between(one, other)
            self.assertLess(abs(found / (gone / norm) - 1), 4 * math.sqrt(2 / COLUMNS) * 2)
            self.assertTrue(copies.too_far(found))

    def test_it_is_compared_every_fiftieth_step(self):
        layout = OwnLayout(mlp())
        copies = Copies(layout)
        for version in range(101):
            copies.begin_round(version, 0)
            self.assertEqual(float(layout.sketch[COLUMNS]), float(version % 50 == 0))

    def test_the_sketch_does_not_depend_on_the_process(self):
        self.assertTrue(torch.equal(sketch_of(OwnLayout(mlp()), []), sketch_of(OwnLayout(mlp()), [])))

    def test_a_copy_that_is_too_far_is_replaced(self):
        def work(job, model, optimizer):
            def after(round):
                if round.version == 49 and job.worker == 'worker-1':
                    with torch.no_grad():
                        model[0].weight.add_(0.001)
            self.rounds(job, model, optimizer, after=after)
        models, cluster = self.copies(mlp(), 2), StepCluster(shares=lambda number: [1, 1], workers=2)
        with contextlib.redirect_stderr(io.StringIO()) as text:
            self.workers(cluster, models, sgd, work, epochs=20, keep=lambda optimizer: {'optimizer': optimizer})
        self.assertRegex(text.getvalue(), r'the model of worker-1 differs from that of the first worker by \d\.\de-0\d')
        self.assertTrue(cluster.states)
        self.assert_same(models[1], models[0], 0)


class Layouts(StepCase):
    def test_a_model_without_parameters(self):
        with self.assertRaisesRegex(steelyard.Failure, 'no parameters'):
            OwnLayout(torch.nn.ReLU())


if __name__ == '__main__':
    import unittest
    unittest.main()
