"""steelyard.jax: pytrees compared with a plain JAX loop, and invalid arguments."""
import os
import subprocess
import sys
import typing
import unittest
from unittest import mock

import jax
import jax.numpy as jnp
import standin
from arrays_case import JobCase, numpy, samples
from steelyard import Failure

import steelyard.jax


class Layer(typing.NamedTuple):
    w: typing.Any
    b: typing.Any


def first_params(kind=jnp.float32):
    one, two = jax.random.split(jax.random.key(1))
    return {'first': Layer(0.3 * jax.random.normal(one, (10, 16), kind), jnp.zeros(16, kind)),
            'last': [0.3 * jax.random.normal(two, (16, 3), kind), jnp.zeros(3, kind)]}


def scores_of(params, x):
    hidden = jax.nn.relu(x @ params['first'].w + params['first'].b)
    return hidden @ params['last'][0] + params['last'][1]


def mean_loss(params, x, y, weights):
    losses = -jnp.take_along_axis(jax.nn.log_softmax(scores_of(params, x)), y[:, None], 1)[:, 0]
    return jnp.mean(weights * losses)


step = jax.jit(jax.value_and_grad(mean_loss))


def plain(rounds, x, y):
    params = first_params()
    state = jax.tree_util.tree_map(jnp.zeros_like, params)
    for numbers in rounds:
        _, gradients = step(params, x[numbers], y[numbers], numpy.ones(len(numbers), numpy.float32))
        state = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, state, gradients)
        params = jax.tree_util.tree_map(lambda w, m: w - 0.1 * m, params, state)
    return jax.tree_util.tree_leaves(params)


MOMENTUM = {'name': 'momentum', 'lr': 0.1, 'momentum': 0.9}


class Training(JobCase):
    def join(self, cluster, params=None, **options):
        return self.on(cluster, steelyard.jax.join, params or first_params(), samples(),
                       **{'optimizer': MOMENTUM, 'micro_batch': 4, **options})

    def expect_plain(self, cluster, job):
        cluster.check_epochs()
        expected = plain(self.rounds(cluster), *samples())
        self.assert_near(jax.tree_util.tree_leaves(job.params), expected)
        self.assert_moved(jax.tree_util.tree_leaves(first_params()), expected)

    def test_it_equals_a_plain_loop(self):
        for shares in ([1, 7], [0, 1, 3]):
            cluster = standin.Cluster(shares=lambda number: shares)
            job = self.join(cluster)
            for params, batch in job:
                job.push(*step(params, *batch))
            self.expect_plain(cluster, job)

    def test_names_and_kinds_are_those_of_the_pytree(self):
        cluster = standin.Cluster()
        job = self.join(cluster)
        for params, batch in job:
            job.push(*step(params, *batch))
        self.assertIsInstance(job.params['first'], Layer)
        self.assertIsInstance(job.params['first'].w, jax.Array)
        self.assertEqual([it['name'] for it in cluster.description['tensors']],
                         ['first.w', 'first.b', 'last.0', 'last.1'])

    def test_the_step_is_compiled_once(self):
        traced = []

        @jax.jit
        def counted(params, x, y, weights):
            traced.append(1)
            return jax.value_and_grad(mean_loss)(params, x, y, weights)
        cluster = standin.Cluster(shares=lambda number: [1, 7] if number % 2 else [3, 2])
        job = self.join(cluster, micro_batch=5)
        for params, batch in job:
            job.push(*counted(params, *batch))
        self.assertEqual(len(traced), 1)
        self.expect_plain(cluster, job)

    def test_parameters_of_the_loop_do_not_change_later(self):
        job, kept = self.join(standin.Cluster()), []
        for params, batch in job:
            kept.append((params['last'][0], numpy.array(params['last'][0])))
            job.push(*step(params, *batch))
        self.assertTrue(all((numpy.asarray(a) == b).all() for a, b in kept))

    def test_bfloat16_is_added_up_in_float32(self):
        params = first_params(jnp.bfloat16)
        job = self.join(standin.Cluster(), params)
        for params, (x, y, weights) in job:
            self.assertEqual(params['first'].w.dtype, jnp.bfloat16)
            job.push(*step(params, x, y, weights))
            self.assertEqual({str(it.dtype) for it in job._piece.gradient}, {'float32'})

    def test_evaluation(self):
        def score(params, x, y, weights):
            return mean_loss(params, x, y, weights), scores_of(params, x).argmax(1) == y
        cluster = standin.Cluster(evaluate=True)
        job = self.join(cluster, test=samples(23), score=score, micro_batch=8)
        for params, batch in job:
            job.push(*step(params, *batch))
        x, y = samples(23)
        loss, right = score(job.params, x, y, numpy.ones(23, numpy.float32))
        self.assertAlmostEqual(cluster.scores[-1][0], float(loss), 5)
        self.assertEqual(cluster.scores[-1][1], int(right.sum()))

    def test_on_a_real_cluster_it_equals_a_plain_loop(self):
        far = self.real('''
            import jax, numpy
            from arrays_case import samples
            from test_pypi_jax import MOMENTUM, first_params, plain, step
            import steelyard.jax
            x, y = samples()
            job = steelyard.jax.join(first_params(), (x, y), batch=100, rounds=30, micro_batch=10, optimizer=MOMENTUM)
            for params, batch in job:
                job.push(*step(params, *batch))
            found = jax.tree_util.tree_leaves(job.params)
            print('far:', max(abs(a - b).max() for a, b in zip(found, plain([list(range(100))] * 30, x, y))))
        ''', workers=2)
        self.assertEqual(len(far), 2)
        self.assertLessEqual(max(map(float, far)), 1e-4)


class Refused(JobCase):
    def test_parameters(self):
        for what, params in (('count is of int32', {'count': jnp.arange(3)}), ('no parameters', {}),
                             ('w is of float16', {'w': jnp.zeros(3, jnp.float16)})):
            with self.assertRaisesRegex(Failure, what):
                self.on(standin.Cluster(), steelyard.jax.join, params, samples(), optimizer=MOMENTUM)

    def test_an_optimizer_of_another_library(self):
        with self.assertRaisesRegex(Failure, 'servers take the steps'):
            self.on(standin.Cluster(), steelyard.jax.join, first_params(), samples(), optimizer=print)

    def test_gradients_of_another_shape(self):
        job = self.on(standin.Cluster(), steelyard.jax.join, first_params(), samples(), optimizer=MOMENTUM)
        with self.assertRaisesRegex(Failure, 'arranged'):
            for params, batch in job:
                job.push(1.0, {'first': params['first']})
        job.leave()

    def test_a_missing_device(self):
        with mock.patch.dict(os.environ, {'STEELYARD_DEVICE': 'cpu:99'}):
            with self.assertRaisesRegex(Failure, 'cpu:99'):
                steelyard.jax.device()
        with mock.patch.dict(os.environ, {'STEELYARD_DEVICE': 'cpu'}):
            self.assertEqual(steelyard.jax.device().platform, 'cpu')


class Cards(unittest.TestCase):
    def test_importing_the_package_chooses_a_card(self):
        script = '''
import jax
from steelyard import _own_card
_own_card.nvidia_cards, _own_card._jax_has_cuda = lambda: 4, lambda: True
import steelyard.jax
print(jax.config.read('jax_cuda_visible_devices'), steelyard.jax._card)
'''
        done = subprocess.run([sys.executable, '-c', script], env={**os.environ, 'STEELYARD_LOCAL_WORKER': '2/3'},
                              stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout.split(), ['2', '2'])

    def test_it_is_the_device(self):
        there = ['card 0', 'card 1', 'card 2']
        with mock.patch.object(steelyard.jax, '_card', 2), mock.patch('jax.local_devices', lambda backend: there):
            self.assertEqual(steelyard.jax.device(), 'card 2')
            del there[1:]
            self.assertEqual(steelyard.jax.device(), 'card 0')


if __name__ == '__main__':
    unittest.main()
