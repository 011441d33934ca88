"""Scripts whose optimizer steps are taken by the servers: ten lines with join()."""
import torch
from material import Lstm, Sentences, SAMPLES, WORDS, cnn, images, mlp, padded, points
from registry import BATCH, EPOCHS, script
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss, normalize
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts, OneCycleLR, StepLR
from torch.utils.data import DataLoader, Dataset, TensorDataset

from steelyard.torch import join


@script('SGD with momentum and weight decay', 'servers')
def momentum(run):
    model, data = mlp(), points()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False)
        for x, y in job:
            job.backward(cross_entropy(model(x), y))
    return model


@script('AdamW, StepLR', 'servers')
def adamw(run):
    model, data = mlp(), points()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = StepLR(optimizer, 1, 0.5)
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
            schedule.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, schedule=schedule)
        for x, y in job:
            job.backward(cross_entropy(model(x), y))
    return model


@script('Adam, OneCycleLR per step, clip_norm', 'servers')
def one_cycle(run):
    model, data = mlp(), points()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = OneCycleLR(optimizer, 0.02, total_steps=EPOCHS * 8 + 1, cycle_momentum=False)
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                optimizer.step()
                schedule.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, schedule=schedule,
                   schedule_per='round', clip_norm=0.1)
        for x, y in job:
            job.backward(cross_entropy(model(x), y))
    return model


@script('CNN with group norm, label smoothing, weight decay groups, Nesterov', 'servers')
def smoothing(run):
    model, data = cnn(), images()
    groups = [{'params': [it for it in model.parameters() if it.dim() > 1], 'weight_decay': 0.05},
              {'params': [it for it in model.parameters() if it.dim() == 1], 'weight_decay': 0, 'lr': 0.02}]
    optimizer = torch.optim.SGD(groups, lr=0.05, momentum=0.9, nesterov=True)
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y, label_smoothing=0.1).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False)
        for x, y in job:
            job.backward(cross_entropy(model(x), y, label_smoothing=0.1))
    return model


@script('class weights, with weight= their sum', 'servers')
def class_weights(run):
    model, data, w = mlp(), points(), torch.tensor([1.0, 5.0, 30.0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y, weight=w).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False)
        for x, y in job:
            job.backward(cross_entropy(model(x), y, weight=w), weight=w[y].sum())
    return model


@script('regression: mean squared error, L2 penalty in the loss', 'servers')
def regression(run):
    model, x = mlp(outputs=1), points().tensors[0]
    data = TensorDataset(x, x[:, :3].prod(1, keepdim=True) + x[:, 4:5].sin())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = lambda x, y: mse_loss(model(x), y) + 1e-3 * sum(it.square().sum() for it in model.parameters())  # noqa: E731
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                loss(x, y).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False)
        for x, y in job:
            job.backward(loss(x, y))
    return model


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.head = nn.Embedding(WORDS, 12), nn.LSTM(12, 16, batch_first=True), nn.Linear(16, WORDS)

    def forward(self, words):
        return self.head(self.lstm(self.embedding(words))[0])


@script('language model, LSTM: texts of unequal length, with weight= the number of tokens', 'servers')
def tokens(run):
    model, data = LanguageModel(), Sentences()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def loss(words):
        y = torch.where(words[:, 1:] == 0, -100, words[:, 1:])
        return cross_entropy(model(words[:, :-1]).flatten(0, 1), y.flatten()), (y >= 0).sum()

    if run.plain:
        for epoch in range(EPOCHS):
            for words, _, _ in DataLoader(data, BATCH, collate_fn=padded):
                optimizer.zero_grad()
                loss(words)[0].backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, collate_fn=padded)
        for words, _, _ in job:
            its, count = loss(words)
            job.backward(its, weight=count)
    return model


class Noised(Dataset):
    """Points, each with the noise that the reparametrization uses: the same in all divisions."""

    def __init__(self):
        self.x, self.noise = (torch.randn(SAMPLES, it, generator=torch.Generator().manual_seed(it)) for it in (10, 4))

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        return {'x': self.x[number], 'noise': self.noise[number]}


@script('VAE: reconstruction and KL divergence, samples in dictionaries, noise from the data set', 'servers')
def vae(run):
    model, data = nn.ModuleDict({'encoder': mlp(outputs=8), 'decoder': mlp(4, 10)}), Noised()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def loss(batch):
        mean, spread = model['encoder'](batch['x']).chunk(2, 1)
        made = model['decoder'](mean + batch['noise'] * (spread / 2).exp())
        divergence = (mean.square() + spread.exp() - 1 - spread).sum(1).mean() / 2
        return mse_loss(made, batch['x']) + 0.1 * divergence

    if run.plain:
        for epoch in range(EPOCHS):
            for batch in DataLoader(data, BATCH):
                optimizer.zero_grad()
                loss(batch).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False)
        for batch in job:
            job.backward(loss(batch))
    return model


def in_parts(x, y, size=8):
    """Micro-batches of one size, and their shares of the batch: for plain forms that accumulate over them."""
    return [(*it, len(it[1]) / len(y)) for it in zip(x.split(size), y.split(size))]


@script('InfoNCE with micro_batch=8', 'servers', note='plain: accumulates over micro-batches of 8')
def infonce(run):
    model, data = mlp(outputs=6), points()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)

    def loss(x):
        one, two = normalize(model(x)), normalize(model(x * 0.9 + 0.1))
        return cross_entropy(one @ two.T / 0.2, torch.arange(len(x)))

    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                for its, _, share in in_parts(x, y):
                    (loss(its) * share).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, micro_batch=8)
        for x, y in job:
            job.backward(loss(x))
    return model


@script('batch norm with micro_batch=8', 'servers',
        note='plain: accumulates over micro-batches of 8; running statistics, which differ, are not compared')
def batch_norm(run):
    model, data = cnn(nn.BatchNorm2d), images()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                for its, classes, share in in_parts(x, y):
                    (cross_entropy(model(its), classes) * share).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, micro_batch=8)
        for x, y in job:
            job.backward(cross_entropy(model(x), y))
    return model


@script('autocast in bfloat16', 'servers', 5e-3,
        'products of bfloat16 round differently in micro-batches of another size; plain PyTorch does the same')
def autocast(run):
    model, data = mlp(wide=32), points()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def loss(x, y):
        with torch.autocast('cpu', torch.bfloat16):
            return cross_entropy(model(x), y)

    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                loss(x, y).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False)
        for x, y in job:
            job.backward(loss(x, y))
    return model
