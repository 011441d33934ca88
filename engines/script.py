"""The PyTorch script that the tests of engines run on every worker; saves the model in the file of its argument."""

import sys

import numpy
import torch

import steelyard.torch

torch.manual_seed(3)
x = torch.randn(512, 16)
y = (x @ torch.randn(16, 4)).argmax(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
job = steelyard.torch.join(model, optimizer, torch.utils.data.TensorDataset(x, y), batch=64, epochs=5)
for a, b in job:
    job.backward(torch.nn.functional.cross_entropy(model(a), b))
if job.main:
    numpy.savez(sys.argv[1], **{name: it.detach().numpy() for name, it in model.named_parameters()})
