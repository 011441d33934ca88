"""steelyard.keras: models compared with a plain Keras loop, translated options, and invalid arguments."""
import os
import subprocess
import sys
import unittest
from unittest import mock

import keras
import standin
from arrays_case import JobCase, numpy, samples
from keras_case import BACKEND, LOSS, OPTIMIZERS, mlp, plain, step_of, twin
from steelyard import Failure

import steelyard.keras

# Keras and the servers add epsilon in different places, which shows where a gradient is about as small as
# epsilon / sqrt(1 - beta_2).
SMALL = 1e-10


class Training(JobCase):
    def both(self, optimizer_of, model=None, cluster=None, parts=1, moved=True, **options):
        """Trains two models in both ways, and compares."""
        model = model or mlp()
        other, before = twin(model), model.get_weights()
        cluster = cluster or standin.Cluster(shares=lambda number: [1, 7])
        job = self.on(cluster, steelyard.keras.join, model, optimizer_of(), samples(), **{'micro_batch': 4, **options})
        traced, sizes = [], set()
        step = step_of(model, traced)
        for x, y, weights in job:
            sizes.add(len(x))
            job.push(*step(x, y, weights))
        cluster.check_epochs()
        self.assertEqual(len(sizes), 1)
        self.assertEqual(len(traced), 0 if BACKEND == 'torch' else 1)
        plain(other, optimizer_of(), self.rounds(cluster), *samples(), parts=parts)
        self.assert_near(model.get_weights(), other.get_weights())
        self.assert_moved(before, other.get_weights())
        return cluster, job

    def test_it_equals_a_plain_loop(self):
        decays = OPTIMIZERS.schedules.ExponentialDecay(0.3, 2, 0.7)
        falls = OPTIMIZERS.schedules.PiecewiseConstantDecay([3], [0.02, 0.005])
        for name, optimizer_of in {
                'sgd': lambda: OPTIMIZERS.SGD(0.2),
                'sgd with decay': lambda: OPTIMIZERS.SGD(0.2, weight_decay=0.05),
                'sgd with a schedule': lambda: OPTIMIZERS.SGD(decays),
                'momentum': lambda: OPTIMIZERS.SGD(0.1, momentum=0.9),
                'nesterov': lambda: OPTIMIZERS.SGD(0.1, momentum=0.9, nesterov=True),
                'adam': lambda: OPTIMIZERS.Adam(0.01, epsilon=SMALL),
                'adam with a schedule': lambda: OPTIMIZERS.Adam(falls, epsilon=SMALL, beta_1=0.8, beta_2=0.99),
                'adam with decay': lambda: OPTIMIZERS.Adam(0.01, epsilon=SMALL, weight_decay=0.1),
                'adamw': lambda: OPTIMIZERS.AdamW(0.01, epsilon=SMALL, weight_decay=0.1),
                'clipped': lambda: OPTIMIZERS.SGD(0.2, global_clipnorm=0.3)}.items():
            with self.subTest(name):
                self.both(optimizer_of)

    def test_weights_that_do_not_decay(self):
        def adamw():
            optimizer = OPTIMIZERS.AdamW(0.01, epsilon=SMALL, weight_decay=0.5)
            optimizer.exclude_from_weight_decay(var_names=['bias'])
            return optimizer
        cluster, _ = self.both(adamw)
        self.assertEqual([it['decay'] for it in cluster.description['tensors']], [1, 0, 1, 0])

    def test_an_empty_share_and_micro_batches_that_do_not_divide(self):
        cluster = standin.Cluster(shares=lambda number: [0, 3, 2] if number % 2 else [1, 7])
        self.both(lambda: OPTIMIZERS.SGD(0.2), cluster=cluster, micro_batch=5)

    def test_statistics_of_batch_norm_are_averaged(self):
        model = mlp(keras.layers.BatchNormalization(momentum=0.5))
        cluster, _ = self.both(lambda: OPTIMIZERS.SGD(0.1), model, standin.Cluster(), parts=1, micro_batch=32,
                               batch=32)
        self.assertEqual([it.get('rule') for it in cluster.description['tensors']], [None] * 6 + ['mean'] * 2)

    def test_batch_norm_with_a_micro_batch_that_is_filled_up(self):
        """100 samples: the last round of an epoch has 4, and 32 is a multiple of 4."""
        model = mlp(keras.layers.BatchNormalization())
        self.both(lambda: OPTIMIZERS.SGD(0.1, momentum=0.5), model, standin.Cluster(), micro_batch=32)

    def test_frozen_layers_are_not_sent(self):
        model = mlp()
        model.layers[0].trainable = False
        frozen = model.layers[0].get_weights()
        cluster = standin.Cluster()
        job = self.on(cluster, steelyard.keras.join, model, OPTIMIZERS.SGD(0.2), samples())
        for batch in job:
            job.push(*step_of(model)(*batch))
        self.assertEqual([it['name'].split('/')[-2] for it in cluster.description['tensors']], ['last', 'last'])
        self.assert_near(model.layers[0].get_weights(), frozen, 0)
        marks = [cluster.description['data_hash']]
        model.layers[0].set_weights([it + 1 for it in frozen])
        marks.append(steelyard.keras.Weights(model, OPTIMIZERS.SGD(0.2)).frozen_hash())
        self.assertNotEqual(*marks)

    def test_dropout_depends_only_on_the_piece(self):
        found = []
        for _ in range(2):
            model = mlp(keras.layers.Dropout(0.5))
            model(numpy.zeros((1, 10)), training=True)  # draws random numbers
            if found:
                model(numpy.zeros((1, 10)), training=True)
            job = self.on(standin.Cluster(), steelyard.keras.join, model, OPTIMIZERS.SGD(0.2), samples())
            step = step_of(model)
            for batch in job:
                job.push(*step(*batch))
            found.append(model.get_weights())
        self.assert_near(*found, 0)

    def test_a_weight_without_gradient_counts_zero(self):
        model = mlp()
        before = model.get_weights()
        job = self.on(standin.Cluster(), steelyard.keras.join, model, OPTIMIZERS.SGD(0.2), samples())
        for batch in job:
            loss, gradients = step_of(model)(*batch)
            job.push(loss, [None, None, *gradients[2:]])
        self.assert_near(model.get_weights()[:2], before[:2], 0)
        self.assert_moved(model.get_weights()[2:], before[2:])

    def test_evaluation(self):
        def score(model, x, y, weights):
            scores = model(x, training=False)
            return LOSS(y, scores, sample_weight=weights), keras.ops.argmax(scores, 1) == y
        cluster = standin.Cluster(evaluate=True)
        _, job = self.both(lambda: OPTIMIZERS.SGD(0.2), cluster=cluster, test=samples(23), score=score)
        x, y = samples(23)
        loss, right = score(job._model, x, y, numpy.ones(23))
        self.assertAlmostEqual(cluster.scores[-1][0], float(keras.ops.convert_to_numpy(loss)), 5)
        self.assertEqual(cluster.scores[-1][1], int(keras.ops.convert_to_numpy(right).sum()))

    def test_on_a_real_cluster_it_equals_a_plain_loop(self):
        script = '''
            from arrays_case import samples
            from keras_case import OPTIMIZERS, mlp, plain, step_of, twin
            import steelyard.keras
            x, y = samples()
            model = mlp()
            other = twin(model)
            job = steelyard.keras.join(model, OPTIMIZERS.SGD(0.1, momentum=0.9), (x, y), batch=100, rounds=20,
                                       micro_batch=10)
            step = step_of(model)
            for batch in job:
                job.push(*step(*batch))
            plain(other, OPTIMIZERS.SGD(0.1, momentum=0.9), [list(range(100))] * 20, x, y)
            print('far:', max(abs(a - b).max() for a, b in zip(model.get_weights(), other.get_weights())))
        '''
        for workers in (None, 2):
            far = self.real(script, workers)
            self.assertEqual(len(far), workers or 1)
            self.assertLessEqual(max(map(float, far)), 1e-4)

    def test_the_device(self):
        with mock.patch.dict(os.environ, {'STEELYARD_DEVICE': 'cuda:1'}):
            self.assertEqual(steelyard.keras.device(), 'gpu:1')
        with mock.patch.dict(os.environ, {'STEELYARD_DEVICE': 'auto'}), keras.device(steelyard.keras.device()):
            self.assertEqual(float(keras.ops.sum(keras.ops.ones(3))), 3)  # Keras has this device


    def test_importing_the_package_chooses_a_card(self):
        fakes = {'jax': "import jax; _own_card.with_jax = lambda framework: print('for', framework is jax)",
                 'tensorflow': "import tensorflow as tf; _own_card.with_tensorflow = lambda it: print('for', it is tf)",
                 'torch': "import torch; _own_card.with_torch = lambda it, keras: print('for', it is torch)"}
        script = f'from steelyard import _own_card; {fakes[BACKEND]}; import steelyard.keras'
        done = subprocess.run([sys.executable, '-c', script], env={**os.environ, 'STEELYARD_LOCAL_WORKER': '1/2'},
                              stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, 'for True\n')
        with mock.patch.object(steelyard.keras, '_own_card_name', lambda: 'gpu:2'):
            self.assertEqual(steelyard.keras.device(), 'gpu:2')


if BACKEND == 'torch':
    class PyTorch(JobCase):
        def test_gradients_of_backward_need_no_zero_grad(self):
            model = mlp()
            other, before = twin(model), model.get_weights()
            cluster = standin.Cluster()
            job = self.on(cluster, steelyard.keras.join, model, OPTIMIZERS.SGD(0.2), samples(), micro_batch=4)
            for x, y, weights in job:
                loss = LOSS(y, model(x, training=True), sample_weight=weights)
                loss.backward()
                job.push(loss, [it.value.grad for it in model.trainable_variables])
            plain(other, OPTIMIZERS.SGD(0.2), self.rounds(cluster), *samples())
            self.assert_near(model.get_weights(), other.get_weights())
            self.assert_moved(before, other.get_weights())


class Refused(JobCase):
    def expect(self, what, optimizer, model=None, **options):
        with self.assertRaisesRegex(Failure, what) as caught:
            self.on(standin.Cluster(), steelyard.keras.join, model or mlp(), optimizer, samples(), **options)
        self.assertEqual(caught.exception.code, 78)

    def test_optimizers(self):
        self.expect('RMSprop is no optimizer', OPTIMIZERS.RMSprop())
        self.expect('Mine is no optimizer', type('Mine', (OPTIMIZERS.Adam,), {})(0.1))
        self.expect('LossScale.* is no optimizer', OPTIMIZERS.LossScaleOptimizer(OPTIMIZERS.SGD(0.1)))
        self.expect('amsgrad', OPTIMIZERS.Adam(amsgrad=True))
        self.expect('clipnorm = 1.*global_clipnorm', OPTIMIZERS.SGD(clipnorm=1.0))
        self.expect('clipvalue = 1', OPTIMIZERS.SGD(clipvalue=1.0))
        self.expect('use_ema', OPTIMIZERS.SGD(use_ema=True))
        self.expect('gradient_accumulation_steps = 2', OPTIMIZERS.SGD(gradient_accumulation_steps=2))
        self.expect('same meaning', OPTIMIZERS.SGD(global_clipnorm=1.0), clip_norm=1)
        self.expect('epsilon = 0.1.*at most 3.2e-07', OPTIMIZERS.Adam(epsilon=0.1))
        self.expect('momentum and weight_decay', OPTIMIZERS.SGD(momentum=0.9, weight_decay=0.1))
        self.expect('above 0', OPTIMIZERS.SGD(0.0))

    def test_an_optimizer_that_has_taken_steps(self):
        model, optimizer = mlp(), OPTIMIZERS.SGD(0.1)
        plain(model, optimizer, [[1, 2]], *samples())
        self.expect('taken steps already', optimizer, model)

    def test_rates(self):
        falls = OPTIMIZERS.schedules.ExponentialDecay(0.3, 2, 0.7)
        self.expect('momentum and a schedule', OPTIMIZERS.SGD(falls, momentum=0.9))
        self.expect('not known in advance', OPTIMIZERS.SGD(lambda: 0.1))
        self.expect('too long', OPTIMIZERS.SGD(falls), epochs=10**7)

    def test_models(self):
        self.expect('no weights yet', OPTIMIZERS.SGD(), keras.Sequential([keras.layers.Dense(3)]))
        held = keras.Sequential([keras.Input((10,)), keras.layers.Dense(3, kernel_constraint='max_norm')])
        self.expect('has a constraint', OPTIMIZERS.SGD(), held)
        half = keras.Sequential([keras.Input((10,)), keras.layers.Dense(3, dtype='float16')])
        self.expect('float16', OPTIMIZERS.SGD(), half)

    def test_a_data_set_that_cannot_be_divided(self):
        with self.assertRaisesRegex(Failure, 'train=.x, y.'):
            self.on(standin.Cluster(), steelyard.keras.join, mlp(), OPTIMIZERS.SGD(),
                    iter(samples()))

    def test_gradients_of_other_variables(self):
        job = self.on(standin.Cluster(), steelyard.keras.join, mlp(), OPTIMIZERS.SGD(), samples())
        with self.assertRaisesRegex(Failure, '1 gradients of 4'):
            for _ in job:
                job.push(1.0, [keras.ops.zeros(3)])
        job.leave()


if __name__ == '__main__':
    unittest.main()
