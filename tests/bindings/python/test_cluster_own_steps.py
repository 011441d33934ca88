"""Workers that take the optimizer steps learn the same as plain PyTorch, whatever happens to them."""
import os
import pathlib
import signal
import time

import own_script
from cluster_case import PROGRAM, ClusterCase, torch


class OwnCase(ClusterCase):
    form = 'rounds'

    def begin(self, *options, workers=3, resume=False):
        """Starts a cluster and its workers. Returns the launcher and the workers by name."""
        sockets = self.folder / f'sockets-{len(self._started)}'
        sockets.mkdir()
        self.endpoint = f'ipc://{sockets}/scheduler'
        launcher = self.start(PROGRAM, 'run', '-n', workers, '--sockets', sockets, '--run-dir', self.run_directory,
                              *(['--resume'] if resume else []))
        names = [f'worker-{at}' for at in range(workers)]
        return launcher, {it: self.join(it, *options) for it in names}

    def join(self, name, *options):
        return self.start_worker(own_script.work, name, [str(it) for it in ('--form', self.form, *options)])

    def complete(self, *options, killed=(), **more):
        """Runs a whole job."""
        launcher, workers = self.begin(*options, **more)
        for name, process in workers.items():
            self.expect_exit(process, -signal.SIGKILL if name in killed else 0)
        self.expect_end(launcher)

    def kill_cluster(self):
        """Kills launcher, scheduler and server: the processes whose arguments name the folder."""
        def one():
            for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
                try:
                    if str(self.folder).encode() in path.read_bytes():
                        os.kill(int(path.parent.name), signal.SIGKILL)
                        return True
                except (FileNotFoundError, ProcessLookupError):
                    pass
        while one():
            time.sleep(0.01)

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

    @staticmethod
    def orders(epochs=4):
        """The rounds of a job, whose order of samples is the same for any workers."""
        return own_script.batches(epochs)

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
        self.complete()
        results = self.expect_same()
        self.assertEqual(sorted(it['main'] for it in results), [False, False, True])
        self.assertTrue(all(any(numbers for _, _, numbers in it['rounds']) for it in results))

    def killed(self, number):
        name = f'worker-{number}'
        self.complete('--kill', f'{name}:6', killed=[name])
        self.expect_same(names=[f'worker-{at}' for at in range(3) if at != number])

    def test_the_first_is_killed(self):
        self.killed(0)

    def test_the_second_is_killed(self):
        self.killed(1)

    def test_the_third_is_killed(self):
        self.killed(2)

    def test_a_fourth_joins(self):
        launcher, workers = self.begin('--epochs', 20, '--sleep', '0.03')
        self.wait_for(lambda: self.at('worker-0') >= 5, 'round')
        workers['late'] = self.join('late', '--epochs', 20, '--sleep', '0.03')
        for process in workers.values():
            self.expect_exit(process)
        self.expect_end(launcher)
        results = self.expect_same(names=workers, epochs=20)
        rounds = [number for number, _, numbers in results[-1]['rounds'] if numbers]
        self.assertTrue(rounds, 'the late worker had no share')
        self.assertGreater(rounds[0], 4)

    def test_all_are_killed_and_the_job_is_resumed(self):
        launcher, workers = self.begin('--sleep', '0.03', '--epochs', 10)
        self.wait_for(lambda: self.at('worker-0') >= 9 and list(self.run_directory.glob('checkpoints/*/*')), 'checkpoint')
        for process in workers.values():
            process.kill()
            process.join()
        before = max(self.at(it) for it in workers)
        self.kill_cluster()
        self.ended(launcher)
        self.complete('--epochs', 10, resume=True)
        first = self.expect_same(epochs=10)[0]['rounds'][0][0]
        self.assertGreater(first, 3)
        self.assertLessEqual(first, before + 1)


class Optimizers(OwnCase):
    def same(self, kind, **options):
        self.complete('--kind', kind)
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
        launcher, workers = self.begin('--kind', 'lbfgs', workers=1)
        self.expect_exit(workers['worker-0'], 1)
        launcher.send_signal(signal.SIGINT)
        self.ended(launcher)
        self.assertIn('as LBFGS does, cannot be used', (self.folder / 'worker-0.log').read_text())


class Ends(OwnCase):
    def test_stop(self):
        self.complete('--stop', 6)
        results = self.results()
        self.assertEqual({it['outcome'] for it in results}, {'finished'})
        ends = {it['rounds'][-1][0] for it in results}
        self.assertEqual(len(ends), 1)
        self.assertIn(ends.pop(), (6, 7, 8))
        self.expect_same(batches=self.orders()[:1 + results[0]['rounds'][-1][0]])

    def test_break_of_the_only_worker(self):
        self.complete('--leave', 6, workers=1)
        (result,) = self.expect_same(names=['worker-0'], batches=self.orders()[:7])
        self.assertEqual((result['outcome'], result['main']), ('finished', True))


if __name__ == '__main__':
    import unittest
    unittest.main()
