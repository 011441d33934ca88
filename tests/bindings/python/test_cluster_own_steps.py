"""Workers that take the optimizer steps learn the same as plain PyTorch, whatever happens to them."""
import signal
import sys

import own_script
from cluster_case import HERE, PROGRAM, ClusterCase, torch

SCRIPT = HERE / 'own_script.py'


class OwnCase(ClusterCase):
    form = 'rounds'

    def run_script(self, *options, workers=3, sets=(), resume=False):
        words = [word for it in sets for word in ('--set', it)]
        return self.start(PROGRAM, 'run', '-n', workers, '--run-dir', self.run_directory, *words,
                          *(['--resume'] if resume else []), SCRIPT, '--form', self.form, *options)

    def results(self, *names):
        return [torch.load(self.folder / f'{it}.pt') for it in names or [f'worker-{at}' for at in range(3)]]

    def at(self, name):
        path = self.folder / f'{name}.at'
        text = path.read_text() if path.exists() else ''
        return int(text) if text else -1

    def batches(self, *more):
        """The epoch and the samples of each round, as all workers recorded them."""
        rounds = {}
        for it in [*self.results(*more)]:
            for number, epoch, numbers in it['rounds']:
                rounds.setdefault(number, (epoch, []))[1].extend(numbers)
        return [rounds[it] for it in sorted(rounds)]

    def orders(self, epochs=4):
        """The rounds of an undisturbed run of one worker, whose samples are those of any other run."""
        folder, self.folder = self.folder, self.folder / 'alone'
        self.folder.mkdir()
        self.expect_end(self.start(sys.executable, SCRIPT, '--epochs', epochs))
        found = self.batches('worker-0')
        self.folder = folder
        return found

    def expect_same(self, kind='adamw', names=(), batches=None, within=1e-6, epochs=4):
        batches = batches or self.orders(epochs)
        expected = own_script.Training(kind, epochs).plain(batches)
        first = own_script.model().state_dict()
        self.assertGreater(max((first[it] - expected[it]).abs().max().item() for it in first), 3e-3)
        results = self.results(*names)
        for its in results:
            self.assert_same(its['state'], expected, within)
            self.assert_same(its['state'], results[0]['state'], 0)
        return results


class Steps(OwnCase):
    def test_undisturbed(self):
        self.expect_end(self.run_script())
        results = self.expect_same()
        self.assertEqual(sorted(it['main'] for it in results), [False, False, True])
        self.assertTrue(all(any(numbers for _, _, numbers in it['rounds']) for it in results))

    def test_one_of_three_is_killed(self):
        for number in range(3):
            with self.subTest(killed=number):
                self.setUp()
                name = f'worker-{number}'
                self.expect_end(self.run_script('--kill', f'{name}:6', '--sleep', '0.01'), 0)
                self.assertTrue((self.folder / f'{name}.at').exists())
                self.expect_same(names=[f'worker-{at}' for at in range(3) if at != number])

    def test_a_fourth_joins(self):
        launcher = self.start(PROGRAM, 'run', '-n', 3, '--sockets', self.sockets(), '--run-dir', self.run_directory,
                              SCRIPT, '--epochs', 20, '--sleep', '0.05')
        self.wait_for(lambda: self.at('worker-0') >= 5, 'round')
        late = self.start(sys.executable, SCRIPT, '--epochs', 20, '--sleep', '0.05',
                          STEELYARD=f'ipc://{self.folder}/sockets/scheduler', STEELYARD_NAME='late')
        self.expect_end(late)
        self.expect_end(launcher)
        results = self.expect_same(names=('worker-0', 'worker-1', 'worker-2', 'late'), epochs=20)
        rounds = [number for number, _, numbers in results[-1]['rounds'] if numbers]
        self.assertTrue(rounds, 'the late worker had no share')
        self.assertGreater(rounds[0], 4)

    def test_all_are_killed_and_the_job_is_resumed(self):
        launcher = self.run_script('--sleep', '0.03', '--epochs', 10)
        self.wait_for(lambda: self.at('worker-0') >= 9 and list(self.run_directory.glob('checkpoints/*/*')), 'checkpoint')
        launcher.send_signal(signal.SIGINT)
        self.ended(launcher)
        before = max(self.at(f'worker-{it}') for it in range(3))
        for path in self.folder.glob('*.at'):
            path.unlink()
        self.expect_end(self.run_script('--epochs', 10, resume=True))
        results = self.expect_same(epochs=10)
        first = results[0]['rounds'][0][0]
        self.assertGreater(first, 4)
        self.assertLessEqual(first, before + 1)

    def sockets(self):
        path = self.folder / 'sockets'
        path.mkdir()
        return path


class Optimizers(OwnCase):
    def same(self, kind, **options):
        self.expect_end(self.run_script('--kind', kind))
        self.expect_same(kind, **options)

    def test_a_subclass(self):
        self.same('lion')

    def test_factored_moments(self):
        self.same('factored')

    def test_two(self):
        self.same('two')

    def test_clipping(self):
        self.same('clipped')

    def test_one_cycle_with_momentum(self):
        self.same('one_cycle')

    def test_average_of_weights(self):
        self.same('average')

    def test_unfreezing(self):
        self.same('unfreezing')

    def test_lbfgs_is_refused(self):
        code, text = self.ended(self.run_script('--kind', 'lbfgs'))
        self.assertNotEqual(code, 0)
        self.assertIn('LBFGS', text)


class Ends(OwnCase):
    def test_stop(self):
        self.expect_end(self.run_script('--stop', 6))
        results = self.results()
        self.assertEqual({it['outcome'] for it in results}, {'finished'})
        ends = {it['rounds'][-1][0] for it in results}
        self.assertEqual(len(ends), 1)
        self.assertIn(ends.pop(), (6, 7, 8))
        self.expect_same(batches=self.orders()[:1 + results[0]['rounds'][-1][0]])

    def test_break_of_the_only_worker(self):
        self.expect_end(self.run_script('--leave', 6, workers=1))
        (result,) = self.expect_same(names=['worker-0'], batches=self.orders()[:7])
        self.assertEqual((result['outcome'], result['main']), ('finished', True))


if __name__ == '__main__':
    import unittest
    unittest.main()
