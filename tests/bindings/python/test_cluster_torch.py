"""Workers of a real cluster learn the same as a plain PyTorch loop, in any division of the work."""
from cluster_case import ClusterCase, cluster_jobs


class Same(ClusterCase):
    def both(self, name, *sets, workers=2, slow=(), within=1e-4, moved=0.01, only=None):
        """Trains in both ways and compares. `only(name)`: whether this entry of the state is compared. `moved`: the
        least change of a parameter for which the comparison is meaningful."""
        launcher = self.cluster(workers, *sets)
        processes = [self.start_worker(cluster_jobs.train, f'worker-{it}', name, slow=dict(slow).get(it, '1'))
                     for it in range(workers)]
        for process in processes:
            self.expect_exit(process)
        self.expect_end(launcher)
        kept = [self.kept(f'worker-{it}') for it in range(workers)]
        self.assertEqual(sum(it['main'] for it in kept), 1)
        case = cluster_jobs.CASES[name]()
        for order in kept[0]['orders']:
            self.assertEqual(sorted(order), list(range(len(case.data))))
        before, plain = case.first_model().state_dict(), case.plain(kept[0]['orders']).state_dict()
        chosen = [it for it in plain if only is None or only(it)]
        for its in kept:
            self.assert_same({it: its['state'][it] for it in chosen}, {it: plain[it] for it in chosen}, within)
        gone = max((before[it] - plain[it]).abs().max().item() for it in chosen)
        self.assertGreater(gone, moved, 'it learned too little for this comparison')
        rounds = self.rounds()
        self.assertEqual(len(rounds), case.epochs * -(-len(case.data) // case.batch))
        return kept, rounds

    def test_momentum_by_three_workers_of_equal_shares(self):
        _, rounds = self.both('momentum', 'cluster.policy=equal', workers=3)
        self.assertEqual(sorted(rounds[0]['shares']), [6, 7, 7])

    def test_nesterov_with_given_shares(self):
        _, rounds = self.both('nesterov', 'cluster.policy=static', 'policy.static.speeds=1 7')
        self.assertEqual({tuple(sorted(it['shares'])) for it in rounds[:9]}, {(3, 17)})

    def test_adamw_with_two_groups_and_a_rate_for_each_round(self):
        _, rounds = self.both('adamw', 'cluster.policy=equal')
        rates = [it['lr'] for it in rounds]
        self.assertEqual(len(set(rates)), 40)
        self.assertEqual(rates, sorted(rates, reverse=True))

    def test_a_rate_for_each_epoch(self):
        _, rounds = self.both('steps', 'cluster.servers=2')
        for it in rounds:
            self.assertAlmostEqual(it['lr'], 0.2 * 0.3**it['epoch'])

    def test_clipping(self):
        self.both('clipped')

    def test_speeds_that_change(self):
        _, rounds = self.both('changing', slow=[(1, '1, 5@0.05, 1@0.3'), (2, '3')], workers=3)
        parts = [it['shares'][it['workers'].index('worker-2')] / sum(it['shares'])
                 for it in rounds if 'worker-2' in it['workers']]
        self.assertLess(min(parts), 0.25)
        self.assertGreater(len({tuple(it['shares']) for it in rounds}), 3)

    def test_gradients_are_sent_during_backward(self):
        kept, _ = self.both('wide', 'cluster.servers=2', 'cluster.shards_per_server=2')
        self.assertTrue(kept[0]['overlap'])

    def test_batch_norm_with_the_same_micro_batches(self):
        kept, rounds = self.both('batch_norm', 'cluster.policy=static', 'policy.static.speeds=1 2',
                                 only=lambda it: 'running' not in it and 'num' not in it)
        self.assertEqual(kept[0]['about']['grain'], 4)
        self.assertEqual({tuple(sorted(it['shares'])) for it in rounds}, {(8, 16)})
        self.assert_same({it: kept[0]['state'][it] for it in kept[0]['state'] if 'running' in it},
                         {it: kept[1]['state'][it] for it in kept[1]['state'] if 'running' in it}, 0)

    def test_bfloat16_autocast(self):
        self.both('bfloat16', within=1e-2, moved=0.1)

    def test_weights_by_tokens(self):
        self.both('tokens', 'cluster.policy=static', 'policy.static.speeds=1 7')

    def test_tied_and_frozen_parameters_and_a_buffer(self):
        self.both('tied', 'cluster.policy=static', 'policy.static.speeds=1 4')


if __name__ == '__main__':
    import unittest
    unittest.main()
