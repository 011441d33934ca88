"""steelyard.arrays: NumPy gradients compared with a plain loop, and invalid arguments."""
import threading
import unittest

import standin
from arrays_case import JobCase, first_params, numpy, samples, value_and_grad
from steelyard import Failure, arrays

SGD = {'name': 'sgd', 'lr': 0.2}


def leaves(params):
    return [params['first']['b'], params['first']['w'], *params['last']]


def plain(params, rounds, x, y, step):
    """The usual training loop. step(w, g, state, t) gives a new w; state is a dictionary for each leaf."""
    now, states = leaves(params), [{}, {}, {}, {}]
    for t, numbers in enumerate(rounds, 1):
        tree = {'first': {'b': now[0], 'w': now[1]}, 'last': now[2:]}
        _, gradients = value_and_grad(tree, x[numbers], y[numbers], numpy.ones(len(numbers)))
        now = [step(w, g, state, t) for w, g, state in zip(now, leaves(gradients), states)]
    return now


def descend(w, g, state, t):
    return w - 0.2 * g


def momentum(w, g, state, t):
    g = g + 0.01 * w
    state['m'] = 0.9 * state.get('m', 0) + g
    return w - 0.1 * state['m']


def adamw(w, g, state, t):
    state['m'] = 0.9 * state.get('m', 0) + 0.1 * g
    state['v'] = 0.99 * state.get('v', 0) + 0.01 * g * g
    u = state['m'] / (1 - 0.9**t) / (numpy.sqrt(state['v'] / (1 - 0.99**t)) + 1e-8)
    return w - 0.01 * u - 0.01 * 0.1 * w


OPTIMIZERS = [
    (SGD, descend),
    ({'name': 'momentum', 'lr': 0.1, 'momentum': 0.9, 'weight_decay': 0.01}, momentum),
    ({'name': 'adamw', 'lr': 0.01, 'beta1': 0.9, 'beta2': 0.99, 'epsilon': 1e-8, 'weight_decay': 0.1}, adamw),
]


class Training(JobCase):
    def join(self, cluster, train=None, optimizer=SGD, **options):
        return self.on(cluster, arrays.join, first_params(), train or samples(), optimizer=optimizer, **options)

    def train(self, cluster, **options):
        job = self.join(cluster, **options)
        for params, (x, y, weights) in job:
            job.push(*value_and_grad(params, x, y, weights))
        cluster.check_epochs()
        return job

    def expect_plain(self, cluster, job, step=descend, **length):
        expected = plain(first_params(), self.rounds(cluster, **length), *samples(), step)
        self.assert_near(leaves(job.params), expected)
        self.assert_moved(leaves(first_params()), expected)

    def test_it_equals_a_plain_loop(self):
        for optimizer, step in OPTIMIZERS:
            with self.subTest(optimizer['name']):
                cluster = standin.Cluster(shares=lambda number: [1, 7])
                self.expect_plain(cluster, self.train(cluster, optimizer=optimizer, micro_batch=4), step)

    def test_micro_batches_that_do_not_divide_the_batch(self):
        cluster = standin.Cluster(shares=lambda number: [1, 7] if number % 2 else [3, 0, 2])
        sizes = set()
        job = self.join(cluster, micro_batch=5)
        for params, (x, y, weights) in job:
            sizes.add((len(x), len(y), len(weights)))
            self.assertAlmostEqual(float(weights.sum()), 5, 5)
            job.push(*value_and_grad(params, x, y, weights))
        self.assertEqual(sizes, {(5, 5, 5)})
        self.expect_plain(cluster, job)

    def test_a_short_micro_batch_is_filled_with_its_own_samples(self):
        x, y = samples(7)
        job = self.on(standin.Cluster(), arrays.join, first_params(), (x, y), optimizer=SGD, batch=7, micro_batch=5,
                      epochs=1)
        seen = []
        for params, (some, classes, weights) in job:
            seen.append((some, weights))
            job.push(*value_and_grad(params, some, classes, weights))
        (_, ones), (some, weights) = seen
        self.assertEqual(ones.tolist(), [1] * 5)
        self.assertEqual(weights.tolist(), [2.5, 2.5, 0, 0, 0])
        self.assertEqual(some[[0, 1, 0, 1, 0]].tolist(), some.tolist())

    def test_two_workers_one_of_them_idle(self):
        cluster = standin.Cluster(shares=lambda number: [0, 1] if number % 2 else [7, 1], workers=2)
        jobs, failures = [self.join(cluster, index=it, micro_batch=4) for it in (0, 1)], []

        def go_through(job):
            try:
                for params, batch in job:
                    job.push(*value_and_grad(params, *batch))
            except BaseException as why:
                failures.append(why)
        threads = [threading.Thread(target=go_through, args=(job,)) for job in jobs]
        for it in threads:
            it.start()
        for it in threads:
            it.join()
        self.assertEqual(failures, [])
        self.assertEqual([it.main for it in jobs], [True, False])
        cluster.check_epochs()
        for job in jobs:
            self.expect_plain(cluster, job)

    def test_a_data_set_of_samples_by_number(self):
        x, y = samples()
        cluster = standin.Cluster()
        self.expect_plain(cluster, self.train(cluster, train=[(x[it], y[it]) for it in range(len(x))]))

    def test_an_unwanted_piece_does_not_count(self):
        cluster = standin.Cluster(unwanted=lambda piece, asked: piece.given_up == 0 and asked == 2)
        self.expect_plain(cluster, self.train(cluster, micro_batch=8))

    def test_clipping(self):
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        job = self.train(cluster, clip_norm=0.1, micro_batch=4)
        free = standin.Cluster(shares=lambda number: [1, 7])
        other = self.train(free, micro_batch=4)
        self.assertEqual(cluster.train['clip_norm'], 0.1)
        self.assertGreater(abs(job.params['last'][0] - other.params['last'][0]).max(), 1e-2)

    def test_parameters_keep_their_shape_and_kind_and_cannot_be_written_to(self):
        cluster = standin.Cluster()
        job = self.train(cluster)
        self.assertEqual(list(job.params), ['first', 'last'])
        self.assertEqual(job.params['first']['w'].dtype, numpy.float64)
        self.assertEqual([it['name'] for it in cluster.description['tensors']],
                         ['first.b', 'first.w', 'last.0', 'last.1'])
        with self.assertRaises(ValueError):
            job.params['first']['w'] -= 1

    def test_gradients_with_dlpack_only(self):
        class Foreign:
            def __init__(self, array):
                self.shape, self.dtype, self._array = array.shape, array.dtype, array

            def __dlpack__(self, **options):
                return self._array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self._array.__dlpack_device__()
        cluster = standin.Cluster(shares=lambda number: [1, 7])
        job = self.join(cluster, micro_batch=4)
        for params, batch in job:
            loss, of = value_and_grad(params, *batch)
            job.push(loss, {'first': {key: Foreign(it) for key, it in of['first'].items()},
                            'last': [Foreign(it) for it in of['last']]})
        self.expect_plain(cluster, job)

    def test_parameters_of_the_loop_do_not_change_later(self):
        single = {'last': [it.astype('float32') for it in first_params()['last']],
                  'first': {key: it.astype('float32') for key, it in first_params()['first'].items()}}
        job, kept = self.on(standin.Cluster(), arrays.join, single, samples(), optimizer=SGD), []
        for params, batch in job:
            kept.append((params['last'][0], params['last'][0].copy()))
            job.push(*value_and_grad(params, *batch))
        self.assertTrue(all((a == b).all() for a, b in kept))
        self.assertTrue((kept[0][0] != kept[-1][0]).any())
        self.assertEqual(list(job.params), ['last', 'first'])  # in the user's order

    def test_weights_of_tokens(self):
        cluster = standin.Cluster(shares=lambda number: [1, 3])
        job = self.join(cluster, micro_batch=8, epochs=1)
        for number, (params, batch) in enumerate(job):
            loss, gradients = value_and_grad(params, *batch)
            job.push(loss, gradients, weight=0 if number == 1 else 3 * len(batch[0]))
        self.assertEqual(cluster.weights[:2], [24, 48])  # of one micro-batch, and of two of three

    def test_the_draw_depends_only_on_the_samples(self):
        draws = []
        for shares in ([1, 1], [2, 2]):
            cluster = standin.Cluster(shares=lambda number: shares)
            job = self.join(cluster, micro_batch=8)
            draws.append([])
            for params, batch in job:
                draws[-1].append(job.draw)
                job.push(*value_and_grad(params, *batch))
        self.assertEqual(draws[0], draws[1])
        self.assertEqual(len(set(draws[0])), len(draws[0]))

    def test_evaluation(self):
        x, y = samples(23, seed=9)
        asked = []

        def score(params, x, y, weights):
            asked.append(len(x))
            loss, _ = value_and_grad(params, x, y, weights)
            return loss, numpy.arange(len(x)) >= 0  # all are right
        cluster = standin.Cluster(evaluate=True)
        job = self.train(cluster, test=(x, y), score=score, micro_batch=10)
        self.assertEqual(asked, [10] * 6)
        loss, _ = value_and_grad(job.params, x, y, numpy.ones(23))
        self.assertAlmostEqual(cluster.scores[-1][0], loss, 5)
        self.assertEqual([right for _, right in cluster.scores], [23, 23])

    def test_on_a_real_cluster_it_equals_a_plain_loop(self):
        far = self.real('''
            from arrays_case import first_params, samples, value_and_grad
            from test_arrays import leaves, momentum, plain
            from steelyard import arrays
            x, y = samples()
            job = arrays.join(first_params(), (x, y), batch=100, rounds=30, micro_batch=10, optimizer={
                'name': 'momentum', 'lr': 0.1, 'momentum': 0.9, 'weight_decay': 0.01})
            for params, batch in job:
                job.push(*value_and_grad(params, *batch))
            expected = plain(first_params(), [list(range(100))] * 30, x, y, momentum)
            print('far:', max(abs(a - b).max() for a, b in zip(leaves(job.params), expected)))
        ''', workers=2)
        self.assertEqual(len(far), 2)
        self.assertLessEqual(max(map(float, far)), 1e-4)


class Refused(JobCase):
    def expect(self, what, *, params=None, train=None, optimizer=SGD, **options):
        with self.assertRaisesRegex(Failure, what) as caught:
            self.on(standin.Cluster(), arrays.join, params if params is not None else first_params(),
                    train if train is not None else samples(), optimizer=optimizer, **options)
        self.assertEqual(caught.exception.code, 78)

    def test_optimizers(self):
        self.expect('rmsprop.*adamw', optimizer={'name': 'rmsprop', 'lr': 1})
        self.expect('sgd has no momentum', optimizer={'name': 'sgd', 'lr': 1, 'momentum': 0.9})
        self.expect('adam has no lr', optimizer={'name': 'adam'})
        self.expect("optimizer=.'name'", optimizer=object())

    def test_data(self):
        x, y = samples()
        self.expect('100, 99 samples', train=(x, y[1:]))
        self.expect(r'train\[1\] is a list', train=(x, y.tolist()))
        self.expect('train=.x, y.', train=iter([]))
        self.expect('no samples', train=[])
        self.expect('test and score', test=samples())

    def test_parameters(self):
        self.expect('count is of int64', params={'count': numpy.arange(3)})
        self.expect('w is of float16', params={'w': numpy.zeros(3, numpy.float16)})
        self.expect('w is a float', params={'w': 1.0})
        self.expect('no parameters', params={})
        self.expect('two tensors are called a.b', params={'a.b': numpy.zeros(1), 'a': {'b': numpy.zeros(1)}})

    def test_lengths(self):
        self.expect('batch = 0', batch=0)
        self.expect('micro_batch = 0', micro_batch=0)

    def body(self, what, body):
        job = self.on(standin.Cluster(), arrays.join, first_params(), samples(), optimizer=SGD)
        with self.assertRaisesRegex(Failure, what):
            for params, batch in job:
                body(job, *value_and_grad(params, *batch))
        job.leave()

    def test_invalid_pushes(self):
        self.body('ended without job.push', lambda job, loss, gradients: None)
        self.body('called twice', lambda job, *pushed: (job.push(*pushed), job.push(*pushed)))
        self.body('shape .2,.*one number', lambda job, loss, gradients: job.push(numpy.ones(2), gradients))
        self.body('arranged.*last', lambda job, loss, gradients: job.push(loss, {'first': gradients['first']}))
        self.body('first.b has the shape .1,.*16', lambda job, loss, gradients: job.push(
            loss, {**gradients, 'first': {**gradients['first'], 'b': numpy.zeros(1)}}))
        self.body('weight = -1', lambda job, *pushed: job.push(*pushed, weight=-1))

    def test_a_push_outside_of_the_loop(self):
        job = self.on(standin.Cluster(), arrays.join, first_params(), samples(), optimizer=SGD)
        with self.assertRaisesRegex(Failure, 'outside of the loop'):
            job.push(1.0, first_params())
        job.leave()

    def test_out_of_memory_is_the_workers_own_trouble(self):
        job = self.on(standin.Cluster(), arrays.join, first_params(), samples(), optimizer=SGD)
        self.assertIn('smaller micro_batch', job._explain(MemoryError()))
        self.assertTrue(job._is_own_trouble(RuntimeError('RESOURCE_EXHAUSTED: out of memory')))
        self.assertFalse(job._is_own_trouble(ValueError()))
        job.leave()


if __name__ == '__main__':
    unittest.main()
