"""job.on_round() is called once for each completed round, with its parameters, or is refused."""
import copy
import threading

from torch_case import TorchCase, mean_loss, mlp, samples, torch
import standin
from steelyard import Failure


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def average_of(model):
    return torch.optim.swa_utils.AveragedModel(model, avg_fn=lambda mean, new, count: 0.9 * mean + 0.1 * new)


class OnRound(TorchCase):
    def train_all(self, cluster, rounds=None, **options):
        """Trains on all workers, each with a running average. Returns the averages and what was raised."""
        averages, raised, threads = [], [], []
        jobs = []
        for index in range(cluster.workers):
            model = mlp()
            jobs.append((self.join(cluster, model, sgd(model), samples(), index=index, **options), model))
            averages.append(average_of(model))

        def work(job, model, average):
            job.on_round(lambda: average.update_parameters(model))
            try:
                for x, y in job:
                    job.backward(mean_loss(model, x, y))
            except Failure as failure:
                raised.append(str(failure))
                job.leave()
        for (job, model), average in zip(jobs, averages):
            threads.append(threading.Thread(target=work, args=(job, model, average), daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join(60)
        return averages, raised

    def expected(self, cluster):
        """The average of a plain loop."""
        model, data = mlp(), samples()
        optimizer, average = sgd(model), average_of(model)
        for number in range(cluster.number):
            epoch, index = divmod(number, cluster.per_epoch)
            numbers = cluster.order(epoch)[32 * index:32 * index + 32]
            optimizer.zero_grad()
            mean_loss(model, *torch.utils.data.default_collate([data[it] for it in numbers])).backward()
            optimizer.step()
            average.update_parameters(model)
        return average

    def test_one_worker(self):
        for shares in ([1], [1, 2, 1]):
            cluster = standin.Cluster(shares=lambda number: shares)
            averages, raised = self.train_all(cluster)
            self.assertEqual(raised, [])
            self.assertEqual(int(averages[0].n_averaged), 8)
            self.assert_same(averages[0], self.expected(cluster))

    def test_two_workers_with_samples_in_each_round(self):
        cluster = standin.Cluster(shares=lambda number: [1, 1], workers=2)
        averages, raised = self.train_all(cluster)
        self.assertEqual(raised, [])
        for average in averages:
            self.assert_same(average, self.expected(cluster))

    def test_a_worker_that_missed_a_round_is_refused_and_the_other_continues(self):
        cluster = standin.Cluster(shares=lambda number: [1, 0] if number in (3, 4) else [1, 1], workers=2)
        averages, raised = self.train_all(cluster)
        self.assertEqual(len(raised), 1)
        self.assertRegex(raised[0], r'that rounds 2 to 3 left: .*policy="equal"')
        self.assert_same(averages[0], self.expected(cluster))

    def test_a_worker_that_missed_the_last_round_is_refused(self):
        cluster = standin.Cluster(shares=lambda number: [1, 0] if number >= 6 else [1, 1], workers=2)
        averages, raised = self.train_all(cluster)
        self.assertRegex(raised[0], 'rounds 5 to 6 left')

    def test_a_worker_that_comes_late_is_refused(self):
        cluster = standin.Cluster(shares=lambda number: [1, 0] if number < 2 else [1, 1], workers=2)
        averages, raised = self.train_all(cluster)
        self.assertRegex(raised[0], 'rounds 0 to 0 left')

    def test_before_an_evaluation(self):
        model, seen, calls = mlp(), [], []

        def score(m, x, y):
            seen.append(len(calls))
            return mean_loss(m, x, y)
        job = self.join(standin.Cluster(evaluate=True), model, sgd(model), samples(), test=samples(20), score=score)
        job.on_round(lambda: calls.append(copy.deepcopy(model.state_dict())))
        for x, y in job:
            job.backward(mean_loss(model, x, y))
        self.assertEqual((seen, len(calls)), ([4, 8], 8))
        self.assertTrue(torch.equal(calls[-1]['0.weight'], model[0].weight))

    def test_modes_without_rounds_of_one_step_are_refused(self):
        cluster = standin.Cluster(synchronous=False)
        _, raised = self.train_all(cluster)
        self.assertRegex(raised[0], 'sync="bsp"')

    def test_in_the_loop_it_is_refused(self):
        model = mlp()
        job = self.join(standin.Cluster(), model, sgd(model), samples())
        with self.assertRaisesRegex(Failure, 'between join'):
            for x, y in job:
                job.on_round(lambda: None)
