"""The example for Lightning."""
import unittest

from examples_case import ExampleCase


class LightningExample(ExampleCase):
    pass


LightningExample.add('lightning_classifier.py', 'classifier.pt')

if __name__ == '__main__':
    unittest.main()
