"""Scripts that end a job early keep its model."""
from unittest import mock

from torch_case import TorchCase, mean_loss, mlp, samples, torch
import standin


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


class Stop(TorchCase):
    def stopped(self, leave, **options):
        """Trains until leave(job, number of the micro-batch, after backward) says 'stop' or 'break'."""
        model = mlp()
        cluster = standin.Cluster(shares=lambda number: [3, 1])
        job = self.join(cluster, model, sgd(model), samples(), micro_batch=8, epochs=4, **options)
        for number, (x, y) in enumerate(job):
            if leave(job, number) == 'early':
                break
            job.backward(mean_loss(model, x, y))
            word = leave(job, number)
            if word == 'stop':
                job.stop()
            elif word == 'break':
                break
        return cluster, job, model

    def rounds_of(self, cluster, rounds):
        """A plain loop of that many rounds."""
        model = mlp()
        data = samples()
        optimizer = sgd(model)
        for number in range(rounds):
            epoch, index = divmod(number, cluster.per_epoch)
            numbers = cluster.order(epoch)[32 * index:32 * index + 32]
            optimizer.zero_grad()
            mean_loss(model, *torch.utils.data.default_collate([data[it] for it in numbers])).backward()
            optimizer.step()
        return model

    def expect(self, found, rounds):
        cluster, job, model = found
        self.assertEqual((job.outcome, job.main), ('finished', True))
        self.assertEqual(cluster.number, rounds)
        self.assert_same(model, self.rounds_of(cluster, rounds))

    def test_stop_finishes_the_round(self):
        self.expect(self.stopped(lambda job, number: 'stop' if number == 9 else ''), 3)

    def test_a_second_stop_changes_nothing(self):
        self.expect(self.stopped(lambda job, number: 'stop' if number >= 9 else ''), 3)

    def test_break_of_the_only_worker_drops_the_round(self):
        self.expect(self.stopped(lambda job, number: 'break' if number == 9 else ''), 2)
        self.expect(self.stopped(lambda job, number: 'early' if number == 8 else ''), 2)

    def test_break_after_the_last_part_of_a_piece_reports_it(self):
        self.expect(self.stopped(lambda job, number: 'break' if number == 7 else ''), 2)

    def test_after_break_the_buffers_are_those_of_the_last_round(self):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(10), *mlp())
        job = self.join(standin.Cluster(), model, sgd(model), samples(), micro_batch=8)
        for x, y in job:
            job.backward(mean_loss(model, x, y))
            break
        self.assertTrue(torch.equal(model[0].running_mean, torch.zeros(10)))
        self.assertTrue(job.main)

    def test_without_a_question_the_job_ends_soon_and_the_model_is_left_alone(self):
        model = mlp()
        job = self.join(standin.Cluster(), model, sgd(model), samples())
        with mock.patch('steelyard._job.GRACE', 0), mock.patch.object(job, '_take_final') as taken:
            for x, y in job:
                break
            job._leaving.join()
        self.assertEqual((taken.call_count, job.outcome, job.main), (0, 'finished', True))

    def test_after_the_end_stop_has_no_effect(self):
        model = mlp()
        job = self.train(standin.Cluster(), model, sgd(model), samples())
        job.stop()
        self.assertEqual(job.outcome, 'finished')
