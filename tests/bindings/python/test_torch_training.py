"""A job learns the same as a plain PyTorch loop, in any division of the work."""
import threading

from torch_case import TorchCase, mean_loss, mlp, samples, torch
import standin

SGD, Adam, AdamW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW


class Optimizers(TorchCase):
    def test_sgd(self):
        self.both(mlp(), lambda m: SGD(m.parameters(), lr=0.2), samples())

    def test_momentum_and_weight_decay(self):
        self.both(mlp(), lambda m: SGD(m.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01), samples())

    def test_nesterov(self):
        self.both(mlp(), lambda m: SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True), samples())

    def test_adam(self):
        self.both(mlp(), lambda m: Adam(m.parameters(), lr=0.01, weight_decay=0.1, betas=(0.8, 0.95)), samples())

    def test_adamw(self):
        self.both(mlp(), lambda m: AdamW(m.parameters(), lr=0.01, weight_decay=0.3, eps=1e-6), samples())

    def test_groups_differ_in_rate_and_decay(self):
        def groups(m):
            return [{'params': m[0].parameters(), 'lr': 0.02, 'weight_decay': 0.2},
                    {'params': [m[2].weight], 'weight_decay': 0.05}, {'params': [m[2].bias], 'lr': 0.05}]
        self.both(mlp(), lambda m: SGD(groups(m), lr=0.1, momentum=0.5), samples())
        self.both(mlp(), lambda m: AdamW(groups(m), lr=0.01), samples())

    def test_clipping(self):
        cluster, _ = self.both(mlp(), lambda m: SGD(m.parameters(), lr=0.5), samples(), clip_norm=0.1)
        self.assertEqual(cluster.train['clip_norm'], 0.1)


class Schedules(TorchCase):
    def test_by_epoch(self):
        self.both(mlp(), lambda m: SGD(m.parameters(), lr=0.2), samples(), epochs=4,
                  schedule_of=lambda o: torch.optim.lr_scheduler.StepLR(o, 1, 0.3))

    def test_by_round_with_two_groups(self):
        def optimizer(m):
            return SGD([{'params': m[0].parameters(), 'lr': 0.01}, {'params': m[2].parameters()}], lr=0.2)
        cluster, _ = self.both(mlp(), optimizer, samples(), epochs=3, schedule_per='round',
                               schedule_of=lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 12))
        self.assertEqual(len(cluster.train['rates']), 12)
        self.assertAlmostEqual(cluster.train['step_epochs'], 0.32)

    def test_warm_up_from_zero_and_chained(self):
        def schedule(o):
            parts = torch.optim.lr_scheduler
            warm = parts.LambdaLR(o, lambda step: min(1, step / 4))
            return parts.SequentialLR(o, [warm, parts.ExponentialLR(o, 0.8)], [5])
        self.both(mlp(), lambda m: SGD(m.parameters(), lr=0.2), samples(), epochs=3, schedule_per='round',
                  schedule_of=schedule)

    def test_sampling_changes_neither_scheduler_nor_optimizer(self):
        model = mlp()
        optimizer = SGD(model.parameters(), lr=0.2)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        self.join(standin.Cluster(), model, optimizer, samples(), schedule=schedule).leave()
        self.assertEqual(optimizer.param_groups[0]['lr'], 0.2)
        self.assertEqual(schedule.last_epoch, 0)


class Shares(TorchCase):
    def test_they_change_from_round_to_round(self):
        turns = [[1], [7, 1], [0, 1], [1, 0], [2, 3, 4], [1, 1, 1, 1, 1]]
        cluster = standin.Cluster(shares=lambda number: turns[number % len(turns)])
        self.both(mlp(), lambda m: SGD(m.parameters(), lr=0.1, momentum=0.9), samples(), cluster=cluster,
                  epochs=4, micro_batch=4)

    def test_three_workers_one_of_them_idle(self):
        cluster = standin.Cluster(shares=lambda number: [7, 0, 1], workers=3)
        data, models, jobs = samples(), [mlp(seed) for seed in (1, 2, 3)], []
        first = [it.detach().clone() for it in models[0].parameters()]
        for index, model in enumerate(models):
            jobs.append(self.join(cluster, model, SGD(model.parameters(), lr=0.1), data, index=index))

        def work(job, model):
            for x, y in job:
                job.backward(mean_loss(model, x, y))
        threads = [threading.Thread(target=work, args=it, daemon=True) for it in zip(jobs, models)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        cluster.check_epochs()
        plain = mlp(1)
        for mine, its in zip(first, plain.parameters()):
            self.assertTrue(torch.equal(mine, its))
        self.plain(cluster, plain, SGD(plain.parameters(), lr=0.1), data)
        for model in models:
            self.assert_same(model, plain)
        self.assertEqual([job.main for job in jobs], [True, False, False])
        self.assertEqual({it[0] for it in cluster.pieces}, {0, 2})

    def test_token_weights(self):
        def loss(model, x, y):  # a mean over samples of class 0 or 1 only
            return torch.nn.functional.cross_entropy(model(x), torch.where(y == 2, -100, y))
        data, model, plain = samples(), mlp(), mlp()
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        job = self.join(cluster, model, SGD(model.parameters(), lr=0.2), data, micro_batch=4)
        for x, y in job:
            job.backward(loss(model, x, y), weight=(y != 2).sum())
        self.plain(cluster, plain, SGD(plain.parameters(), lr=0.2), data, loss)
        self.assert_same(model, plain)

    def test_reported_losses_are_weighted(self):
        def loss(model, x, y):  # a mean over samples of class 0 or 1 only
            return torch.nn.functional.cross_entropy(model(x), torch.where(y == 2, -100, y))

        def score(model, x, y):
            return loss(model, x, y), 0, (y != 2).sum()
        data, test, model = samples(64), samples(50, seed=8), mlp()
        cluster = standin.Cluster(shares=lambda number: [1, 7], evaluate=True)
        job = self.join(cluster, model, SGD(model.parameters(), lr=1e-9), data, micro_batch=4, batch=64, epochs=1,
                        test=test, score=score)
        expected = loss(model, *data.tensors).item()
        for x, y in job:
            job.backward(loss(model, x, y) if (y != 2).any() else model(x).sum() * 0, weight=(y != 2).sum())
        self.assertAlmostEqual(cluster.loss(0), expected, places=5)
        self.assertAlmostEqual(cluster.scores[0][0], loss(model, *test.tensors).item(), places=5)

    def test_micro_batch_is_the_size_of_all_micro_batches(self):
        for workers, shares in ((1, [1]), (2, [1, 7]), (8, [1] * 8)):
            model, data, sizes = mlp(), samples(100), []
            cluster = standin.Cluster(shares=lambda number: shares)
            job = self.join(cluster, model, SGD(model.parameters(), lr=0.1), data, micro_batch=8)
            for x, y in job:
                sizes.append(len(x))
                job.backward(mean_loss(model, x, y))
            cluster.check_epochs()
            self.assertEqual(cluster.description['grain'], 8)
            self.assertEqual(sorted(sizes), [4] * 2 + [8] * 24)

    def test_the_reported_loss_is_a_sum_over_samples(self):
        model, data = mlp(), samples(64)
        cluster = standin.Cluster()
        expected = mean_loss(model, *data.tensors).item() * 64
        self.train(cluster, model, SGD(model.parameters(), lr=0.1), data, batch=64, epochs=1, micro_batch=16)
        self.assertAlmostEqual(cluster.pieces[0][-1], expected, places=3)

    def test_evaluation_by_score_leaves_modes_as_they_were(self):
        model, data, seen = mlp(), samples(), []
        model.insert(2, torch.nn.Dropout(0.5))
        model[1].eval()

        def score(m, x, y):
            seen.append((m.training, m[2].training, torch.is_grad_enabled(), len(x)))
            return mean_loss(m, x, y), (m(x).argmax(1) == y).sum()
        cluster = standin.Cluster(evaluate=True)
        job = self.train(cluster, model, SGD(model.parameters(), lr=0.1), data, test=samples(50, seed=8), score=score,
                         batch=20, micro_batch=20)
        self.assertEqual(seen[0], (False, False, False, 20))
        self.assertEqual(sum(it[3] for it in seen), 100)
        self.assertTrue(model.training and model[2].training and not model[1].training)
        model.eval()
        scores = model(samples(50, seed=8).tensors[0])
        right = int((scores.argmax(1) == samples(50, seed=8).tensors[1]).sum())
        self.assertEqual(cluster.scores[-1][1], right)
        self.assertEqual(job.outcome, 'finished')
