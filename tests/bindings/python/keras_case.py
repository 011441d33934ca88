"""Common parts of tests of steelyard.keras on each backend of Keras: TensorFlow, JAX and PyTorch ($KERAS_BACKEND)."""
import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import keras  # noqa: E402
import numpy  # noqa: E402

BACKEND = keras.backend.backend()
OPTIMIZERS = keras.optimizers
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def mlp(*between):
    """Two layers, with the same initial weights on each backend."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(16, 'relu', name='first'), *between,
                              keras.layers.Dense(3, name='last')])
    drawn = numpy.random.default_rng(1)
    for layer in (model.layers[0], model.layers[-1]):
        layer.kernel.assign(0.4 * drawn.normal(size=layer.kernel.shape))
    return model


def twin(model):
    other = keras.models.clone_model(model)
    other.set_weights(model.get_weights())
    return other


def tensorflow_step(model, traced):
    import tensorflow as tf

    @tf.function
    def step(x, y, weights):
        traced.append(1)
        with tf.GradientTape() as tape:
            loss = LOSS(y, model(x, training=True), sample_weight=weights)
        return loss, tape.gradient(loss, model.trainable_variables)
    return step


def jax_step(model, traced):
    import jax

    @jax.jit
    def compiled(trained, others, x, y, weights):
        traced.append(1)

        def mean_loss(trained):
            scores, after = model.stateless_call(trained, others, x, training=True)
            return LOSS(y, scores, sample_weight=weights), after
        return jax.value_and_grad(mean_loss, has_aux=True)(trained)

    def step(x, y, weights):
        (loss, after), gradients = compiled([it.value for it in model.trainable_variables],
                                            [it.value for it in model.non_trainable_variables], x, y, weights)
        for variable, value in zip(model.non_trainable_variables, after):
            variable.assign(value)
        return loss, gradients
    return step


def torch_step(model, traced):
    import torch

    def step(x, y, weights):
        loss = LOSS(y, model(x, training=True), sample_weight=weights)
        return loss, torch.autograd.grad(loss, [it.value for it in model.trainable_variables])
    return step


def step_of(model, traced=None):
    """The loss and gradients of a micro-batch, as users compute them. Appends to `traced` at each compilation."""
    maker = {'tensorflow': tensorflow_step, 'jax': jax_step, 'torch': torch_step}[BACKEND]
    return maker(model, [] if traced is None else traced)


def plain(model, optimizer, rounds, x, y, parts=1):
    """The usual Keras loop; gradients of `parts` micro-batches are added up."""
    step = step_of(model)
    for numbers in rounds:
        total = None
        for some in numpy.array_split(numpy.array(numbers), parts):
            _, gradients = step(x[some], y[some], numpy.ones(len(some), numpy.float32))
            gradients = [it * (len(some) / len(numbers)) for it in gradients]
            total = gradients if total is None else [a + b for a, b in zip(total, gradients)]
        optimizer.apply_gradients(zip(total, model.trainable_variables))
