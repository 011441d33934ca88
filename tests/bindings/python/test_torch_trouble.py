"""Errors in a loop are corrected, or explained."""
from unittest import mock

from torch_case import TorchCase, cross_entropy, mean_loss, mlp, samples, torch
import standin
from steelyard import Failure
from steelyard._torch_scale import LossScale


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


class Memory(TorchCase):
    def exhausted(self, limit, error):
        """A loss function with memory for at most `limit` samples at once."""
        sizes = []

        def loss(model, x, y):
            sizes.append(len(x))
            if len(x) > limit:
                raise error
            return mean_loss(model, x, y)
        return loss, sizes

    def through_run(self, model, loss, **options):
        plain = mlp()
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        job = self.join(cluster, model, sgd(model), samples(), **options)
        job.run(lambda x, y: loss(model, x, y))
        cluster.check_epochs()
        self.plain(cluster, plain, sgd(plain), samples())
        self.assert_same(model, plain)

    def check_sent(self, sent):
        self.assertEqual(len(sent), 3)     # of the second to the fourth round

    def test_in_a_step_the_piece_is_done_again_in_smaller_parts(self):
        for error in (torch.cuda.OutOfMemoryError('CUDA out of memory'), RuntimeError('out of memory'),
                      MemoryError()):
            loss, sizes = self.exhausted(5, error)
            self.through_run(mlp(), loss)
            self.assertEqual([it for it in sizes if it > 5], [28, 16, 8])  # from the piece's beginning

    def test_in_backward_of_the_last_part_after_others_were_sent(self):
        def deep():
            torch.manual_seed(1)
            return torch.nn.Sequential(torch.nn.Linear(10, 200), torch.nn.ReLU(), torch.nn.Linear(200, 200),
                                       torch.nn.ReLU(), torch.nn.Linear(200, 3))
        model, plain, times, sent = deep(), deep(), [], []

        def trouble(gradient):
            times.append(1)
            if len(times) == 4:
                sent.extend(cluster.finals)
                raise RuntimeError('out of memory')
        cluster = standin.Cluster()
        job = self.join(cluster, model, sgd(model), samples())
        for x, y in job:
            hidden = model[0](x)
            hidden.register_hook(trouble)
            job.backward(cross_entropy(model[1:](hidden), y))
        self.assertGreater(len(times), 8)  # in smaller parts from there on
        self.check_sent(sent)
        self.plain(cluster, plain, sgd(plain), samples())
        self.assert_same(model, plain)

    def test_in_the_loop_the_error_names_the_remedy(self):
        model = mlp()
        loss, _ = self.exhausted(5, RuntimeError('out of memory'))
        job = self.join(standin.Cluster(), model, sgd(model), samples())
        with self.assertRaises(RuntimeError) as caught:
            for x, y in job:
                job.backward(loss(model, x, y))
        self.assertIn('job.run(step)', job._explain(caught.exception))
        self.assertTrue(job._is_own_trouble(caught.exception))
        self.assertIsNone(job._explain(ValueError()))
        self.assertFalse(job._is_own_trouble(ValueError()))

    def test_one_sample_is_the_least(self):
        loss, sizes = self.exhausted(0, RuntimeError('out of memory'))
        with self.assertRaisesRegex(Failure, 'one sample'):
            self.through_run(mlp(), loss)
        self.assertEqual(sizes[-1], 1)

    def test_with_batch_norm_the_size_is_not_reduced(self):
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(10), *mlp())
        loss, _ = self.exhausted(5, RuntimeError('out of memory'))
        with self.assertRaisesRegex(Failure, 'smaller micro_batch'):
            self.through_run(model, loss)

    def test_a_size_that_was_given_is_not_reduced(self):
        loss, _ = self.exhausted(5, RuntimeError('out of memory'))
        with self.assertRaisesRegex(Failure, 'smaller micro_batch'):
            self.through_run(mlp(), loss, micro_batch=8)

    def test_other_errors_are_passed_on(self):
        with self.assertRaisesRegex(RuntimeError, 'mat1'):
            self.through_run(mlp(), lambda model, x, y: model(x[:, 1:]).sum())


class HalfPrecision(TorchCase):
    def test_on_overflow_the_piece_is_done_again_at_half_the_scale(self):
        model, plain, peaks = mlp(), mlp(), []

        def narrow(gradient):  # overflows as float16 would
            peaks.append(gradient.abs().max().item())
            return torch.where(gradient.abs() > 300, torch.inf, gradient)
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        job = self.join(cluster, model, sgd(model), samples(), fp16=True, micro_batch=8)
        for x, y in job:
            scores = model(x)
            scores.register_hook(narrow)
            job.backward(cross_entropy(scores, y))
        cluster.check_epochs()
        self.assertGreater(peaks[0], 300)
        self.assertLess(job._scale.value, 2**16)
        self.plain(cluster, plain, sgd(plain), samples())
        self.assert_same(model, plain)
        self.assertEqual(cluster.finals, [])
        self.assertEqual([it[4] for it in cluster.pieces], [0] * len(cluster.pieces))  # given up

    def test_the_scale_doubles_after_many_good_pieces(self):
        scale = LossScale()
        scale.update(False)
        for _ in range(1999):
            scale.update(True)
        self.assertEqual(scale.value, 2**15)
        scale.update(True)
        self.assertEqual(scale.value, 2**16)

    def test_numbers_not_finite_at_any_scale_end_the_job(self):
        model = mlp()
        with self.assertRaisesRegex(Failure, 'not finite'):
            self.train(standin.Cluster(), model, sgd(model), samples(),
                       loss=lambda m, x, y: mean_loss(m, x, y) * torch.nan, fp16=True)


class Loops(TorchCase):
    def broken(self, body, text, **options):
        model = mlp()
        optimizer = sgd(model)
        cluster = standin.Cluster()
        job = self.join(cluster, model, optimizer, samples(), **options)
        with self.assertRaisesRegex(Failure, text):
            for x, y in job:
                body(job, model, optimizer, mean_loss(model, x, y))
        self.assertEqual(cluster.pieces, [])

    def test_a_stray_step_is_explained(self):
        def body(job, model, optimizer, loss):
            job.backward(loss)
            optimizer.step()
        self.broken(body, r'opt\.step\(\)')

    def test_a_missing_backward_is_explained(self):
        self.broken(lambda job, model, optimizer, loss: None, r'without job\.backward')

    def test_a_second_backward_is_explained(self):
        def body(job, model, optimizer, loss):
            job.backward(loss / 2)
            job.backward(loss / 2)
        self.broken(body, 'twice')

    def test_a_backward_of_the_loss_itself_is_explained(self):
        self.broken(lambda job, model, optimizer, loss: loss.backward(), r'instead of loss\.backward')

    def test_a_loss_of_many_numbers_is_explained(self):
        self.broken(lambda job, model, optimizer, loss: job.backward(loss.expand(3)), 'one element')

    def test_an_invalid_weight_is_explained(self):
        self.broken(lambda job, model, optimizer, loss: job.backward(loss, weight=-1), 'weight = -1')

    def test_backward_outside_of_the_loop_is_explained(self):
        model = mlp()
        job = self.join(standin.Cluster(), model, sgd(model), samples())
        with self.assertRaisesRegex(Failure, 'outside of the loop'):
            job.backward(torch.ones(1))
        job.leave()

    def test_a_second_loop_is_explained(self):
        model = mlp()
        job = self.train(standin.Cluster(), model, sgd(model), samples())
        with self.assertRaisesRegex(Failure, 'once'):
            list(job)

    def test_an_unwanted_piece_is_given_up(self):
        model, plain = mlp(), mlp()
        asked = []

        def unwanted(piece, number):
            asked.append(number)
            return piece.number == 1 and number == 2 and not piece.given_up
        cluster = standin.Cluster(unwanted=unwanted)
        self.train(cluster, model, sgd(model), samples(), micro_batch=8)
        self.assertEqual([it[4] for it in cluster.pieces if it[1] == 1], [1])
        self.plain(cluster, plain, sgd(plain), samples())
        self.assert_same(model, plain)

    def test_break_of_one_of_several_workers_leaves_the_job(self):
        model = mlp()
        cluster = standin.Cluster(workers=2)
        job = self.join(cluster, model, sgd(model), samples())
        with mock.patch('steelyard._job.GRACE', 0):
            for x, y in job:
                break
        job._leaving.join()
        self.assertEqual((cluster.left, job.main, job.outcome), ({0: None}, False, 'left'))

    def test_a_job_that_fails_raises_with_its_text_and_code(self):
        model = mlp()
        job = self.join(standin.Cluster(fail_at=2), model, sgd(model), samples())
        with self.assertRaisesRegex(Failure, 'as the test wanted') as caught:
            for x, y in job:
                job.backward(mean_loss(model, x, y))
        self.assertEqual(caught.exception.code, 1)

    def test_after_the_loop_gradients_and_hooks_are_gone(self):
        model = mlp()
        self.train(standin.Cluster(), model, sgd(model), samples())
        self.assertIsNone(model[0].weight.grad)
        mean_loss(model, *samples().tensors).backward()
        self.assertIsNotNone(model[0].weight.grad)
