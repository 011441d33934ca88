"""Gradients of a device reach the task's buffer, on a device whose work is done only when it is waited for."""
import itertools
from unittest import mock

import test_torch_models
import test_torch_parallel
import test_torch_sum
import test_torch_trouble
from fake_device import NAN, FakeDevice, Stream
from torch_case import TorchCase, mean_loss, mlp, samples, torch
from steelyard._torch_copy import OwnLayout
from steelyard._torch_incoming import Incoming
from steelyard._torch_optimizer import Factors
from steelyard._torch_parameters import Layout
from steelyard._torch_staging import DeviceStager


class Staging(TorchCase):
    """Four tensors of 200, 20, 60 and 3 floats."""

    def stager(self, device, bucket=100, arrived=None):
        self.device = device
        patch = device.installed()
        patch.start()
        self.addCleanup(patch.stop)
        model = mlp()
        self.layout = Layout(model, {id(it): Factors() for it in model.parameters()})
        self.told = []
        stager = DeviceStager(self.layout, arrived or self.told.append, bucket)
        self.addCleanup(stager.close)
        self.into = torch.full((self.layout.size,), NAN)
        stager.begin_task(self.into)
        return stager

    def computed(self, index):
        """A gradient that the current stream is about to compute."""
        gradient = torch.full(self.layout.parameters[index].tensor.shape, NAN)
        self.device.run(self.device.main, lambda: gradient.fill_(index + 1))
        return gradient

    def expected(self):
        sizes = [it.tensor.numel() for it in self.layout.parameters]
        return torch.cat([torch.full((size,), index + 1.0) for index, size in enumerate(sizes)])

    def test_gradients_arrive_in_both_ways(self):
        for locks in (False, True):
            with self.subTest(locks=locks):
                stager = self.stager(FakeDevice(locks=locks))
                for index in (3, 2, 1, 0):
                    stager.send(index, self.computed(index))
                stager.settle()
                self.assertTrue(torch.equal(self.into, self.expected()))
                self.assertEqual(self.told, [3, 2, 1, 0])

    def test_a_missing_wait_is_found(self):
        for without, locks in itertools.product(('wait', 'synchronize'), (False, True)):
            with self.subTest(without=without, locks=locks):
                stager = self.stager(FakeDevice(locks=locks, without=without))
                stager.send(0, self.computed(0))
                stager.settle()
                self.assertTrue(self.into[:200].isnan().any())

    def test_small_tensors_share_a_bucket(self):
        events = []
        for bucket in (1, 80, 10**6):
            stager = self.stager(FakeDevice(), bucket)
            for index in (3, 2, 1, 0):
                stager.send(index, self.computed(index))
            stager.settle()
            self.assertTrue(torch.equal(self.into, self.expected()))
            events.append(self.device.events)
        self.assertEqual(events, [8, 4, 2])  # two for each bucket: [3, 2, 1] and [0] have at least 80 floats

    def test_a_bucket_has_gradients_of_one_stream(self):
        device = FakeDevice()
        stager = self.stager(device, 10**6)
        stager.send(3, self.computed(3))
        first, device.main = device.main, Stream(device.lock)  # autograd may use several streams
        stager.send(2, self.computed(2))
        stager.settle()
        self.assertTrue(torch.equal(self.into[220:], self.expected()[220:]))
        self.assertEqual([first.done, device.main.done], [1, 1])

    def test_what_is_not_told_arrives_too(self):
        stager = self.stager(FakeDevice(), 10**6)
        for index in range(4):
            stager.send(index, self.computed(index), tell=index < 2)
        stager.settle()
        self.assertTrue(torch.equal(self.into, self.expected()))
        self.assertEqual(self.told, [0, 1])

    def test_after_settling_a_gradient_may_change(self):
        stager = self.stager(FakeDevice(), 10**6)
        gradient = self.computed(0)
        stager.send(0, gradient)
        stager.settle()
        gradient.fill_(9)
        self.assertTrue(torch.equal(self.into[:200], self.expected()[:200]))

    def test_trouble_is_raised_once_and_copies_go_on(self):
        def arrived(index):
            if index == 3:
                raise ValueError('the scheduler is gone')
            self.told.append(index)
        stager = self.stager(FakeDevice(), 1, arrived)
        stager.send(3, self.computed(3))
        stager.send(2, self.computed(2))
        with self.assertRaisesRegex(ValueError, 'is gone'):
            stager.settle()
        stager.settle()
        self.assertEqual(self.told, [2])
        self.assertTrue(torch.equal(self.into[220:], self.expected()[220:]))

    def test_each_buffer_is_locked_once_and_unlocked_at_the_end(self):
        stager = self.stager(FakeDevice(locks=True))
        other = torch.full_like(self.into, NAN)
        for into in (other, self.into, other):
            stager.begin_task(into)
        self.assertEqual(self.device.locked, [self.into.data_ptr(), other.data_ptr()])
        stager.send(0, self.computed(0))
        stager.settle()
        self.assertTrue(torch.equal(other[:200], self.expected()[:200]))
        stager.release()
        stager.release()
        self.assertEqual(self.device.unlocked, self.device.locked)

    def test_what_cannot_be_locked_is_not_unlocked(self):
        stager = self.stager(FakeDevice(locks=False))
        stager.release()
        self.assertEqual(self.device.unlocked, [])


    def test_a_factor(self):
        for locks in (False, True):
            stager = self.stager(FakeDevice(locks=locks))
            for index in range(4):
                stager.send(index, self.computed(index), factor=3.0)
            stager.settle()
            self.assertTrue(torch.equal(self.into, 3 * self.expected()))

    def test_buffers_of_the_model_arrive(self):
        for locks in (False, True):
            self.stager(FakeDevice(locks=locks))
            model = torch.nn.Sequential(torch.nn.Linear(10, 6), torch.nn.BatchNorm1d(6))
            mean, own = model[1].running_mean, OwnLayout(model)
            for layout in (Layout(model, {id(it): Factors() for it in model.parameters()}), own):
                stager = DeviceStager(layout, self.told.append)
                self.addCleanup(stager.close)
                self.device.run(self.device.main, lambda: mean.fill_(3))  # as the forward pass does
                into = torch.full((layout.size,), NAN)
                stager.begin_task(into)
                layout.write_buffers(into, torch.ones(layout.size), 5.0, stager)
                begin = layout.parameters[-1].end
                self.assertEqual(into[begin:begin + 6].tolist(), [15.0 if layout is own else 10.0] * 6)
                self.assertFalse(into[begin:].isnan().any())
                mean.fill_(NAN)
        self.assertEqual(self.told, [])


class Jobs(TorchCase):
    """Whole jobs have the parameters of plain PyTorch."""

    def both_on(self, device, model, loss=mean_loss, **options):
        with device.installed():
            return self.both(model, lambda it: torch.optim.SGD(it.parameters(), lr=0.1, momentum=0.9), samples(),
                             loss, **options)

    def test_the_result_is_that_of_plain_pytorch(self):
        for locks in (False, True):
            device = FakeDevice(eager=True, locks=locks)
            cluster, _ = self.both_on(device, mlp(wide=2000), micro_batch=8)
            self.assertTrue(cluster.finals, 'nothing was sent during backward')
            self.assertEqual(bool(device.unlocked), locks)

    def test_a_missing_wait_changes_the_result(self):
        with self.assertRaises(AssertionError):
            self.both_on(FakeDevice(eager=True, locks=True, without='synchronize'), mlp())


class OnADevice:
    """Runs the tests of another class on a device whose copies are done late."""

    def setUp(self):
        device = FakeDevice(eager=True, locks=self.locks).installed()
        device.start()
        self.addCleanup(device.stop)


class PassesInLockedMemory(OnADevice, test_torch_models.Passes):
    """Among them: gradients that are accumulated twice are taken back."""
    locks = True


class PassesThroughPinnedMemory(OnADevice, test_torch_models.Passes):
    locks = False


class SumsOnADevice(OnADevice, test_torch_sum.Sums):
    locks = True


class ZeroedOnADevice(OnADevice, test_torch_sum.Zeroed):
    locks = True


class LoopsInLockedMemory(OnADevice, test_torch_parallel.Loops):
    """Scripts that keep their loop."""
    locks = True


class LoopsThroughPinnedMemory(OnADevice, test_torch_parallel.Loops):
    locks = False


class NextBatch(OnADevice, test_torch_parallel.StepCase):
    locks = True

    def test_it_is_brought_while_the_servers_average(self):
        ready, get = [], Incoming.get

        def noted(incoming, samples):
            ready.append(samples in incoming._ready)
            return get(incoming, samples)
        with mock.patch.object(Incoming, 'get', noted):
            self.loaders(test_torch_parallel.StepCluster(), [mlp()], test_torch_parallel.momentum,
                         test_torch_parallel.usual, num_workers=1, options={'multiprocessing_context': 'fork'})
        self.assertEqual(ready, [False] + [True] * 7)


class TwoOptimizersOnADevice(OnADevice, test_torch_parallel.TwoOptimizers):
    locks = True


class MemoryOfADevice(OnADevice, test_torch_trouble.Memory):
    locks = True

    def check_sent(self, sent):
        self.assertIn(len(sent), (2, 3))  # the last bucket may be on its way
