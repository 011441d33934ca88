"""The loop of a DDP script on real clusters: parallel() and loader() of steelyard.torch."""
import own_script
from cluster_case import torch
from test_cluster_own_steps import OwnCase


class Parallel(OwnCase):
    form = 'parallel'

    def test_alone(self):
        self.complete(workers=1)
        (result,) = self.expect_same(names=['worker-0'])
        self.assertEqual((result['main'], result['outcome']), (True, 'finished'))

    def test_two(self):
        self.complete(workers=2)
        results = self.expect_same(names=['worker-0', 'worker-1'])
        self.assertEqual(sorted(it['main'] for it in results), [False, True])

    def test_accumulation_with_and_without_no_sync(self):
        states = []
        for option in ((), ('--synchronize',)):
            self.run_directory = self.folder / f'run{len(states)}'
            self.complete('--accumulate', 2, *option, workers=2)
            (states.append(self.results('worker-0', 'worker-1')))
        plain = own_script.Training('adamw', 4)
        expected = plain.plain([(epoch, numbers + more) for (epoch, numbers), (_, more) in
                                zip(self.orders()[::2], self.orders()[1::2])])
        for results in states:
            for its in results:
                self.assert_same(its['state'], expected, 1e-6)

    def test_a_killed_worker(self):
        self.complete('--kill', 'worker-1:5', killed=['worker-1'])
        results = self.results('worker-0', 'worker-2')
        for name, tensor in results[0]['state'].items():
            self.assertTrue(torch.equal(tensor, results[1]['state'][name]), name)


del OwnCase

if __name__ == '__main__':
    import unittest
    unittest.main()
