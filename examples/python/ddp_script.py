"""A script for DistributedDataParallel, on machines of unequal speed: the lines that differ have a comment.

    python3 ddp_script.py
    steelyard run -n 3 ddp_script.py

A batch is this worker's share of 512 samples. loss.backward() leaves the mean gradient of all 512 in .grad.
"""
import argparse

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset

import steelyard.torch
from image_classifier import Classifier, data


def accuracy(model, samples):
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(samples, batch_size=1000))
    model.train()
    return right / len(samples)


if __name__ == '__main__':
    quick = argparse.ArgumentParser()
    quick.add_argument('--quick', action='store_true', help='only a few rounds, as a test')
    epochs, used = (2, 2048) if quick.parse_args().quick else (5, 60000)
    torch.manual_seed(1)
    model = steelyard.torch.parallel(Classifier())                               # DistributedDataParallel(...)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    model.keep(optimizer=optimizer, schedule=schedule)                           # new: for checkpoints and late workers
    loader = steelyard.torch.loader(Subset(data('train'), range(used)), model,   # DataLoader, DistributedSampler
                                    batch_size=512, epochs=epochs)               # the batch of all workers
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
        schedule.step()
        if model.logs:                                                           # rank == 0
            print(f'epoch {epoch}: test accuracy {100 * accuracy(model, data("t10k")):.1f} %')
    if model.main:                                                               # rank == 0
        torch.save(model.module.state_dict(), 'ddp.pt')
