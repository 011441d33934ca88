"""Scripts that keep their loop: parallel() and loader() learn the same as plain PyTorch, in any division of the work."""
import contextlib
import copy
import io
import threading
import time

import steelyard
from step_case import StepCase, StepCluster
from torch_case import mean_loss, mlp, samples, torch


def momentum(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def usual(loader, model, optimizer, epochs=2, each=lambda epoch, at: None):
    for epoch in range(epochs):
        for at, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            mean_loss(model, x, y).backward()
            optimizer.step()
            each(epoch, at)


class Loops(StepCase):
    def same(self, cluster, work=usual, data=None, plain=None, **options):
        """Compares all models with the plain loop, and returns the loaders. `plain(model, optimizer)`: that loop."""
        model, data = mlp(), data or samples()
        models, one = self.copies(model, cluster.workers), copy.deepcopy(model)
        loaders = self.loaders(cluster, models, momentum, work, data, **options)
        if plain:
            plain(one, momentum(one))
        else:
            self.plain(cluster, one, momentum(one), data)
        for found in models:
            self.assert_same(found, one)
        for found in models[1:]:
            self.assert_same(found, models[0], 0)
        self.assertGreater((model[0].weight - one[0].weight).abs().max().item(), 1e-2)
        return loaders

    def test_one_worker(self):
        cluster = StepCluster()
        (loader,) = self.same(cluster)
        cluster.check_epochs()
        self.assertEqual((loader.job.outcome, len(loader), loader.batch_size), ('finished', 4, 32))

    def test_sparse_gradients(self):
        drawn = torch.Generator().manual_seed(3)
        data = torch.utils.data.TensorDataset(torch.randint(0, 50, (100, 4), generator=drawn), samples().tensors[1])
        model = torch.nn.Sequential(torch.nn.Embedding(50, 3, sparse=True), torch.nn.Flatten(), torch.nn.Linear(12, 3))
        models, one = self.copies(model, 2), copy.deepcopy(model)
        one[0].sparse = False
        cluster = StepCluster(shares=lambda number: [1, 3], workers=2)
        self.loaders(cluster, models, momentum, usual, data)
        self.plain(cluster, one, momentum(one), data)
        for found in models:
            self.assert_same(found, one)

    def test_three_workers_whose_shares_change(self):
        turns = [[1, 1, 1], [7, 0, 1], [0, 1, 0], [3, 2, 2]]
        cluster = StepCluster(shares=lambda number: turns[number % 4], workers=3)
        self.same(cluster)
        cluster.check_epochs()

    def test_every_worker_has_the_same_batches_in_each_epoch(self):
        for turns in ([[1, 1]], [[1, 0]], [[0, 1], [1, 0]]):
            seen = [[], []]

            def work(loader, model, optimizer):
                usual(loader, model, optimizer, 3, lambda epoch, at: seen[loader.job.about['slot']].append((epoch, at)))
            cluster = StepCluster(shares=lambda number: turns[number % len(turns)], workers=2)
            self.loaders(cluster, self.copies(mlp(), 2), momentum, work, epochs=3)
            self.assertEqual(seen, [[(epoch, at) for epoch in range(3) for at in range(4)]] * 2)

    def test_gradients_of_several_batches_accumulate(self):
        data = samples(128)
        for manager in (contextlib.nullcontext, lambda: model_of[0].no_sync()):
            model_of = [None]

            def work(loader, model, optimizer):
                model_of[0] = model
                optimizer.zero_grad()
                for _ in range(2):
                    for at, (x, y) in enumerate(loader):
                        with manager() if at % 2 == 0 else contextlib.nullcontext():
                            (mean_loss(model, x, y) / 2).backward()
                        if at % 2:
                            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                            optimizer.step()
                            optimizer.zero_grad()

            def plain(model, optimizer):
                for epoch in range(2):
                    for at in (0, 64):
                        optimizer.zero_grad()
                        x, y = torch.utils.data.default_collate([data[it] for it in cluster.order(epoch)[at:at + 64]])
                        mean_loss(model, x, y).backward()
                        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                        optimizer.step()
            cluster = StepCluster(shares=lambda number: [3, 1], workers=2)
            self.same(cluster, work, data, plain)

    def test_a_late_worker_gets_the_gradients_that_have_accumulated(self):
        data = samples(128)
        for manager in (lambda model: model.no_sync(), lambda model: contextlib.nullcontext()):
            def work(loader, model, optimizer):
                for _ in range(6):
                    for x, y in loader:
                        first = loader.job.round % 2 == 0
                        with manager(model) if first else contextlib.nullcontext():
                            mean_loss(model, x, y).backward()
                        if not first:
                            optimizer.step()
                            optimizer.zero_grad()

            def plain(model, optimizer):
                for epoch in range(6):
                    for at in range(0, 128, 32):
                        x, y = torch.utils.data.default_collate([data[it] for it in cluster.order(epoch)[at:at + 32]])
                        mean_loss(model, x, y).backward()
                        if at % 64:
                            optimizer.step()
                            optimizer.zero_grad()
            cluster = StepCluster(shares=lambda number: [1, 1, 1], workers=3, late=[2], late_at=3)
            self.same(cluster, work, data, plain, epochs=6)
            self.assertIn(2, {it[0] for it in cluster.pieces})

    def test_a_late_worker_begins_after_what_the_script_does_between_epochs(self):
        data = samples(128)

        def work(loader, model, optimizer):
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
            if hasattr(model, 'keep'):
                model.keep(schedule=schedule)
            for _ in range(6):
                for x, y in loader:
                    optimizer.zero_grad()
                    mean_loss(model, x, y).backward()
                    optimizer.step()
                schedule.step()
        for late_at in (4, 8):
            cluster = StepCluster(shares=lambda number: [1, 1, 1], workers=3, late=[2], late_at=late_at)
            self.same(cluster, work, data, lambda model, optimizer: work(
                torch.utils.data.DataLoader(data, 32), model, optimizer), epochs=6, shuffle=False)

    def test_a_late_worker(self):
        cluster = StepCluster(shares=lambda number: [1, 1, 1], workers=3, late=[2], late_at=2)
        self.same(cluster)
        self.assertIn(2, {it[0] for it in cluster.pieces})

    def test_two_backwards_of_a_batch(self):
        batches = {}

        def step(batch, model, optimizer):
            for factor in (1.0, 0.5):
                optimizer.zero_grad()
                (factor * mean_loss(model, *batch[:2])).backward()
                optimizer.step()

        def two(loader, model, optimizer):
            for epoch in range(2):
                for at, batch in enumerate(loader):
                    if loader.job._weight:  # otherwise this worker has no samples, but one of weight 0
                        batches.setdefault((epoch, at), []).extend(batch[2].tolist())
                    step(batch, model, optimizer)

        def plain(model, optimizer):
            for key in sorted(batches):
                step(data[sorted(batches[key])], model, optimizer)
        data = torch.utils.data.TensorDataset(*samples().tensors, torch.arange(100))
        (loader, _) = self.same(StepCluster(shares=lambda number: [3, 1], workers=2), two, data, plain, backwards=2)
        self.assertEqual(len(loader), 4)
        for epoch in range(2):
            self.assertEqual(sorted(sum((batches[epoch, at] for at in range(4)), [])), list(range(100)))

    def test_reported_losses_are_those_of_the_samples(self):
        model, cluster = mlp(), StepCluster(shares=lambda number: [1, 3], workers=2)
        before = mean_loss(model, *samples(64).tensors).item()
        self.loaders(cluster, self.copies(model, 2), lambda m: torch.optim.SGD(m.parameters(), lr=1e-9), usual, samples(64),
                     batch_size=64)
        self.assertAlmostEqual(cluster.loss(0), before, places=5)

    def test_only_the_process_of_slot_0_writes_logs(self):
        models = []
        self.loaders(StepCluster(shares=lambda number: [1, 1], workers=2), self.copies(mlp(), 2), momentum,
                     lambda loader, model, optimizer: (usual(loader, model, optimizer), models.append(model)))
        self.assertEqual(sorted((it.logs, it.main) for it in models), [(False, False), (True, True)])


class TwoOptimizers(StepCase):
    """Two backwards of a batch, each before the step of another optimizer."""
    same = Loops.same

    def train(self, loader, model, optimizer=None, epochs=6):
        net = getattr(model, 'module', model)
        both = [torch.optim.SGD(it.parameters(), lr=0.1, momentum=0.9) for it in (net[0], net[2])]
        if net is not model:
            model.keep(first=both[0], second=both[1])
        for _ in range(epochs):
            for x, y in loader:
                for factor, its in zip((1.0, -0.5), both):
                    net.zero_grad()
                    (factor * mean_loss(model, x, y)).backward()
                    its.step()

    def plain_loop(self, data):
        return lambda model, optimizer: self.train(torch.utils.data.DataLoader(data, 32), model)

    def test_a_late_worker_begins_between_them(self):
        data = samples(128)
        for late_at in (4, 5):
            cluster = StepCluster(shares=lambda number: [1, 1, 1], workers=3, late=[2], late_at=late_at)
            self.same(cluster, self.train, data, self.plain_loop(data), backwards=2, shuffle=False, epochs=6)
            self.assertIn(2, {it[0] for it in cluster.pieces})

    def test_a_copy_is_replaced_between_them(self):
        """The state is that of this round or of a later one: then this worker leaves the rest of its batch."""
        for lost_at, later in ((5, 0), (5, 1), (5, 2), (6, 1)):
            cluster = StepCluster(shares=lambda number: [1, 1, 1], workers=3)

            def train(loader, model, optimizer):
                job, steps, take = loader.job, loader.job.steps, loader.job.steps.take

                def take_and_wait(*arguments):
                    take(*arguments)
                    while lost() and cluster.number < lost_at + later:
                        time.sleep(0.001)

                def lost(distance=0.0):
                    return (job.worker, steps.version) == ('worker-1', lost_at)
                steps.take, steps._copies.too_far = take_and_wait, lost
                self.train(loader, model, epochs=20)
            models = self.copies(mlp(), 3)
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.loaders(cluster, models, momentum, train, samples(128), backwards=2, epochs=20)
            self.assertIn('worker-1 differs', said.getvalue())
            for found in models[1:]:
                self.assert_same(found, models[0], 0)


class LostWorkers(StepCase):
    def lose(self, at, loss_of=3, epochs=2):
        """Worker 1 leaves in round `loss_of` in place of its backward. Returns how often each sample was used."""
        used, model, data = {}, mlp(), samples()
        numbered = torch.utils.data.TensorDataset(*data.tensors, torch.arange(len(data)))
        cluster = StepCluster(shares=lambda number: [1, 1, 1], workers=3)
        lock = threading.Lock()

        def work(loader, model, optimizer):
            number = 0
            for _ in range(epochs):
                for x, y, its in loader:
                    if loader.job.worker == 'worker-1' and number == loss_of:
                        return loader.job.leave()
                    optimizer.zero_grad()
                    mean_loss(model, x, y).backward()
                    optimizer.step()
                    with lock:
                        for it in its.tolist() if loader.job._weight else ():
                            used[it] = used.get(it, 0) + 1
                    number += 1
        models = self.copies(model, 3)
        with contextlib.redirect_stderr(io.StringIO()) as self.text:
            self.loaders(cluster, models, momentum, work, numbered, epochs=epochs)
        self.assert_same(models[2], models[0], 0)
        return used

    def test_its_samples_are_used_later(self):
        used = self.lose(1, epochs=4)
        self.assertEqual(set(used.values()), {4}, used)
        self.assertEqual(len(used), 100)

    def test_at_the_end_the_number_of_unused_samples_is_printed(self):
        used = self.lose(1, loss_of=7)
        self.assertEqual(sum(used.values()), 200 - 2 + 0, used)
        self.assertRegex(self.text.getvalue(), r'ended before \d+ samples of a lost worker were used')


class LeftEarly(StepCase):
    def test_a_job_that_was_left_starts_no_timer(self):
        loader = self.loader(StepCluster(), steelyard.torch.parallel(mlp()), samples())
        next(iter(loader))
        loader.job.leave()
        loader.job._given.close()
        self.assertIsNone(loader.job._leaving)


class Owed(StepCase):
    def test_a_worker_without_share_keeps_the_samples_that_it_owes(self):
        seen, data = [], torch.utils.data.TensorDataset(*samples().tensors, torch.arange(100))

        def work(loader, model, optimizer):
            for x, y, its in loader:
                if loader.job.about['slot'] == 0 and loader.job.steps.version == 0:
                    loader.job._owed = [7, 8, 9]
                seen.append((loader.job.about['slot'], its.tolist()))
                mean_loss(model, x, y).backward()
        turns = [[1, 1], [0, 1], [1, 1], [1, 1]]
        self.loaders(StepCluster(shares=lambda number: turns[number], workers=2), self.copies(mlp(), 2), momentum, work,
                     data, epochs=1)
        later = [its for slot, its in seen if slot == 0][2:]
        self.assertEqual(later[0][-3:], [7, 8, 9])


class Refused(StepCase):
    def refused(self, text, work, **options):
        with self.assertRaisesRegex(steelyard.Failure, text):
            self.loaders(StepCluster(), [mlp()], momentum, work, **options)

    def test_a_body_without_backward(self):
        def work(loader, model, optimizer):
            for _ in loader:
                pass
        self.refused('without loss.backward', work)

    def test_a_backward_too_many(self):
        def work(loader, model, optimizer):
            for x, y in loader:
                mean_loss(model, x, y).backward()
                mean_loss(model, x, y).backward()
        self.refused('backwards=2', work)

    def test_a_refused_loader_takes_no_backward_of_a_later_one(self):
        """As in a notebook, whose traceback keeps the loader: the corrected loop runs in the same thread."""
        def work(loader, model, optimizer):
            with self.assertRaisesRegex(steelyard.Failure, 'once more'):
                for x, y in loader:
                    mean_loss(model, x, y).backward()
                    mean_loss(model, x, y).backward()
            other = steelyard.torch.parallel(mlp())
            other.keep(optimizer=momentum(other))
            for x, y in self.loader(StepCluster(), other, samples()):
                mean_loss(other, x, y).backward()
        self.loaders(StepCluster(), [mlp()], momentum, work)

    def test_a_backward_too_few(self):
        def work(loader, model, optimizer):
            for x, y in loader:
                mean_loss(model, x, y).backward()
        self.refused('1 times, and the loader has backwards=2', work, backwards=2)

    def test_wrong_arguments(self):
        shared = steelyard.torch.parallel(mlp())
        with self.assertRaisesRegex(steelyard.Failure, 'has made'):
            steelyard.torch.parallel(shared)
        for model, options, text in ((mlp(), {}, 'what steelyard.torch.parallel'), (shared, {'backwards': 0}, 'at least 1'),
                                     (shared, {'batch_size': None}, 'batch')):
            with self.assertRaisesRegex(steelyard.Failure, text):
                self.loader(StepCluster(), model, samples(), **options)
        self.loader(StepCluster(), shared, samples()).job.leave()
        with self.assertRaisesRegex(steelyard.Failure, 'one loader for training'):
            self.loader(StepCluster(), shared, samples())


if __name__ == '__main__':
    import unittest
    unittest.main()
