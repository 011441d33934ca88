"""The state that checkpoints and late workers get: it is read back whole, and holds no code."""
import os
import pickletools
import random
import tempfile

import numpy
import standin  # noqa: F401  finds the package
import steelyard
import torch
from steelyard._torch_state import Kept
from torch_case import TorchCase, mlp, samples


class StateCase(TorchCase):
    def setUp(self):
        number, self.path = tempfile.mkstemp(prefix='steelyard-test-')
        os.close(number)
        self.addCleanup(os.unlink, self.path)

    def kept(self, **objects):
        kept = Kept()
        kept.add(objects)
        return kept

    def train(self, model, optimizer, after=lambda: None, steps=3):
        x, y = samples().tensors
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            after()


class RoundTrip(StateCase):
    def same(self, optimizer_of, others_of=lambda model, optimizer: {}, after=lambda others: None):
        """A copy that reads the state after three steps takes the same further steps."""
        parts = []
        for seed in (1, 2):
            model = mlp(seed)
            optimizer = optimizer_of(model)
            parts.append((model, optimizer, others_of(model, optimizer)))
        (model, optimizer, others), (late, its, its_others) = parts
        self.train(model, optimizer, lambda: after(others))
        self.kept(optimizer=optimizer, **others).write(model, self.path)
        self.kept(optimizer=its, **its_others).read(late, self.path)
        self.train(model, optimizer, lambda: after(others))
        self.train(late, its, lambda: after(its_others))
        self.assert_same(late, model, 0)
        return others, its_others

    def test_sgd(self):
        self.same(lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9))

    def test_adam(self):
        self.same(lambda m: torch.optim.Adam(m.parameters(), lr=0.01, amsgrad=True))

    def test_two_groups_with_rates_of_their_own(self):
        self.same(lambda m: torch.optim.AdamW([{'params': m[0].parameters(), 'lr': 0.1}, {'params': m[2].parameters()}], lr=0.01))

    def test_schedulers(self):
        parts = torch.optim.lr_scheduler
        for schedule in (lambda o: parts.StepLR(o, 2), lambda o: parts.OneCycleLR(o, 0.1, total_steps=9),
                         lambda o: parts.CosineAnnealingWarmRestarts(o, 4),
                         lambda o: parts.SequentialLR(o, [parts.ConstantLR(o), parts.ExponentialLR(o, 0.5)], [2])):
            self.same(lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
                      lambda model, optimizer: {'schedule': schedule(optimizer)},
                      lambda others: others['schedule'].step())

    def test_average_of_weights(self):
        models = []

        def others_of(model, optimizer):
            models.append(model)
            return {'average': torch.optim.swa_utils.AveragedModel(model)}

        def after(others):
            others['average'].update_parameters(models[0] if others['average'] is firsts[0] else models[1])
        firsts = []

        def recorded(model, optimizer):
            its = others_of(model, optimizer)
            firsts.append(its['average'])
            return its
        mine, late = self.same(lambda m: torch.optim.SGD(m.parameters(), lr=0.1), recorded, after)
        self.assertEqual(int(late['average'].n_averaged), 6)
        self.assert_same(late['average'], mine['average'], 0)

    def test_scaler_of_gradients(self):
        class Scaler(torch.cuda.amp.GradScaler):  # without a device it keeps no state of its own
            def state_dict(self):
                return {'scale': 1024.0, 'growth_factor': 2.0, '_growth_tracker': 5}

            def load_state_dict(self, state):
                self.loaded = state
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            first, late = Scaler(enabled=False), Scaler(enabled=False)
        self.kept(scaler=first).write(mlp(), self.path)
        self.kept(scaler=late).read(mlp(), self.path)
        self.assertEqual(late.loaded, first.state_dict())

    def test_random_states(self):
        self.kept().write(mlp(), self.path)
        drawn = torch.rand(3).tolist(), random.random(), numpy.random.rand()
        self.kept().read(mlp(), self.path)
        self.assertEqual((torch.rand(3).tolist(), random.random(), numpy.random.rand()), drawn)

    def test_values_of_all_kinds(self):
        class Holds:
            def state_dict(self):
                return {'none': None, 3: (1, 2.5, [True]), 'text': 'x', 'scalar': numpy.float64(0.5), 'tensors': [torch.ones(2)]}

            def load_state_dict(self, state):
                self.state = state
        into = Holds()
        self.kept(it=Holds()).write(mlp(), self.path)
        self.kept(it=into).read(mlp(), self.path)
        self.assertTrue(torch.equal(into.state.pop('tensors')[0], torch.ones(2)))
        self.assertEqual(into.state, {'none': None, 3: (1, 2.5, [True]), 'text': 'x', 'scalar': 0.5})


class Refused(StateCase):
    def test_objects_without_state(self):
        with self.assertRaisesRegex(steelyard.Failure, r'keep\(clock=.*got a int'):
            self.kept(clock=3)

    def test_values_that_cannot_be_sent_are_named(self):
        model = mlp()
        schedule = torch.optim.lr_scheduler.LambdaLR(torch.optim.SGD(model.parameters(), lr=1), Rate())
        schedule.lr_lambdas[0].inside = object()
        with self.assertRaisesRegex(steelyard.Failure, r"'schedule'.*'inside'.* is a object"):
            self.kept(schedule=schedule).write(model, self.path)

    def test_a_state_of_other_objects(self):
        self.kept(a=torch.nn.Linear(1, 1)).write(mlp(), self.path)
        with self.assertRaisesRegex(steelyard.Failure, 'keeps b, and the state that it loads has a'):
            self.kept(b=torch.nn.Linear(1, 1)).read(mlp(), self.path)

    def test_code_in_the_file_does_not_run(self):
        torch.save({'model': Runs()}, self.path)
        with self.assertRaisesRegex(steelyard.Failure, 'cannot be read'):
            self.kept().read(mlp(), self.path)
        self.assertEqual(Runs.ran, 0)

    def test_a_file_that_ends_early(self):
        self.kept().write(mlp(), self.path)
        for size in (0, 10, 100, os.path.getsize(self.path) - 10):
            os.truncate(self.path, size) if size else open(self.path, 'wb').close()
            with self.assertRaisesRegex(steelyard.Failure, 'cannot be read'):
                self.kept().read(mlp(), self.path)
            self.kept().write(mlp(), self.path)

    def test_a_written_file_names_no_class_of_a_script(self):
        self.kept(optimizer=torch.optim.Adam(mlp().parameters())).write(mlp(), self.path)
        with open(self.path, 'rb') as file:  # a mark, the protocol, this machine, the state, and the keys of its tensors
            parts = [list(pickletools.genops(file)) for _ in range(5)]
        wanted = {its for operation, its, _ in sum(parts, []) if operation.name in ('GLOBAL', 'STACK_GLOBAL')}
        self.assertEqual({it.split()[0] for it in wanted if it}, {'torch', 'torch._utils', 'collections'})


class Rate:
    def __call__(self, step):
        return 1.0


def _count():
    Runs.ran += 1


class Runs:
    ran = 0

    def __reduce__(self):
        return _count, ()


if __name__ == '__main__':
    import unittest
    unittest.main()
