"""The balancer alone, and the example that uses it with PyTorch."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

from steelyard import Failure
from steelyard.balance import Balancer

ROOT = pathlib.Path(__file__).resolve().parents[3]


def after(rounds, balancer, batch, each):
    """The shares after `rounds` rounds with workers that take `each` seconds a sample."""
    for _ in range(rounds):
        shares = balancer.plan(batch)
        balancer.observe_round([share * one for share, one in zip(shares, each)])
    return balancer.plan(batch)


class Shares(unittest.TestCase):
    def test_follow_observed_times(self):
        shares = after(40, Balancer(workers=3), 90, (0.001, 0.002, 0.006))
        self.assertEqual(sum(shares), 90)
        self.assertTrue(all(type(it) is int for it in shares))
        for share, ideal in zip(shares, (54, 27, 9)):
            self.assertAlmostEqual(share, ideal, delta=3)

    def test_are_those_of_the_named_policy(self):
        self.assertEqual(after(5, Balancer(2, policy='equal'), 64, (1, 9)), [32, 32])
        lb_bsp = Balancer(2, policy='lb-bsp', predictor='last', dead_band=0.01)
        self.assertEqual(after(20, lb_bsp, 64, (1, 3)), [48, 16])

    def test_respect_max_batch_and_grain(self):
        workers = ['a', {'name': 'b', 'kind': 'cpu', 'max_batch': 20}]
        self.assertEqual(after(20, Balancer(workers, grain=8), 64, (1, 1)), [48, 16])

    def test_stay_if_no_time_is_known(self):
        balancer = Balancer(2)
        shares = after(30, balancer, 64, (0.001, 0.003))
        balancer.observe_round([None, None])
        self.assertEqual(balancer.plan(64), shares)


class Members(unittest.TestCase):
    def test_report_one_by_one(self):
        each, balancer = (0.001, 0.003), Balancer(2, policy='lb-bsp')
        for _ in range(40):
            for worker, share in enumerate(balancer.plan(64)):
                balancer.observe(worker, share, share * each[worker], cpu=0.5, memory=1000)
        self.assertAlmostEqual(balancer.plan(64)[0], 48, delta=2)

    def test_a_busy_machine_gets_less_at_once(self):
        """NARX learns that a machine with half of its processor is half as fast."""
        balancer, load = Balancer(2, policy='lb-bsp', dead_band=0), [1.0, 1.0]
        for round in range(300):
            shares = balancer.plan(100)
            now, load = load, [1.0, 0.5 if (round // 6) % 2 else 1.0]
            for worker in (0, 1):
                balancer.observe(worker, shares[worker], shares[worker] * 0.001 / now[worker], cpu=load[worker])
        free, busy = [], []
        for round in range(24):
            shares = balancer.plan(100)
            (free if load[1] == 1 else busy).append(shares[1])
            now, load = load, [1.0, 0.5 if (round // 6) % 2 else 1.0]
            for worker in (0, 1):
                balancer.observe(worker, shares[worker], shares[worker] * 0.001 / now[worker], cpu=load[worker])
        self.assertGreater(min(free), max(busy))

    def test_join_and_leave(self):
        balancer = Balancer(['a', 'b'])
        after(10, balancer, 64, (0.001, 0.001))
        self.assertEqual(balancer.join('c'), 2)
        self.assertEqual(len(balancer.plan(64)), 3)
        balancer.leave(0)
        self.assertEqual(balancer.workers, [1, 2])
        shares = after(20, balancer, 64, (0.001, 0.003))
        self.assertEqual(len(shares), 2)
        self.assertGreater(shares[0], shares[1])

    def test_rest_only_if_they_may(self):
        for may_rest in (False, True):
            balancer = Balancer([{}, {}, {'may_rest': may_rest}])
            for _ in range(60):
                shares = balancer.plan(64)
                seconds = [0.001 * it for it in shares[:2]] + [1 + 0.001 * shares[2]]
                balancer.observe_round([at if share else None for at, share in zip(seconds, shares)])
            self.assertEqual(balancer.plan(64)[2] == 0, may_rest)

    def test_dlb_decides_by_epoch(self):
        balancer = Balancer(2, policy='dlb')
        balancer.begin_epoch()
        self.assertEqual(after(5, balancer, 64, (1, 3)), [32, 32])
        balancer.begin_epoch()
        self.assertEqual(balancer.plan(64), [48, 16])

    def test_continue_from_a_saved_text(self):
        one = Balancer(2, policy='lb-bsp')
        one.join('c')
        one.leave(0)
        after(15, one, 64, (0.001, 0.004))
        other = Balancer(2, policy='lb-bsp')
        other.restore(one.save())
        self.assertEqual(other.workers, [1, 2])
        for _ in range(5):
            self.assertEqual(after(1, one, 64, (0.002, 0.001)), after(1, other, 64, (0.002, 0.001)))


def planned(workers):
    balancer = Balancer(workers)
    balancer.plan(8)
    return balancer


class Refusals(unittest.TestCase):
    def test_name_the_error(self):
        for message, call in {
            '"steelyard"': lambda: Balancer(2, policy='steelyrd'),
            'caution': lambda: Balancer(2, cautoin=1),
            '"workers"': lambda: Balancer([]),
            'has no key "memory"': lambda: Balancer([{'memory': 3}]),
            'no plan was made': lambda: Balancer(2).observe_round([1, 1]),
            '3 times for 2 workers': lambda: Balancer(2).observe_round([1, 1, 1]),
            'observe_round()': lambda: Balancer(2).observe([1, 1], 1, 1),
            'no worker 2': lambda: planned(2).observe(2, 1, 1),
            'cpu is 2.0': lambda: planned(2).observe(1, 1, 1, cpu=2),
            'the last one': lambda: Balancer(1).leave(0),
            'no worker 7': lambda: Balancer(1).leave(7),
            'has no key "speed"': lambda: Balancer(1).join({'speed': 1}),
            'no text of Balancer.save()': lambda: Balancer(1).restore('x'),
            'another grain': lambda: Balancer(1, grain=2).restore(Balancer(1).save()),
            'damaged': lambda: Balancer(1).restore(Balancer(1).save().replace('slot', 'slit')),
            'dlb': lambda: Balancer(1, policy='dlb').restore(Balancer(1).save()),
            'batch of 0': lambda: Balancer(2).plan(0),
        }.items():
            with self.subTest(message), self.assertRaisesRegex(Failure, re.escape(message)):
                call()


def free_port():
    with socket.socket() as it:
        it.bind(('127.0.0.1', 0))
        return it.getsockname()[1]


class Example(unittest.TestCase):
    def test_balances_ddp_and_computes_the_same(self):
        environment = {**os.environ, 'PYTHONPATH': str(ROOT / 'bindings/python'), 'OMP_NUM_THREADS': '1',
                       'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': str(free_port()), 'WORLD_SIZE': '2'}
        with tempfile.TemporaryDirectory() as place:  # torchrun of PyTorch 1 fails on Python 3.11
            first, second = (subprocess.Popen(
                [sys.executable, ROOT / 'examples/python/balance_ddp.py'], cwd=place, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, env={**environment, 'RANK': rank, 'LOCAL_RANK': rank}) for rank in '01')
            try:
                out = first.communicate(timeout=240)[0]
                trouble = second.communicate(timeout=240)[0]
            finally:
                for process in (first, second):
                    process.kill()
        self.assertEqual((first.returncode, second.returncode), (0, 0), out + trouble)
        rows = {name: (int(first), int(second), float(loss)) for name, first, second, loss in re.findall(
            r'^(\S+): shares (\d+) and (\d+), .* loss ([\d.]+)$', out, re.MULTILINE)}
        self.assertEqual(set(rows), {'equal', 'steelyard'}, out)
        self.assertEqual(rows['equal'][:2], (64, 64))
        self.assertEqual(sum(rows['steelyard'][:2]), 128)
        self.assertGreater(rows['steelyard'][0], rows['steelyard'][1])
        self.assertAlmostEqual(rows['steelyard'][2], rows['equal'][2], places=3)  # in any division
        self.assertRegex(out, r'gain [\d.]+x')


if __name__ == '__main__':
    unittest.main()
