# Trains LeNet-5, reads its checkpoint with examples/to_pytorch.py, computes all test
# samples in numpy as PyTorch would, and compares with the accuracy that the program itself measured.
# script/setup installs numpy and the data.
#
#   to_pytorch_test.py SOURCE STEELYARD DIRECTORY
import gzip
import json
import os
import shutil
import subprocess
import sys

source, program, directory = sys.argv[1:]
data = '/usr/share/datasets/fashion-mnist'
sys.path.insert(0, os.path.join(source, 'examples'))
sys.dont_write_bytecode = True
import numpy  # noqa: E402
from to_pytorch import state_dict  # noqa: E402


def idx(name):
    path = os.path.join(data, name)
    with gzip.open(path + '.gz') if os.path.exists(path + '.gz') else open(path, 'rb') as file:
        raw = file.read()
    return raw[3], numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * raw[3])


def convolution(x, weight, bias, padding):  # x: [batch][in][row][column], weight: [out][in][row][column]
    x = numpy.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = numpy.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    return numpy.tensordot(windows, weight, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2) + bias[:, None, None]


def pool(x):
    return x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2).max((3, 5))


def lenet5(x, t):
    x = pool(numpy.maximum(convolution(x, t['conv1.weight'], t['conv1.bias'], 2), 0))
    x = pool(numpy.maximum(convolution(x, t['conv2.weight'], t['conv2.bias'], 0), 0))
    x = x.reshape(len(x), -1)  # as torch.nn.Flatten: channels first
    x = numpy.maximum(x @ t['fc1.weight'].T + t['fc1.bias'], 0)
    x = numpy.maximum(x @ t['fc2.weight'].T + t['fc2.bias'], 0)
    return x @ t['fc3.weight'].T + t['fc3.bias']


shutil.rmtree(directory, ignore_errors=True)
job = os.path.join(source, 'examples/jobs/fashion_mnist.toml')
subprocess.run([program, 'train', job, '--quiet', '--set', 'train.epochs=1', '--run-dir', directory], check=True)
version = max(os.listdir(os.path.join(directory, 'checkpoints')), key=int)
tensors, about = state_dict(os.path.join(directory, 'checkpoints', version, 'model.safetensors'))
_, pixels = idx('t10k-images-idx3-ubyte')
_, labels = idx('t10k-labels-idx1-ubyte')
inputs = (pixels.astype(numpy.float32) / 255 - float(about['input.mean'])) / float(about['input.deviation'])
inputs = inputs.reshape(-1, 1, 28, 28)
right = sum(int((lenet5(inputs[i:i + 500], tensors).argmax(1) == labels[i:i + 500]).sum())
            for i in range(0, len(labels), 500))
with open(os.path.join(directory, 'result.json')) as file:
    measured = round(json.load(file)['accuracy'] * len(labels))
print(f'{right} of {len(labels)} right in numpy, {measured} measured in training; the file says {about}')
shutil.rmtree(directory)
# Sums in another order may change the class of a borderline sample.
sys.exit(0 if abs(right - measured) <= 5 and right > len(labels) // 2 else 1)
