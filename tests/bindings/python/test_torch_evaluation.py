"""Evaluation: sums over the batches, in evaluation mode, and the model is left as it was."""
from torch_case import TorchCase, torch
from steelyard._torch_evaluation import evaluated


class Evaluations(TorchCase):
    def setUp(self):
        self.model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(), torch.nn.Linear(2, 2))
        self.model[1].eval()  # as a frozen part of the model may be

    def of(self, score, wanted=lambda: True, counts=(3, 2)):
        batches = [(count, (torch.ones(count, 2), torch.zeros(count))) for count in counts]
        found = evaluated(self.model, score, batches, wanted)
        self.expect_unchanged_modes()
        return found

    def expect_unchanged_modes(self):
        self.assertEqual([it.training for it in self.model.modules()], [True, True, False, True])

    def test_losses_are_weighted_by_samples(self):
        found = self.of(lambda model, x, y: torch.tensor(float(len(x))))
        self.assertEqual((found.loss, found.weight, found.right), (3 * 3 + 2 * 2, 5, None))

    def test_correct_answers_and_weights(self):
        found = self.of(lambda model, x, y: (0.5, torch.tensor(len(x) - 1), 10 * len(x)))
        self.assertEqual((found.loss, found.weight, found.right), (25, 50, 3))
        found = self.of(lambda model, x, y: (0.5, None, 10))
        self.assertEqual((found.loss, found.weight, found.right), (10, 20, None))

    def test_without_gradients_and_in_evaluation_mode(self):
        seen = []
        self.of(lambda model, x, y: seen.append((torch.is_grad_enabled(), model.training)) or 0.0)
        self.assertEqual(seen, [(False, False)] * 2)

    def test_it_stops_when_the_result_is_not_wanted(self):
        seen = []
        self.assertIsNone(self.of(lambda model, x, y: seen.append(len(x)) or 0.0, lambda: False))
        self.assertEqual(seen, [3])

    def test_a_score_that_fails_leaves_the_modes(self):
        with self.assertRaises(ZeroDivisionError):
            self.of(lambda model, x, y: 1 / 0)
        self.expect_unchanged_modes()


if __name__ == '__main__':
    import unittest
    unittest.main()
