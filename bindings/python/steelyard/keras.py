"""Trains any Keras 3 model on machines of unequal speed, with TensorFlow, JAX or PyTorch.

    job = steelyard.keras.join(model, keras.optimizers.AdamW(0.001), (x, y), batch=512, epochs=10)

    @tf.function
    def step(x, y, weights):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True), sample_weight=weights)
        return loss, tape.gradient(loss, model.trainable_variables)

    for x, y, weights in job:                            # micro-batches of this worker's share
        job.push(*step(x, y, weights))
    if job.main:
        model.save('model.keras')

This step is for TensorFlow. With PyTorch, call loss.backward() and push the `value.grad` of each
variable. With JAX, differentiate model.stateless_call(), and assign the non-trainable variables that
it returns to those of the model; docs/frameworks.md shows all three.

Run alone, such a script starts a private cluster; docs/python.md explains how to run it with many
workers. Servers take the optimizer steps. Their parameters are loaded into the model before each
piece, and the final ones after the loop.

All micro-batches have one shape. `weights` has a number for each sample, for the argument
sample_weight of Keras' losses. If a micro-batch is padded, the weights of padding are zero, and the
others are above one, so that the loss is the mean over the real samples.

Non-trainable weights (the statistics of batch norm) are averaged. Weights of frozen layers are not
sent; they must be equal on all workers, and their hash is compared. Integer weights stay local to
each worker. Seeds of dropout are the same on every worker that computes a piece.
"""

from __future__ import annotations

import hashlib
import importlib
from typing import TYPE_CHECKING, Any, Mapping, Optional

import keras as _keras
import numpy as np

from steelyard import _cluster, _own_card
from steelyard._errors import refuse
from steelyard._flat import Entry, Flat, require_float
from steelyard._job_keys import JobKeys
from steelyard._keras_optimizer import decays, translated
from steelyard._push_job import PushJob, Request, Score
from steelyard._samples import SampleSource
from steelyard._schedule import Length

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ['KerasJob', 'device', 'join']

# PyTorch, if it is the backend of Keras.
_torch: Any = importlib.import_module('torch') if _keras.backend.backend() == 'torch' else None
_own_card_name = _own_card.with_keras(_keras)


def device() -> str:
    """The device of this process, for keras.device(): $STEELYARD_DEVICE, otherwise a GPU if
    available, otherwise "cpu:0". Of several workers that a launcher starts on a machine, each gets its own
    GPU, as far as there are enough; Keras uses it also without keras.device()."""
    card = _own_card_name()
    if card is not None:
        return card
    name = _cluster.device_name()
    if name is None:
        return 'gpu:0' if _has_gpu() else 'cpu:0'
    kind, _, number = name.partition(':')
    return f'{"gpu" if kind == "cuda" else kind}:{number or 0}'


def _has_gpu() -> bool:
    if _torch is not None:
        return bool(_torch.cuda.is_available())
    # JAX raises an error if it is asked for the GPUs of a machine without any.
    return any(it.startswith('gpu') for it in _keras.distribution.list_devices())


class Weights:
    """A model's variables: trained, averaged, frozen, and seeds."""

    def __init__(self, model: Any, optimizer: Any) -> None:
        if not getattr(model, 'built', False) or not model.weights:
            raise refuse(
                'the model has no weights yet: add keras.Input, or call the model once before join()'
            )
        self.trained = list(model.trainable_variables)
        self.averaged: list[Any] = []
        self._frozen: list[Any] = []
        known = {id(it) for it in self.trained}
        could_be_trained = {
            id(it) for layer in model._flatten_layers() for it in layer._trainable_variables
        }
        for variable in model.weights:
            if id(variable) in known or 'float' not in str(variable.dtype):
                continue
            (self._frozen if id(variable) in could_be_trained else self.averaged).append(variable)
        self.seeds = [it for it in model.variables if it.name == 'seed_generator_state']
        for variable in self.trained:
            require_float(variable.path, variable.dtype)
            if variable.constraint is not None:
                raise refuse(
                    f'{variable.path} has a constraint, which servers do not support: leave it out'
                )
            if getattr(variable, 'overwrite_with_gradient', False):
                raise refuse(
                    f'{variable.path} is set by its gradient, as in float8: train in float32 or '
                    'bfloat16'
                )
        entries = [
            Entry(it.path, tuple(it.shape), decay=float(decays(optimizer, it)))
            for it in self.trained
        ]
        entries += [Entry(it.path, tuple(it.shape), averaged=True) for it in self.averaged]
        self.flat = Flat(entries)

    def arrays(self) -> list[np.ndarray]:
        return [_array(it) for it in (*self.trained, *self.averaged)]

    def take(self, parts: list[np.ndarray]) -> None:
        for variable, part in zip((*self.trained, *self.averaged), parts):
            variable.assign(np.array(part))

    def frozen_hash(self) -> str:
        """A hash of the weights that are used but not sent; empty without such weights."""
        if not self._frozen:
            return ''
        mark = hashlib.blake2b(digest_size=8)
        for variable in self._frozen:
            mark.update(f'{variable.path} {tuple(variable.shape)} '.encode())
            mark.update(np.ascontiguousarray(_array(variable), np.float32).tobytes())
        return mark.hexdigest()

    def sow(self, seed: int) -> None:
        """Sets each seed generator to a different seed derived from `seed`. With PyTorch, layers without
        a seed of their own draw from PyTorch's generator."""
        if _torch is not None:
            _torch.manual_seed(seed)
        for number, variable in enumerate(self.seeds):
            variable.assign([(seed + 7919 * number) % 2**31, 0])


class KerasJob(PushJob):
    """A job that trains a Keras model; see PushJob. After the loop the model has the final
    parameters."""

    def __init__(
        self, request: Request, model: Any, weights: Weights, optimizer: Mapping[str, Any]
    ) -> None:
        self._model, self._weights = model, weights
        self._taken: list[np.ndarray] = []
        kind = 'cpu' if device().startswith('cpu') else 'gpu'
        super().__init__(
            request, weights.flat, weights.arrays(), optimizer, kind, weights.frozen_hash()
        )

    def push(self, loss: Any, gradients: Any, weight: Any = None) -> None:
        """See PushJob.push(). With PyTorch, the `grad` of all weights is cleared afterwards, so that
        loss.backward() needs no zero_grad()."""
        super().push(getattr(loss, 'detach', lambda: loss)(), gradients, weight)
        if _torch is not None:
            for variable in self._weights.trained:
                variable.value.grad = None

    def _take(self, parts: list[np.ndarray]) -> None:
        self._weights.take(parts)
        self._taken = parts[len(self._weights.trained) :]

    def _begin(self, seed: int) -> None:
        self._weights.sow(seed)

    def _listed(self, gradients: Any) -> list[Any]:
        return [None if it is None else _keras.ops.convert_to_tensor(it) for it in gradients]

    def _added(self, total: Any, gradients: list[Any], weight: float) -> list[Any]:
        added = [
            None if it is None else _keras.ops.cast(it, 'float32') * weight for it in gradients
        ]
        if total is None:
            return added
        return [
            more if it is None else it if more is None else it + more
            for it, more in zip(total, added)
        ]

    def _fetched(self, gradient: Any) -> np.ndarray:
        return np.asarray(_keras.ops.convert_to_numpy(gradient))

    def _moved(self) -> list[Any]:
        return [_array(it) - then for it, then in zip(self._weights.averaged, self._taken)]

    def _scored(self, score: Score, batch: tuple[np.ndarray, ...]) -> Any:
        result = score(self._model, *batch)
        if not isinstance(result, tuple):
            return float(_keras.ops.convert_to_numpy(result))
        return tuple(_keras.ops.convert_to_numpy(it) for it in result)


def join(
    model: Any,
    optimizer: Any,
    train: Any,
    *,
    batch: int,
    epochs: Optional[int] = None,
    rounds: Optional[int] = None,
    test: Any = None,
    score: Optional[Score] = None,
    clip_norm: float = 0,
    micro_batch: Optional[int] = None,
    seed: int = 1,
    name: Optional[str] = None,
    job: Optional[Mapping[str, Any]] = None,
    resume: bool = False,
    run_dir: Optional[str] = None,
    verbose: bool = True,
    **more: Unpack[JobKeys],
) -> KerasJob:
    """Joins a job, or starts one, and returns it. Arguments as for steelyard.arrays.join(), except

    model       any built Keras model; the initial weights of the first worker are used
    optimizer   keras.optimizers.SGD, Adam or AdamW; do not apply it yourself
    score       score(model, x, y, weights)
    clip_norm   the same as global_clipnorm of the optimizer; give only one of them"""
    if not _keras.__version__.startswith('3.'):
        raise refuse(f'Keras {_keras.__version__} is not supported: install Keras 3')
    request = Request.of(locals())
    weights = Weights(model, optimizer)
    length = Length(len(SampleSource(train, 'train')), request.batch, epochs, rounds)
    keys, request.clip_norm = translated(optimizer, length, clip_norm)
    return KerasJob(request, model, weights, keys)


def _array(variable: Any) -> np.ndarray:
    """A copy of a variable's value."""
    return np.array(_keras.ops.convert_to_numpy(variable.value))
