"""Scripts with other data than a data set in one order: samplers, streams, loader processes; and jobs that end early or
follow each other."""
import torch
from material import Lstm, Sentences, Stream, SAMPLES, drawn, mlp, padded, points
from registry import BATCH, EPOCHS, script
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, RandomSampler, Sampler, WeightedRandomSampler

from steelyard.torch import join


@script('WeightedRandomSampler', 'servers')
def weighted(run):
    model, data = mlp(), points()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sampler = WeightedRandomSampler(1.0 + 4 * (data.tensors[1] == 2), SAMPLES)
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH, sampler=drawn(sampler, epoch)):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, sampler=sampler)
        for x, y in job:
            job.backward(cross_entropy(model(x), y))
    return model


@script('IterableDataset, a stream', 'servers')
def stream(run):
    model, data = mlp(), Stream()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, samples=SAMPLES)
        for x, y in job:
            job.backward(cross_entropy(model(x), y))
    return model


class ByLength(Sampler):
    """Batches of sentences of similar length, in random order."""

    def __init__(self, data):
        self.order = sorted(range(len(data)), key=lambda it: len(data[it][0]))

    def __iter__(self):
        batches = [self.order[at:at + BATCH] for at in range(0, len(self.order), BATCH)]
        yield from [batches[it] for it in [*torch.randperm(len(batches) - 1).tolist(), len(batches) - 1]]

    def __len__(self):
        return -(-len(self.order) // BATCH)


@script('batch sampler of sentences of similar length, LSTM', 'servers')
def batch_sampler(run):
    model, data = Lstm(), Sentences()
    optimizer, sampler = torch.optim.Adam(model.parameters(), lr=0.01), ByLength(data)
    if run.plain:
        for epoch in range(EPOCHS):
            for words, lengths, y in DataLoader(data, batch_sampler=drawn(sampler, epoch), collate_fn=padded):
                optimizer.zero_grad()
                cross_entropy(model(words, lengths), y).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, epochs=EPOCHS, batch_sampler=sampler, collate_fn=padded)
        for words, lengths, y in job:
            job.backward(cross_entropy(model(words, lengths), y))
    return model


@script('DataLoader with shuffle, its generator, drop_last and a loader process', 'here')
def loader(run):
    model, data = mlp(), points()
    optimizer, dice = torch.optim.Rprop(model.parameters(), lr=1e-3), torch.Generator().manual_seed(5)
    if run.plain:
        sampler = RandomSampler(data, generator=dice)
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH, sampler=drawn(sampler, epoch), drop_last=True):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
    else:
        train = DataLoader(data, BATCH, shuffle=True, generator=dice, drop_last=True, num_workers=1)
        job = join(model, optimizer, train, epochs=EPOCHS, step='here')
        for round in job.rounds():
            for x, y in round:
                round.backward(cross_entropy(model(x), y))
            optimizer.step()
    return model


@script('job.stop() when the loss of a validation set is low', 'here', stops=True)
def stop(run):
    model, data, valid = mlp(), points(), points(60, seed=8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    if run.plain:
        for epoch in range(EPOCHS):
            for number, (x, y) in enumerate(DataLoader(data, BATCH), epoch * 8):
                if number < run.rounds:
                    optimizer.zero_grad()
                    cross_entropy(model(x), y).backward()
                    optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=1000, shuffle=False, step='here')
        for round in job.rounds():
            for x, y in round:
                round.backward(cross_entropy(model(x), y))
            optimizer.step()
            with torch.no_grad():
                reached = cross_entropy(model(valid.tensors[0]), valid.tensors[1]) < 0.9
            if reached and round.version >= 24:
                job.stop()
    return model


@script('two jobs, the second with a frozen layer and CosineAnnealingWarmRestarts', 'servers', jobs=2)
def two_jobs(run):
    model, data = mlp(), points()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if run.plain:
        train_plainly(model, optimizer, None, data)
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False)
        for x, y in job:
            job.backward(cross_entropy(model(x), y))
    model[0].requires_grad_(False)
    optimizer = torch.optim.AdamW([it for it in model.parameters() if it.requires_grad], lr=0.01)
    schedule = CosineAnnealingWarmRestarts(optimizer, 5)
    if run.plain:
        train_plainly(model, optimizer, schedule, data)
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, schedule=schedule,
                   schedule_per='round')
        for x, y in job:
            job.backward(cross_entropy(model(x), y))
    return model


def train_plainly(model, optimizer, schedule, data):
    for epoch in range(EPOCHS):
        for x, y in DataLoader(data, BATCH):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if schedule:
                schedule.step()
