"""Gives this process a card of its own with frameworks that otherwise use every card of the machine.

JAX and TensorFlow reserve memory on all cards that they see, so the second worker of a machine would find none
left. Which cards they see can be chosen only before they start, so `import steelyard.jax` and `import
steelyard.keras` choose it. If the framework has computed before, it keeps all cards, and device() names the right
one.

The card is that of STEELYARD_DEVICE, or that of this worker's place on its machine. Nothing is chosen in a script
that no launcher has started, unless STEELYARD_DEVICE is set, and nothing on a machine without an NVIDIA card.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pkgutil
from typing import Any, Callable, Optional

from steelyard import _cluster

_held: list[Any] = []  # scopes of Keras that stay open


def number_of(cards: int) -> Optional[int]:
    """The card of this process among these; None if it does not use one, or may use all."""
    name = _cluster.device_name()
    if name is not None:
        kind, _, number = name.partition(':')
        its = int(number) if number.isdigit() else 0
        return its if kind in ('cuda', 'gpu') and its < cards else None
    return _cluster.own_device(cards) if cards and _cluster.workers_here() else None


def on_processor(cards: int) -> bool:
    """Whether this process must leave the cards to others."""
    return bool(cards) and (_cluster.device_name() or '').partition(':')[0] == 'cpu'


def with_jax(jax: Any) -> Optional[int]:
    """Lets JAX see one card, or none. Returns the card's number among those of the machine, for jax_device()."""
    if not _is_asked():
        return None
    platforms = jax.config.jax_platforms or 'cuda'
    cards = nvidia_cards() if 'cuda' in platforms and _jax_has_cuda() else 0
    if on_processor(cards):
        jax.config.update('jax_platforms', 'cpu')
    seen = jax.config.read('jax_cuda_visible_devices')
    if not cards or (seen != 'all' and not seen.isdigit()):
        return None  # the script has chosen
    number = number_of(cards)
    if seen not in ('all', str(number)):
        return None
    if number is not None:
        jax.config.update('jax_cuda_visible_devices', str(number))
        if _cluster.workers_here() > cards:  # the first of those that share a card would reserve most of it
            os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'false')
    return number


def jax_device(jax: Any, number: int) -> Any:
    """The device of card `number`, which is the only one if JAX had not started before with_jax()."""
    there = jax.local_devices(backend='cuda')
    return there[number if len(there) > 1 else 0]


def with_tensorflow(tf: Any) -> Optional[str]:
    """Lets TensorFlow see one card, or none, and take memory as it needs it. Returns the name of the device for
    keras.device(), or None if TensorFlow chooses."""
    cards = tf.config.list_physical_devices('GPU')
    number = number_of(len(cards))
    try:
        if on_processor(len(cards)):
            tf.config.set_visible_devices([], 'GPU')
        elif number is not None:
            tf.config.set_visible_devices([cards[number]], 'GPU')
            tf.config.experimental.set_memory_growth(cards[number], True)
            return 'gpu:0'
    except RuntimeError:  # it has started
        pass
    return None if number is None else f'gpu:{number}'


def with_torch(torch: Any, keras: Any) -> Optional[str]:
    """Makes the card PyTorch's current one, which Keras uses, or the processor Keras' device. Returns the name of
    the device for keras.device(), or None if Keras chooses."""
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if on_processor(cards):
        scope = keras.device('cpu:0')
        scope.__enter__()
        _held.append(scope)
    number = number_of(cards)
    if number is None:
        return None
    torch.cuda.set_device(number)
    return f'gpu:{number}'


def with_keras(keras: Any) -> Callable[[], Optional[str]]:
    """The same for the backend of Keras. Returns a function that gives the name of the device for keras.device(),
    or None if Keras chooses; call it when the device is needed, since it may start JAX."""
    backend = keras.backend.backend()
    if backend == 'jax':
        jax = importlib.import_module('jax')
        number = with_jax(jax)
        return lambda: None if number is None else f'gpu:{jax_device(jax, number).id}'
    name: Optional[str] = None
    if not _is_asked():
        return lambda: None
    if backend == 'tensorflow':
        name = with_tensorflow(importlib.import_module('tensorflow'))
    elif backend == 'torch':
        name = with_torch(importlib.import_module('torch'), keras)
    return lambda: name


def nvidia_cards() -> int:
    """The number of cards that this process may use. CUDA_VISIBLE_DEVICES is respected."""
    try:
        driver = ctypes.CDLL('libcuda.so.1')
    except OSError:
        return 0
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def _is_asked() -> bool:
    return bool(_cluster.workers_here()) or _cluster.device_name() is not None


def _jax_has_cuda() -> bool:
    """Whether this JAX computes on cards; its package for CUDA adds a plugin."""
    try:
        plugins = importlib.import_module('jax_plugins')
    except ImportError:
        return False
    return any('cuda' in it.name for it in pkgutil.iter_modules(plugins.__path__))
