"""Final ranges are reported once, in few calls; micro-batches find their size."""
import array
import itertools
import queue
import threading
import types

from torch_case import TorchCase, mean_loss, mlp, samples, torch
from steelyard import Failure, _worker
from steelyard._pieces import dividing
from steelyard._torch_copy import OwnLayout
from steelyard._torch_gradients import FinalRanges, Gradients
from steelyard._torch_micro_batch import MicroBatch, out_of_memory
from steelyard._torch_parameters import Entry


class Ranges(TorchCase):
    def ranges(self, sizes, least):
        entries, at, self.reported = [], 0, []
        for size in sizes:
            entries.append(Entry(['it'], torch.empty(size), at))
            at += size
        return FinalRanges(entries, lambda begin, end: self.reported.append((begin, end)), least)

    def test_neighbours_are_reported_together(self):
        ranges = self.ranges([4, 1, 4, 1, 50], 10)
        for index in (3, 1, 0):
            ranges.add(index)
        self.assertEqual(self.reported, [])
        ranges.add(2)
        self.assertEqual(self.reported, [(0, 10)])
        ranges.add(4)
        self.assertEqual(self.reported, [(0, 10), (10, 60)])
        self.assertEqual(ranges.told, [True] * 5)

    def test_reported_ranges_stay_reported_in_the_next_attempt(self):
        ranges = self.ranges([20, 4, 4, 4], 10)
        ranges.add(0)
        ranges.add(1)
        ranges.add(3)
        ranges.forget()
        self.assertEqual(ranges.written, [True, False, False, False])
        ranges.add(2)
        self.assertEqual(self.reported, [(0, 20)])
        ranges.add(1)
        ranges.add(3)
        self.assertEqual(self.reported, [(0, 20), (20, 32)])
        ranges.begin_task()
        self.assertEqual(ranges.told, [False] * 4)

    def test_taking_back_works_only_before_reporting(self):
        ranges = self.ranges([20, 4, 8], 10)
        ranges.add(0)
        ranges.add(1)
        self.assertFalse(ranges.take_back(0))
        self.assertTrue(ranges.take_back(1))
        ranges.add(2)
        self.assertEqual(self.reported, [(0, 20)])
        self.assertEqual(ranges.written, [True, False, True])

    def test_many_threads(self):
        sizes = [3] * 500
        ranges = self.ranges(sizes, 30)
        indices = queue.SimpleQueue()
        for index in torch.randperm(500).tolist():
            indices.put(index)

        def work():
            try:
                while True:
                    ranges.add(indices.get_nowait())
            except queue.Empty:
                pass
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        floats = sorted(it for begin, end in self.reported for it in range(begin, end))
        self.assertEqual(len(floats), len(set(floats)))
        self.assertEqual(len(floats), 3 * sum(ranges.told))
        self.assertTrue(all(ranges.written))


class Unfrozen(TorchCase):
    """Scripts that take the steps may freeze and unfreeze parameters between rounds."""

    def test_a_layer_that_is_frozen_at_first(self):
        model, (x, y) = mlp(), samples().tensors
        model[0].requires_grad_(False)
        layout = OwnLayout(model)
        gradients = Gradients(layout, types.SimpleNamespace(final=lambda begin, end: None))
        self.assertEqual(self.piece(layout, gradients, mean_loss(model, x, y))[:20 * 10].abs().max().item(), 0)
        model[0].requires_grad_(True)
        (expected,) = torch.autograd.grad(mean_loss(model, x, y), model[0].weight)
        found = self.piece(layout, gradients, mean_loss(model, x, y))
        self.assertEqual((found[:20 * 10].view(20, 10) - expected).abs().max().item(), 0)
        gradients.watch(True)
        with self.assertRaisesRegex(Failure, '0.weight got a gradient outside of job.backward'):
            model[0].weight.sum().backward()

    def piece(self, layout, gradients, loss):
        into = array.array('f', [9] * layout.size)
        gradients.begin_task(_worker.Task(kind=_worker.TRAIN, gradient=into, parameters=array.array('f', into)))
        gradients.begin_attempt()
        gradients.backward(loss, 1.0, last=True)
        self.assertTrue(gradients.finish(1.0))
        return torch.tensor(into)


class Sizes(TorchCase):
    def grown(self, seconds_of, most=10**6):
        micro = MicroBatch(32, torch.device('cpu'), most, fixed=False)
        for _ in range(100):
            for _ in range(2):
                micro.observe(micro.size, seconds_of(micro.size))
            micro.grow()
        self.assertTrue(micro.fixed)
        return micro.size

    def test_it_doubles_while_that_is_faster(self):
        self.assertEqual(self.grown(lambda size: 1 + 0.001 * size), 512)  # the overhead of each dominates
        self.assertEqual(self.grown(lambda size: 0.01 * size), 32)        # nothing is gained
        self.assertEqual(self.grown(lambda size: 1 if size <= 128 else 2.5), 128)
        self.assertEqual(self.grown(lambda size: 1, most=100), 64)

    def test_other_load_on_the_processor_does_not_end_the_growth(self):
        load = itertools.cycle((4, 3, 1, 2, 5))
        self.assertEqual(self.grown(lambda size: next(load) * (1 + 0.001 * size)), 512)
        load = itertools.count(100)  # ever more
        self.assertEqual(self.grown(lambda size: next(load) * (1 + 0.001 * size)), 512)

    def test_small_micro_batches_are_not_measured(self):
        micro = MicroBatch(32, torch.device('cpu'), 64, fixed=False)
        for _ in range(50):
            micro.observe(micro.size // 2, 1)
            micro.grow()
        self.assertFalse(micro.fixed)

    def test_it_halves_down_to_one(self):
        micro = MicroBatch(3, torch.device('cpu'), 512, fixed=False)
        self.assertEqual([micro.halve(), micro.size, micro.halve(), micro.size], [True, 1, False, 1])

    def test_the_size_for_batch_norm_divides_the_batch(self):
        self.assertEqual([dividing(it) for it in (512, 48, 100, 7, 509, 66)], [32, 24, 25, 7, 509, 22])

    def test_out_of_memory_errors_are_recognised(self):
        self.assertTrue(out_of_memory(RuntimeError("[enforce fail at alloc] can't allocate memory")))
        self.assertFalse(out_of_memory(ValueError('out of memory')))
        self.assertFalse(out_of_memory(RuntimeError('shapes differ')))
