"""The examples for PyTorch and NumPy.

    python3 -m unittest tests/bindings/python/test_examples.py
"""
import unittest

from examples_case import EXAMPLES, ExampleCase


class Examples(ExampleCase):
    def test_every_example_is_short(self):
        lines = {it.name: len(it.read_text().splitlines()) for it in EXAMPLES.glob('*.py')}
        self.assertIn('fine_tune.py', lines)
        self.assertEqual({name: count for name, count in lines.items() if count >= 60}, {})


for example, made in {'image_classifier.py': 'classifier.pt', 'fine_tune.py': 'fine_tuned.pt', 'small_gpt.py': 'gpt.pt',
                      'jax_or_numpy.py': 'classifier.npz', 'own_optimizer.py': 'averaged.pt',
                      'ddp_script.py': 'ddp.pt'}.items():
    Examples.add(example, made)

if __name__ == '__main__':
    unittest.main()
