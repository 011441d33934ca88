"""Scripts whose optimizer steps are taken by the servers: ten lines with join()."""
import torch
from loops import ROUNDS, classes, loaded, ten_lines
from material import LanguageModel, Noised, Sentences, cnn, images, mlp, padded, points
from registry import EPOCHS, script
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss, normalize
from torch.optim import SGD, Adam, AdamW
from torch.optim.lr_scheduler import OneCycleLR, StepLR
from torch.utils.data import TensorDataset


@script('SGD with momentum and weight decay', 'servers')
def momentum(plain):
    model = mlp()
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    return ten_lines(plain, model, optimizer, loaded(points()), classes(model))


@script('AdamW, StepLR', 'servers')
def adamw(plain):
    model = mlp()
    optimizer = AdamW(model.parameters(), lr=0.01)
    schedule = StepLR(optimizer, 1, 0.5)

    def step(version):
        optimizer.step()
        if version % ROUNDS == ROUNDS - 1:
            schedule.step()

    return ten_lines(plain, model, optimizer, loaded(points()), classes(model), step, schedule=schedule)


@script('Adam, OneCycleLR for each step, clipping', 'servers')
def one_cycle(plain):
    model = mlp()
    optimizer = Adam(model.parameters(), lr=0.01)
    schedule = OneCycleLR(optimizer, 0.02, total_steps=EPOCHS * ROUNDS + 1, cycle_momentum=False)

    def step(version):
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        schedule.step()

    return ten_lines(plain, model, optimizer, loaded(points()), classes(model), step, schedule=schedule,
                     schedule_per='round', clip_norm=0.1)


@script('CNN with group norm, label smoothing, parameter groups, Nesterov', 'servers')
def smoothing(plain):
    model = cnn()
    groups = [{'params': [it for it in model.parameters() if it.dim() > 1], 'weight_decay': 0.05},
              {'params': [it for it in model.parameters() if it.dim() == 1], 'weight_decay': 0, 'lr': 0.005}]
    optimizer = SGD(groups, lr=0.02, momentum=0.9, nesterov=True)
    loss = lambda batch: cross_entropy(model(batch[0]), batch[1], label_smoothing=0.1)  # noqa: E731
    return ten_lines(plain, model, optimizer, loaded(images()), loss)


@script('class weights, with `weight=` their sum', 'servers')
def class_weights(plain):
    model, w = mlp(), torch.tensor([1.0, 5.0, 30.0])
    optimizer = SGD(model.parameters(), lr=0.05, momentum=0.9)
    loss = lambda batch: (cross_entropy(model(batch[0]), batch[1], weight=w), w[batch[1]].sum())  # noqa: E731
    return ten_lines(plain, model, optimizer, loaded(points()), loss)


@script('regression, with an L2 penalty in the loss', 'servers')
def regression(plain):
    model, x = mlp(outputs=1), points().tensors[0]
    data = TensorDataset(x, x[:, :3].prod(1, keepdim=True) + x[:, 4:5].sin())
    optimizer = Adam(model.parameters(), lr=0.01)

    def loss(batch):
        penalty = sum(it.square().sum() for it in model.parameters())
        return mse_loss(model(batch[0]), batch[1]) + 1e-3 * penalty

    return ten_lines(plain, model, optimizer, loaded(data), loss)


@script('LSTM as language model: texts of unequal length, with `weight=` the number of tokens', 'servers')
def tokens(plain):
    model = LanguageModel()
    optimizer = AdamW(model.parameters(), lr=0.01)

    def loss(batch):
        words = batch[0]
        y = torch.where(words[:, 1:] == 0, -100, words[:, 1:])
        return cross_entropy(model(words[:, :-1]).flatten(0, 1), y.flatten()), (y >= 0).sum()

    return ten_lines(plain, model, optimizer, loaded(Sentences(), collate_fn=padded), loss)


@script('VAE: samples in dictionaries, with their noise', 'servers')
def vae(plain):
    model = nn.ModuleDict({'encoder': mlp(outputs=8), 'decoder': mlp(4, 10)})
    optimizer = Adam(model.parameters(), lr=0.01)

    def loss(batch):
        mean, spread = model['encoder'](batch['x']).chunk(2, 1)
        made = model['decoder'](mean + batch['noise'] * (spread / 2).exp())
        divergence = (mean.square() + spread.exp() - 1 - spread).sum(1).mean() / 2
        return mse_loss(made, batch['x']) + 0.1 * divergence

    return ten_lines(plain, model, optimizer, loaded(Noised()), loss)


@script('InfoNCE with `micro_batch=8`; plain accumulates over micro-batches of 8', 'servers')
def infonce(plain):
    model = mlp(outputs=6)
    optimizer = AdamW(model.parameters(), lr=0.005)

    def loss(batch):
        x, _ = batch
        one, two = normalize(model(x)), normalize(model(x * 0.9 + 0.1))
        return cross_entropy(one @ two.T / 0.2, torch.arange(len(x)))

    return ten_lines(plain, model, optimizer, loaded(points()), loss, micro_batch=8)


@script('batch norm with `micro_batch=8`; plain accumulates over micro-batches of 8', 'servers')
def batch_norm(plain):
    model = cnn(nn.BatchNorm2d)
    optimizer = SGD(model.parameters(), lr=0.02, momentum=0.9)
    return ten_lines(plain, model, optimizer, loaded(images()), classes(model), micro_batch=8)


@script('autocast in bfloat16', 'servers', why='sums of bfloat16 round to three digits')
def autocast(plain):
    model = mlp(wide=32)
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)

    def loss(batch):
        with torch.autocast('cpu', torch.bfloat16):
            return classes(model)(batch)

    return ten_lines(plain, model, optimizer, loaded(points()), loss)
