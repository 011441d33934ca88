"""Each worker of a machine gets a card of its own from Keras and JAX. The cards are faked, and so are the frameworks:
their parts that steelyard._own_card uses, each with the rules of the real one."""
import contextlib
import io
import os
import types
import unittest
from unittest import mock

import standin  # noqa: F401  finds the package
from steelyard import _cluster, _own_card


class Jax:
    """Reads its configuration when it starts, that is, at the first question for devices."""

    def __init__(self, cards, platforms=None, started=False):
        self.values = {'jax_cuda_visible_devices': 'all', 'jax_platforms': platforms}
        self.cards, self.there = cards, list(range(cards)) if started else None
        self.config = types.SimpleNamespace(read=self.values.__getitem__, update=self.update, jax_platforms=platforms)

    def update(self, key, value):
        assert key in self.values, key
        self.values[key] = value

    def local_devices(self, backend):
        assert backend == 'cuda'
        if self.there is None:
            visible = self.values['jax_cuda_visible_devices']
            self.there = list(range(self.cards)) if visible == 'all' else [int(it) for it in visible.split(',')]
        return [types.SimpleNamespace(id=number, card=card) for number, card in enumerate(self.there)]


class TensorFlow:
    """Refuses changes after it has started."""

    def __init__(self, cards, started=False):
        self.started, self.growing = started, []
        self.cards = self.visible = [f'card {it}' for it in range(cards)]
        self.config = types.SimpleNamespace(
            list_physical_devices=lambda kind: {'GPU': self.cards}[kind], set_visible_devices=self.see,
            experimental=types.SimpleNamespace(set_memory_growth=self.grow))

    def see(self, devices, kind):
        if self.started:
            raise RuntimeError('Visible devices cannot be modified after being initialized')
        assert kind == 'GPU' and set(devices) <= set(self.cards)
        self.visible = devices

    def grow(self, device, on):
        self.growing.append((device, on))


class Torch:
    def __init__(self, cards):
        self.current = 0
        self.cuda = types.SimpleNamespace(is_available=lambda: cards > 0, device_count=lambda: cards,
                                          set_device=lambda number: setattr(self, 'current', number))


class Keras:
    def __init__(self, backend):
        self.backend = types.SimpleNamespace(backend=lambda: backend)
        self.entered = []

    @contextlib.contextmanager
    def device(self, name):
        self.entered.append(name)
        try:
            yield
        finally:
            self.entered.remove(name)


class CardCase(unittest.TestCase):
    @contextlib.contextmanager
    def worker(self, place='', given='', cards=4, name='worker-2'):
        environment = {'STEELYARD_LOCAL_WORKER': place, 'STEELYARD_DEVICE': given, 'STEELYARD_NAME': name}
        self.text = io.StringIO()
        _cluster._told_of_sharing.clear()
        with mock.patch.dict(os.environ, environment), contextlib.redirect_stderr(self.text), \
                mock.patch.object(_own_card, 'nvidia_cards', lambda: cards), \
                mock.patch.object(_own_card, '_jax_has_cuda', lambda: True):
            os.environ.pop('XLA_PYTHON_CLIENT_PREALLOCATE', None)
            yield


class JaxCards(CardCase):
    def found(self, place='', given='', cards=4, **options):
        """The framework, and the card that the worker computes on; None if it was left to JAX."""
        jax = Jax(cards, **options)
        with self.worker(place, given, cards):
            number = _own_card.with_jax(jax)
            self.preallocates = 'XLA_PYTHON_CLIENT_PREALLOCATE' not in os.environ
            return jax, None if number is None else _own_card.jax_device(jax, number).card

    def test_each_worker_sees_its_own_card_only(self):
        for number in range(3):
            jax, card = self.found(f'{number}/3')
            self.assertEqual((card, jax.there), (number, [number]))
        self.assertEqual((self.text.getvalue(), self.preallocates), ('', True))

    def test_it_had_started_before(self):
        jax, card = self.found('2/3', started=True)
        self.assertEqual((card, jax.there), (2, [0, 1, 2, 3]))
        with self.worker('2/3'):  # steelyard.keras after steelyard.jax
            self.assertEqual(_own_card.with_jax(jax), 2)

    def test_workers_that_share_a_card_are_told_and_reserve_no_memory(self):
        _, card = self.found('2/3', cards=2)
        self.assertEqual((card, self.preallocates), (0, False))
        self.assertIn('worker-2 shares GPU 0', self.text.getvalue())
        self.found('0/3', cards=2)
        self.assertEqual((self.text.getvalue(), self.preallocates), ('', False))

    def test_a_given_device(self):
        jax, card = self.found(given='cuda:3')
        self.assertEqual((card, jax.there), (3, [3]))
        self.assertEqual(self.found(given='cuda')[1], 0)
        self.assertEqual(self.found(given='cuda:4')[1], None)  # device() refuses it
        jax, card = self.found(given='cpu')
        self.assertEqual((card, jax.values['jax_platforms']), (None, 'cpu'))

    def test_what_the_script_has_chosen_stays(self):
        self.assertEqual(self.found('1/2', platforms='cpu')[1], None)
        jax = Jax(4)
        jax.values['jax_cuda_visible_devices'] = '0,1'
        with self.worker('1/2'):
            self.assertIsNone(_own_card.with_jax(jax))
        self.assertEqual(jax.values['jax_cuda_visible_devices'], '0,1')

    def test_nothing_changes_without_a_card_or_a_launcher(self):
        for place, given, cards in (('1/2', '', 0), ('', 'cpu', 0), ('', '', 4), ('', 'auto', 4)):
            jax, card = self.found(place, given, cards)
            self.assertEqual((card, list(jax.values.values())), (None, ['all', None]))


class TensorFlowCards(CardCase):
    def found(self, place='', given='', cards=4, **options):
        tf = TensorFlow(cards, **options)
        with self.worker(place, given, cards):
            return tf, _own_card.with_tensorflow(tf)

    def test_each_worker_sees_its_own_card_only(self):
        for number in range(3):
            tf, name = self.found(f'{number}/3')
            self.assertEqual((name, tf.visible, tf.growing),
                             ('gpu:0', [f'card {number}'], [(f'card {number}', True)]))

    def test_it_had_started_before(self):
        tf, name = self.found('2/3', started=True)
        self.assertEqual((name, len(tf.visible)), ('gpu:2', 4))

    def test_further_workers_share_them_and_are_told(self):
        tf, name = self.found('2/3', cards=2)
        self.assertEqual((name, tf.visible), ('gpu:0', ['card 0']))
        self.assertIn('worker-2 shares GPU 0', self.text.getvalue())

    def test_a_given_device(self):
        self.assertEqual(self.found(given='cuda:3')[0].visible, ['card 3'])
        self.assertEqual(self.found(given='cpu')[0].visible, [])

    def test_nothing_changes_without_a_card_or_a_launcher(self):
        for place, given, cards in (('1/2', '', 0), ('', 'cpu', 0), ('', '', 4), ('', 'auto', 4)):
            tf, name = self.found(place, given, cards)
            self.assertEqual((name, tf.visible, tf.growing), (None, tf.cards, []))


class KerasCards(CardCase):
    def found(self, backend, module, place='', given='', cards=4):
        self.keras = Keras(backend)
        with self.worker(place, given, cards), mock.patch.dict('sys.modules', {backend: module}):
            return _own_card.with_keras(self.keras)()

    def test_on_torch(self):
        torch = Torch(4)
        self.assertEqual((self.found('torch', torch, '2/3'), torch.current), ('gpu:2', 2))
        self.assertEqual(self.found('torch', Torch(4), given='cuda:1'), 'gpu:1')
        self.assertEqual((self.found('torch', Torch(0), '1/2', cards=0), self.keras.entered), (None, []))

    def test_on_torch_the_processor_becomes_the_default_if_it_is_given(self):
        self.assertEqual(self.found('torch', Torch(4), given='cpu'), None)
        self.assertEqual(self.keras.entered, ['cpu:0'])
        self.found('torch', Torch(0), given='cpu')
        self.assertEqual(self.keras.entered, [])

    def test_the_driver_is_not_asked_without_need(self):
        with mock.patch('ctypes.CDLL', side_effect=AssertionError), \
                mock.patch.object(_own_card, '_jax_has_cuda', lambda: True), \
                mock.patch.dict(os.environ, {'STEELYARD_LOCAL_WORKER': '', 'STEELYARD_DEVICE': ''}):
            self.assertIsNone(_own_card.with_jax(Jax(4)))
            self.assertIsNone(_own_card.with_keras(Keras('tensorflow'))())

    def test_on_tensorflow(self):
        self.assertEqual(self.found('tensorflow', TensorFlow(4), '2/3'), 'gpu:0')

    def test_on_jax(self):
        jax = Jax(4)
        self.assertEqual((self.found('jax', jax, '2/3'), jax.there), ('gpu:0', [2]))
        self.assertEqual(self.found('jax', Jax(4, started=True), '2/3'), 'gpu:2')
        jax = Jax(4)
        self.assertEqual((self.found('jax', jax), jax.there), (None, None))  # not started


class Driver(unittest.TestCase):
    class Library:
        def __init__(self, cards, code=0):
            self.cards, self.code = cards, code

        def cuInit(self, flags):
            return self.code

        def cuDeviceGetCount(self, count):
            count._obj.value = self.cards
            return self.code

    def test_it_counts_the_cards(self):
        for library, expected in ((self.Library(3), 3), (self.Library(3, 100), 0)):
            with mock.patch('ctypes.CDLL', lambda name: library):
                self.assertEqual(_own_card.nvidia_cards(), expected)
        with mock.patch('ctypes.CDLL', side_effect=OSError('no such file')):
            self.assertEqual(_own_card.nvidia_cards(), 0)


if __name__ == '__main__':
    unittest.main()
