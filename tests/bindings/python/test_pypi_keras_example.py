"""The example for Keras, which is for TensorFlow."""
import unittest

from examples_case import ExampleCase


class KerasExample(ExampleCase):
    pass


KerasExample.add('keras_mnist.py', 'classifier.keras')

if __name__ == '__main__':
    unittest.main()
