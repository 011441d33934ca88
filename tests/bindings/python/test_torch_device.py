"""Parameters and batches reach a device; each worker gets a device of its own."""
import contextlib
import io
import os
from unittest import mock

from fake_device import FakeDevice
from torch_case import TorchCase, mlp, torch
import steelyard.torch
from steelyard import _cluster
from steelyard._torch_copy import OwnLayout
from steelyard._torch_data import FIRST_TEST
from steelyard._torch_device import Upload
from steelyard._torch_incoming import Incoming
from steelyard._torch_optimizer import Factors
from steelyard._torch_parameters import Layout

CPU = torch.device('cpu')


class OnFake(TorchCase):
    def fake(self, **options):
        device = FakeDevice(**options)
        patch = device.installed()
        patch.start()
        self.addCleanup(patch.stop)
        return device


class Uploads(OnFake):
    def uploaded(self, device, most):
        upload, arrived = Upload(CPU, most), []
        floats = torch.empty(10)
        for number in range(3):
            floats.copy_(torch.arange(10.0) + 100 * number)  # the task's buffer is another version each round
            arrived.append(upload.start(floats))
        floats.fill_(-1)
        device.main.finish()
        return torch.cat(arrived).tolist()

    def test_pinned_buffers_are_reused_only_after_their_copies(self):
        expected = [100 * number + it for number in range(3) for it in range(10)]
        for most in (1, 3, 5, 10, 99):
            with self.subTest(most=most):
                self.assertEqual(self.uploaded(self.fake(), most), expected)
                self.assertNotEqual(self.uploaded(self.fake(without='synchronize'), most), expected)

    def test_the_host_does_not_wait_for_the_last_two_copies(self):
        device = self.fake()
        upload = Upload(CPU, 10)
        for _ in range(2):
            upload.start(torch.ones(10))
        self.assertEqual(device.main.done, 0)
        upload.start(torch.ones(10))
        self.assertEqual(device.main.done, 1)

    def test_sizes_may_differ(self):
        device, upload = self.fake(), Upload(CPU, 8)
        arrived = [upload.start(torch.arange(float(size))) for size in (3, 0, 20, 1)]
        device.main.finish()
        self.assertEqual([it.tolist() for it in arrived], [[float(n) for n in range(size)] for size in (3, 0, 20, 1)])

    def test_a_version_is_loaded(self):
        device, model = self.fake(), mlp()
        layout = Layout(model, {id(it): Factors() for it in model.parameters()})
        flat = torch.arange(float(layout.size))
        layout.load(flat)
        flat.fill_(-1)
        device.main.finish()
        self.assertEqual(torch.cat([it.detach().reshape(-1) for it in model.parameters()]).tolist(),
                         list(range(layout.size)))

    def test_mean_gradients_are_taken(self):
        device, model = self.fake(), mlp()
        layout = OwnLayout(model)
        flat = torch.arange(1.0, layout.size + 1)
        layout.take_gradients(flat)
        flat.fill_(-1)
        device.main.finish()
        self.assertEqual(torch.cat([it.grad.reshape(-1) for it in model.parameters()]).tolist(), list(range(1, 284)))


class Loader:
    """A reader with loader processes: gives the batches in the order of the wishes, and each once."""
    prefetches = True

    def __init__(self):
        self.wishes, self.given = [], []

    def expect(self, needed, ahead):
        self.wishes = [it for it in [*needed, *ahead] if it not in self.wishes] + self.wishes

    def get(self, samples):
        self.wishes.remove(samples)
        self.given.append(samples)
        return {'x': torch.tensor(samples, dtype=torch.float32), 'name': 'some'}


def never(error):
    return False


class Batches(OnFake):
    def test_work_on_the_current_stream_waits_for_the_batch(self):
        for without in ('', 'wait'):
            device = self.fake(without=without)
            incoming = Incoming(Loader(), CPU)
            incoming.expect([(1, 2)], [])
            batch = incoming.get((1, 2))
            device.main.finish()
            self.assertEqual(batch['name'], 'some')
            self.assertEqual(batch['x'].tolist() == [1, 2], not without)

    def test_the_guessed_batch_is_brought_once(self):
        self.fake(eager=True)
        incoming = Incoming(Loader(), CPU)
        incoming.expect([(1, 2)], [(3, 4), (5,)])
        incoming.get((1, 2))
        incoming.bring_next(never)
        self.assertEqual(incoming._reader.given, [(1, 2), (3, 4)])
        incoming.expect([(FIRST_TEST,)], [(3, 4), (5,)])  # an evaluation in between
        incoming.get((FIRST_TEST,))
        incoming.expect([(3, 4)], [(5,)])
        self.assertEqual(incoming.get((3, 4))['x'].tolist(), [3, 4])
        self.assertEqual(incoming._reader.given, [(1, 2), (3, 4), (FIRST_TEST,)])

    def test_a_wrong_guess_is_dropped(self):
        self.fake(eager=True)
        incoming = Incoming(Loader(), CPU)
        incoming.expect([(1, 2)], [(3, 4)])
        incoming.get((1, 2))
        incoming.bring_next(never)
        incoming.expect([(7,)], [])
        self.assertEqual(incoming.get((7,))['x'].tolist(), [7])
        incoming.expect([(3, 4)], [])
        self.assertEqual(incoming.get((3, 4))['x'].tolist(), [3, 4])

    def test_without_memory_for_the_guess_it_is_read_later(self):
        device = self.fake(eager=True)
        incoming = Incoming(Loader(), CPU)
        incoming.expect([], [(3, 4)])
        with mock.patch.object(device, 'bring', side_effect=MemoryError()):
            incoming.bring_next(lambda error: isinstance(error, MemoryError))
        incoming.expect([(3, 4)], [])
        self.assertEqual(incoming.get((3, 4))['x'].tolist(), [3, 4])


class OwnDevice(TorchCase):
    """With a faked number of devices."""

    def device(self, count, place='', given='', name='worker-2'):
        environment = {'STEELYARD_LOCAL_WORKER': place, 'STEELYARD_DEVICE': given, 'STEELYARD_NAME': name}
        self.text = io.StringIO()
        _cluster._told_of_sharing.clear()
        with mock.patch.dict(os.environ, environment), contextlib.redirect_stderr(self.text), \
                mock.patch('torch.cuda.is_available', lambda: count > 0), \
                mock.patch('torch.cuda.device_count', lambda: count), \
                mock.patch('torch.cuda.set_device') as current:
            found = [str(steelyard.torch.device()) for _ in range(2)]
        self.assertEqual(found[0], found[1])
        if found[0] != 'cpu':
            self.assertEqual(str(current.call_args.args[0]), found[0])
        return found[0]

    def test_each_worker_of_a_machine_gets_one(self):
        self.assertEqual([self.device(4, f'{it}/3') for it in range(3)], ['cuda:0', 'cuda:1', 'cuda:2'])
        self.assertEqual(self.text.getvalue(), '')

    def test_a_script_alone_gets_the_first(self):
        self.assertEqual([self.device(2), self.device(0), self.device(0, '1/2')], ['cuda:0', 'cpu', 'cpu'])

    def test_further_workers_share_them_and_are_told_once(self):
        self.assertEqual(self.device(2, '2/3'), 'cuda:0')
        text = self.text.getvalue()
        self.assertEqual(text.count('\n'), 1)
        for part in ('worker-2 shares GPU 0', '3 workers run here and may use 2 GPUs', 'steelyard run -n 2',
                     '--set worker.worker-2.device=cpu', 'CUDA_VISIBLE_DEVICES'):
            self.assertIn(part, text)
        self.assertEqual(self.device(1, '3/4'), 'cuda:0')
        self.assertIn('may use 1 GPU:', self.text.getvalue())

    def test_a_given_device_is_taken(self):
        self.assertEqual([self.device(2, '1/2', it) for it in ('cuda:0', 'cpu', 'auto')], ['cuda:0', 'cpu', 'cuda:1'])
