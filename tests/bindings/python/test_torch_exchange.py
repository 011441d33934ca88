"""The exchange at the end of each backward: once for each, with the whole gradient of that backward."""
import copy
import warnings

import standin  # noqa: F401  finds the package
import torch
from fake_device import NAN, FakeDevice
from steelyard._torch_copy import OwnLayout
from steelyard._torch_exchange import Exchange
from torch.utils.checkpoint import checkpoint
from torch_case import TorchCase, mlp


class Twice(torch.nn.Module):
    """The first layer is used twice, and a part of it belongs to another module, too."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (torch.nn.Linear(10, 10) for _ in range(3))
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.c(torch.tanh(self.a(torch.tanh(self.b(torch.tanh(self.a(x)))))))


class Checkpointed(torch.nn.Module):
    """`times`: how often the inner layer runs, each in a reentrant checkpoint. `last`: whether it is the last one."""

    def __init__(self, times, last):
        super().__init__()
        self.a, self.b = (torch.nn.Linear(10, 10) for _ in range(2))
        self.c = torch.nn.Identity() if last else torch.nn.Linear(10, 10)
        self.times = times

    def forward(self, x):
        x = self.a(x)
        for _ in range(self.times):
            x = checkpoint(self.b, x, use_reentrant=True)
        return self.c(x)


class Exchanges(TorchCase):
    knows_target = True

    def before_write(self):
        pass

    def exchanged(self, model, factor=3.0):
        """An exchange whose mean gradient is that of this process, times `factor`."""
        layout = OwnLayout(model)
        flat = torch.full((layout.size,), NAN)
        self.ends = 0

        def ended():
            self.ends += 1
            layout.used.zero_()
            self.before_write()
            exchange.write(flat, factor, 1.0)
            layout.take_gradients(flat)
            exchange.put_back()
            flat.fill_(NAN)
        exchange = Exchange(layout, ended, lambda: (flat, factor) if self.knows_target else None)
        exchange.watch()
        self.addCleanup(exchange.close)
        return exchange

    def check(self, model, run, ends, inputs=10):
        """run(model, x) calls backward `ends` times; .grad must be `factor` times that without the exchange."""
        plain, x = copy.deepcopy(model), torch.randn(6, inputs)
        self.exchanged(model)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            run(model, x)
            run(plain, x)
        self.assertEqual(self.ends, ends)
        for (name, found), (_, its) in zip(model.named_parameters(), plain.named_parameters()):
            if its.grad is None:
                self.assertIsNone(found.grad, name)
            else:
                torch.testing.assert_close(found.grad, 3 * its.grad, msg=name)

    def test_one_backward(self):
        self.check(mlp(), lambda m, x: m(x).square().mean().backward(), 1)

    def test_gradients_accumulate(self):
        def run(model, x):
            model(x).square().mean().backward()
            model(2 * x).sum().backward()
            model[2](torch.ones(20)).sum().backward()
        self.check(mlp(), run, 3)

    def test_two_losses_of_one_graph(self):
        def run(model, x):
            y = model(x)
            y.square().mean().backward(retain_graph=True)
            y.sum().backward()
        self.check(mlp(), run, 2)

    def test_several_tensors_in_one_backward(self):
        def run(model, x):
            y = model(x)
            torch.autograd.backward([y.square().mean(), y.sum()])
        self.check(mlp(), run, 1)

    def test_parameters_of_two_modules(self):
        self.check(Twice(), lambda m, x: m(x).square().mean().backward(), 1)

    def test_a_layer_that_the_loss_does_not_use(self):
        self.check(mlp(), lambda m, x: torch.relu(m[0](x)).sum().backward(), 1)

    def test_sparse_gradients(self):
        model = torch.nn.Sequential(torch.nn.Embedding(50, 10, sparse=True), mlp())
        inner = model[0].weight
        dense = copy.deepcopy(model)
        dense[0].sparse = False
        self.exchanged(model)
        for its in (model, dense):
            its(torch.tensor([1, 7, 7, 49])).square().sum().backward()
        torch.testing.assert_close(inner.grad, 3 * dense[0].weight.grad)

    def test_a_frozen_layer(self):
        model = mlp()
        model[0].requires_grad_(False)
        self.check(model, lambda m, x: m(x).square().mean().backward(), 1)

    def test_reentrant_checkpoints(self):
        for times, last in ((1, False), (3, False), (1, True), (3, True)):
            self.check(Checkpointed(times, last), lambda m, x: m(x).square().mean().backward(), 1)

    def test_no_exchange_without_a_parameter(self):
        x = torch.ones(3, requires_grad=True)
        self.check(mlp(), lambda m, _: x.sum().backward(), 0)

    def test_gradients_for_the_script_alone(self):
        def run(model, x):
            loss = model(x).square().mean()
            (of,) = torch.autograd.grad(loss, [model[0].weight], create_graph=True)
            (loss + of.square().sum()).backward()
        self.check(mlp(), run, 1)

    def test_a_backward_that_fails_leaves_nothing_behind(self):
        class Fails(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, gradient):
                raise ValueError('no gradient')

        def run(model, x):
            with self.assertRaises(ValueError):
                model[2](Fails.apply(model[0](x))).sum().backward()
            model.zero_grad(set_to_none=True)
            model(x).sum().backward()
        self.check(mlp(), run, 1)

    def test_after_close_backward_is_the_plain_one(self):
        model = mlp()
        self.exchanged(model).close()
        model(torch.ones(10)).sum().backward()
        self.assertEqual(self.ends, 0)
        self.assertIsNotNone(model[0].weight.grad)

    def test_the_loss_is_recorded(self):
        model = mlp()
        exchange = self.exchanged(model)
        (model(torch.ones(10)).sum() * 0 + 7).backward()
        self.assertEqual(float(exchange.loss), 7)


class OnADevice(Exchanges):
    """Copies are done only when they are waited for."""
    locks = True

    def setUp(self):
        self.device = FakeDevice(eager=True, locks=self.locks)
        patch = self.device.installed()
        patch.start()
        self.addCleanup(patch.stop)

    def test_copies_begin_before_the_end_of_backward(self):
        for large, begun in ((False, False), (True, True)):
            events = []
            self.before_write = lambda: events.append(self.device.events)
            self.device.events = 0
            self.check(mlp(wide=30000 if large else 20), lambda m, x: m(x).square().mean().backward(), 1)
            self.assertEqual(events[0] > 0, begun)

    def test_a_missing_wait_is_found(self):
        self.device.without = 'synchronize'
        with self.assertRaises(AssertionError):
            self.check(mlp(), lambda m, x: m(x).square().mean().backward(), 1)

    def test_after_close_nothing_is_locked(self):
        model = mlp()
        exchange = self.exchanged(model)
        model(torch.ones(10)).sum().backward()
        self.assertEqual(len(self.device.locked), 1)
        exchange.close()
        exchange.close()
        self.assertEqual(self.device.unlocked, self.device.locked if self.locks else [])


class OnADeviceWithoutLocks(OnADevice):
    locks = False


class OnADeviceAtTheEnd(OnADevice):
    """Gradients are copied at the end of backward only."""
    knows_target = False

    def test_copies_begin_before_the_end_of_backward(self):
        events = []
        self.before_write = lambda: events.append(self.device.events)
        self.check(mlp(wide=30000), lambda m, x: m(x).square().mean().backward(), 1)
        self.assertEqual(events, [0])


if __name__ == '__main__':
    import unittest
    unittest.main()
