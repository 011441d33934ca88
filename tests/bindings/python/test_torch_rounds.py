"""The loop over rounds, with optimizers that step in the script."""
import copy

import steelyard
from step_case import StepCase, StepCluster
from torch_case import mean_loss, mlp, samples, torch

SGD, Adam = torch.optim.SGD, torch.optim.Adam


def momentum(model):
    return SGD(model.parameters(), lr=0.1, momentum=0.9)


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr=0.003, beta=0.9):
        super().__init__(parameters, {'lr': lr, 'beta': beta})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for it in group['params']:
                if it.grad is not None:
                    mean = self.state[it].setdefault('mean', torch.zeros_like(it))
                    it.sub_(torch.sign(mean * group['beta'] + it.grad * (1 - group['beta'])), alpha=group['lr'])
                    mean.mul_(group['beta']).add_(it.grad, alpha=1 - group['beta'])


class Rounds(StepCase):
    def same(self, cluster, optimizer_of, model=None, within=1e-5, **options):
        """Trains with the workers of the cluster and in a plain loop, and compares all models."""
        model = model or mlp()
        models, plain, data = self.copies(model, cluster.workers), copy.deepcopy(model), samples()
        jobs = self.workers(cluster, models, optimizer_of, self.rounds, data, **options)
        cluster.check_epochs()
        self.plain(cluster, plain, optimizer_of(plain), data)
        for found in models:
            self.assert_same(found, plain, within)
        for found in models[1:]:
            self.assert_same(found, models[0], 0)
        self.assertGreater((model[0].weight - plain[0].weight).abs().max().item(), 1e-2)
        return jobs

    def test_one_worker(self):
        (job,) = self.same(StepCluster(), momentum)
        self.assertEqual((job.outcome, job.main), ('finished', True))

    def test_shares_that_change_and_a_worker_without_one(self):
        turns = [[1, 1, 1], [7, 0, 1], [0, 1, 0], [1, 2, 3, 4]]
        cluster = StepCluster(shares=lambda number: turns[number % 4], workers=3)
        self.same(cluster, momentum, micro_batch=4)

    def test_a_worker_without_shares_counts_rounds_and_epochs(self):
        seen = {'worker-0': [], 'worker-1': []}

        def work(job, model, optimizer):
            self.rounds(job, model, optimizer,
                        after=lambda round: seen[job.worker].append((round.version, round.epoch, job.epoch, job.round)))
        self.workers(StepCluster(shares=lambda number: [1, 0], workers=2), self.copies(mlp(), 2), momentum, work)
        self.assertEqual(seen['worker-1'], [(it, it // 4, it // 4, it % 4) for it in range(8)])
        self.assertEqual(seen['worker-1'], seen['worker-0'])

    def test_an_optimizer_that_is_no_part_of_torch(self):
        # its steps have one length, so a sign that rounding turns is a difference of 2 * lr
        self.same(StepCluster(shares=lambda number: [1, 7], workers=2), lambda m: Lion(m.parameters()), within=0.02)

    def test_a_late_worker_has_the_state_of_the_others(self):
        cluster = StepCluster(shares=lambda number: [1, 1, 1], workers=3, late=[2], late_at=3)
        self.same(cluster, lambda m: Adam(m.parameters(), lr=0.02))
        self.assertIn(2, {it[0] for it in cluster.pieces})
        self.assertGreaterEqual(min(it[1] for it in cluster.pieces if it[0] == 2), 3)

    def test_a_job_goes_on_from_a_state(self):
        data, whole = samples(), mlp()
        cluster = StepCluster(save_at=[5])
        self.workers(cluster, [whole], momentum, self.rounds, data, epochs=4)
        resumed, seen = self.copies(mlp(2), 2), []
        again = StepCluster(shares=lambda number: [1, 2], workers=2, resume=(cluster.states[5], 5))

        def work(job, model, optimizer):
            self.rounds(job, model, optimizer, after=lambda round: seen.append((round.version, round.epoch)))
        self.workers(again, resumed, momentum, work, data, epochs=4)
        for found in resumed:
            self.assert_same(found, whole)
        self.assertEqual(sorted(seen)[::2], [(number, number // 4) for number in range(5, 16)])

    def test_pieces_of_a_lost_worker_come_in_the_same_round(self):
        cluster, lost = StepCluster(shares=lambda number: [1, 1], workers=2), []
        model, data = mlp(), samples()
        models, plain = self.copies(model, 2), copy.deepcopy(model)

        def work(job, model, optimizer):
            for round in job.rounds():
                for x, y in round:
                    if job.worker == 'worker-1' and round.version == 3:
                        lost.append(len(x))
                        job.leave()
                        return
                    round.backward(mean_loss(model, x, y))
                optimizer.step()
        self.workers(cluster, models, momentum, work, data)
        self.assertTrue(lost)
        cluster.check_epochs()
        self.plain(cluster, plain, momentum(plain), data)
        self.assert_same(models[0], plain)

    def test_weights_of_tokens(self):
        def loss(model, x, y):
            return torch.nn.functional.cross_entropy(model(x), torch.where(y == 2, -100, y))

        def work(job, model, optimizer):
            for round in job.rounds():
                for x, y in round:
                    round.backward(loss(model, x, y) if (y != 2).any() else model(x).sum() * 0, (y != 2).sum())
                optimizer.step()
        cluster = StepCluster(shares=lambda number: [1, 7], workers=2)
        models, plain, data = self.copies(mlp(), 2), mlp(), samples()
        self.workers(cluster, models, momentum, work, data, micro_batch=4)
        self.plain(cluster, plain, momentum(plain), data, loss)
        self.assert_same(models[1], plain)

    def test_evaluation(self):
        def score(model, x, y):
            return mean_loss(model, x, y), (model(x).argmax(1) == y).sum()
        cluster, model = StepCluster(evaluate=True), mlp()
        self.workers(cluster, [model], momentum, self.rounds, test=samples(50, seed=8), score=score)
        self.assertEqual(len(cluster.scores), 2)
        x, y = samples(50, seed=8).tensors
        self.assertEqual(cluster.scores[-1][1], int((model(x).argmax(1) == y).sum()))

    def test_stop_ends_the_job_after_the_round(self):
        seen = []

        def work(job, model, optimizer):
            self.rounds(job, model, optimizer, after=lambda round: seen.append(round.version) or
                        (round.version == 4 and job.stop()))
        model, cluster = mlp(), StepCluster()
        (job,) = self.workers(cluster, [model], momentum, work)
        self.assertEqual((job.outcome, seen), ('finished', list(range(cluster.number))))
        self.assertEqual(cluster.number, 6)

    def test_break_between_rounds_ends_the_job_of_the_only_worker(self):
        model, cluster = mlp(), StepCluster(save_at=[3])  # the state is wanted after the loop
        optimizer = momentum(model)
        job = self.join(cluster, model, optimizer, samples(), step='here')
        for round in job.rounds():
            for x, y in round:
                round.backward(mean_loss(model, x, y))
            optimizer.step()
            if round.version == 2:
                break
        now = copy.deepcopy(model)
        self.assertEqual((job.outcome, job.main, cluster.number), ('finished', True, 3))
        self.assert_same(model, now, 0)
        self.assertEqual(list(cluster.states), [3])


class Refused(StepCase):
    def refused(self, text, work, optimizer_of=momentum, **options):
        with self.assertRaisesRegex(steelyard.Failure, text):
            self.workers(StepCluster(), [mlp()], optimizer_of, work, **options)

    def test_lbfgs(self):
        def work(job, model, optimizer):
            for round in job.rounds():
                def closure():
                    for x, y in round:
                        round.backward(mean_loss(model, x, y))
                    return 0.0
                optimizer.step(closure)
        self.refused('LBFGS', work, lambda m: torch.optim.LBFGS(m.parameters(), max_iter=3))

    def test_a_step_within_the_round(self):
        def work(job, model, optimizer):
            for round in job.rounds():
                for x, y in round:
                    round.backward(mean_loss(model, x, y))
                    optimizer.step()
        self.refused('0.weight was changed within a round', work)

    def test_clipping_within_the_round(self):
        def work(job, model, optimizer):
            for round in job.rounds():
                for x, y in round:
                    round.backward(mean_loss(model, x, y))
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        self.refused('clip_grad_norm_', work)

    def test_a_round_without_its_inner_loop(self):
        def work(job, model, optimizer):
            for _ in job.rounds():
                optimizer.step()
        self.refused('iterate over it', work)

    def test_a_loop_over_the_job(self):
        def work(job, model, optimizer):
            for _ in job:
                pass
        self.refused('job.rounds', work)

    def test_arguments_of_servers_that_step(self):
        model = mlp()
        optimizer = momentum(model)
        for options, text in (({'fp16': True}, 'torch.autocast in bfloat16'), ({'step': 'there'}, 'step ='),
                              ({'schedule': torch.optim.lr_scheduler.StepLR(optimizer, 1)}, 'job.keep')):
            with self.assertRaisesRegex(steelyard.Failure, text):
                self.join(StepCluster(), model, optimizer, samples(), **{'step': 'here', **options})


if __name__ == '__main__':
    import unittest
    unittest.main()
