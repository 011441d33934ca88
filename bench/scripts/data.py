"""Scripts with other data than a data set in one order: samplers, a stream, loader processes."""
import torch
from loops import classes, loaded, own_steps, ten_lines
from material import SAMPLES, Lstm, Sentences, Stream, mlp, padded, points
from registry import BATCH, script
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Sampler, WeightedRandomSampler


@script('WeightedRandomSampler', 'servers')
def weighted(plain):
    model, data = mlp(), points()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sampler = WeightedRandomSampler(1.0 + 4 * (data.tensors[1] == 2), SAMPLES)
    return ten_lines(plain, model, optimizer, loaded(data, sampler=sampler), classes(model))


@script('IterableDataset, a stream', 'servers')
def stream(plain):
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return ten_lines(plain, model, optimizer, loaded(Stream()), classes(model), samples=SAMPLES)


class ByLength(Sampler):
    """Batches of sentences of similar length, in random order; the short one is the last."""

    def __init__(self, data):
        self.order = sorted(range(len(data)), key=lambda it: len(data[it][0]))

    def __iter__(self):
        batches = [self.order[at:at + BATCH] for at in range(0, len(self.order), BATCH)]
        yield from [batches[it] for it in [*torch.randperm(len(batches) - 1).tolist(), len(batches) - 1]]

    def __len__(self):
        return -(-len(self.order) // BATCH)


@script('batch sampler of sentences of similar length, LSTM', 'servers')
def batch_sampler(plain):
    model, data = Lstm(), Sentences()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def loss(batch):
        words, lengths, y = batch
        return cross_entropy(model(words, lengths), y)

    loader = DataLoader(data, batch_sampler=ByLength(data), collate_fn=padded)
    return ten_lines(plain, model, optimizer, loader, loss)


@script('DataLoader with shuffle, its generator, drop_last and a loader process; RAdam', 'here')
def loader_process(plain):
    model = mlp()
    optimizer = torch.optim.RAdam(model.parameters(), lr=0.01)
    loader = loaded(points(), shuffle=True, generator=torch.Generator().manual_seed(5), drop_last=True, num_workers=1)
    return own_steps(plain, model, loader, classes(model), lambda version: optimizer.step(), optimizer=optimizer)
