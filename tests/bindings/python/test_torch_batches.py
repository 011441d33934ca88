"""The batches of loader(): the options of a DataLoader, and the order if a batch has several exchanges."""
import steelyard
from step_case import StepCase, StepCluster
from steelyard._torch_batches import RepeatedOrder
from steelyard._torch_order import FixedOrder
from torch_case import mean_loss, mlp, samples, torch


class Repeated(StepCase):
    def test_each_batch_comes_twice_and_the_last_one_is_filled(self):
        order = RepeatedOrder(FixedOrder(7), 3, 2)
        self.assertEqual(order.length, 18)
        self.assertEqual(list(order.numbers(1, 0, 0, 18)), [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 6, -1, -1, 6, -1, -1])

    def test_any_part_is_a_part_of_the_whole(self):
        order = RepeatedOrder(FixedOrder(7), 3, 3)
        whole = list(order.numbers(1, 0, 0, order.length))
        for begin in range(order.length):
            for end in range(begin, order.length + 1):
                self.assertEqual(list(order.numbers(1, 0, begin, end)), whole[begin:end])

    def test_orders_of_other_lengths_have_other_marks(self):
        marks = {RepeatedOrder(FixedOrder(7), 3, times).mark for times in (1, 2, 3)}
        self.assertEqual(len(marks), 3)


class Loaders(StepCase):
    def batches(self, data, **options):
        seen = []

        def work(loader, model, optimizer):
            self.job_loader = loader
            for _ in range(2):
                for x, y in loader:
                    seen.append(x)
                    mean_loss(model, x, y).backward()
        self.loaders(StepCluster(), [mlp()], lambda m: torch.optim.SGD(m.parameters(), lr=0.1), work, data, **options)
        return seen

    def test_a_data_loader_is_taken_over(self):
        data = samples()

        def doubled(items):
            x, y = torch.utils.data.default_collate(items)
            return 2 * x, y
        seen = self.batches(torch.utils.data.DataLoader(data, batch_size=40, drop_last=True, collate_fn=doubled))
        self.assertEqual([len(it) for it in seen], [40] * 4)
        self.assertTrue(torch.equal(torch.cat(seen[:2]), 2 * data.tensors[0][:80]))
        self.assertEqual((len(self.job_loader), self.job_loader.batch_size), (2, 40))

    def test_shuffled(self):
        data = samples()
        seen = self.batches(torch.utils.data.DataLoader(data, batch_size=100, shuffle=True))
        self.assertFalse(torch.equal(seen[0], data.tensors[0]))
        self.assertFalse(torch.equal(seen[0], seen[1]))
        self.assertTrue(torch.equal(seen[0].sort(0)[0], data.tensors[0].sort(0)[0]))

    def test_what_scripts_ask_of_a_data_loader(self):
        data = samples()
        self.batches(data, batch_size=32)
        loader = self.job_loader
        loader.sampler.set_epoch(1)
        self.assertEqual((len(loader), loader.dataset, loader.drop_last), (4, data, False))

    def test_a_sampler_beside_a_data_loader_is_refused(self):
        with self.assertRaisesRegex(steelyard.Failure, 'sampler beside a DataLoader'):
            self.batches(torch.utils.data.DataLoader(samples(), batch_size=32), sampler=[1, 2])


if __name__ == '__main__':
    import unittest
    unittest.main()
