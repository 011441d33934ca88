"""Scripts that take the optimizer steps themselves: join(..., step='here')."""
import torch
from material import Lstm, Sentences, images, cnn, mlp, padded, points
from registry import BATCH, EPOCHS, script
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch.optim.lr_scheduler import OneCycleLR, ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn
from torch.utils.data import DataLoader

from steelyard.torch import join


def classify(run, model, optimizer, data):
    """Trains a classifier with an optimizer that servers do not have."""
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, step='here')
        for round in job.rounds():
            for x, y in round:
                round.backward(cross_entropy(model(x), y))
            optimizer.step()
    return model


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023: the sign of an interpolation between momentum and gradient."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {'lr': lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for it in group['params']:
                momentum = self.state[it].setdefault('momentum', torch.zeros_like(it))
                it.sub_(momentum.lerp(it.grad, 0.1).sign(), alpha=group['lr'])
                momentum.lerp_(it.grad, 0.01)


@script('Lion, a subclass of Optimizer', 'here')
def lion(run):
    model = mlp()
    return classify(run, model, Lion(model.parameters(), lr=1e-3), points())


class Muon(torch.optim.Optimizer):
    """Jordan et al. 2024: momentum of matrices, made orthogonal by Newton and Schulz's iteration in float32."""

    def __init__(self, parameters, lr, momentum=0.95):
        super().__init__(parameters, {'lr': lr, 'momentum': momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for it in group['params']:
                buffer = self.state[it].setdefault('buffer', torch.zeros_like(it))
                buffer.mul_(group['momentum']).add_(it.grad)
                it.sub_(self.orthogonal(it.grad + group['momentum'] * buffer), alpha=group['lr'])

    @staticmethod
    def orthogonal(x):
        x = x / x.norm()
        for _ in range(5):
            square = x @ x.T
            x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
        return x


@script('Muon, a subclass of Optimizer, for matrices, beside SGD for the rest', 'here')
def muon(run):
    model, data = mlp(), points()
    matrices = Muon([it for it in model.parameters() if it.dim() == 2], lr=0.01)
    rest = torch.optim.SGD([it for it in model.parameters() if it.dim() < 2], lr=0.05, momentum=0.9)
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                model.zero_grad()
                cross_entropy(model(x), y).backward()
                matrices.step()
                rest.step()
    else:
        job = join(model, None, data, batch=BATCH, epochs=EPOCHS, shuffle=False, step='here')
        job.keep(matrices=matrices, rest=rest)
        for round in job.rounds():
            for x, y in round:
                round.backward(cross_entropy(model(x), y))
            matrices.step()
            rest.step()
    return model


@script('Adafactor', 'here')
def adafactor(run):
    model = mlp()
    return classify(run, model, torch.optim.Adafactor(model.parameters(), lr=0.01), points())


@script('RMSprop with momentum, CNN', 'here')
def rmsprop(run):
    model = cnn()
    return classify(run, model, torch.optim.RMSprop(model.parameters(), lr=5e-4, momentum=0.9), images())


@script('LSTM with packed batches, NAdam', 'here')
def lstm(run):
    model, data = Lstm(), Sentences()
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)
    if run.plain:
        for epoch in range(EPOCHS):
            for words, lengths, y in DataLoader(data, BATCH, collate_fn=padded):
                optimizer.zero_grad()
                cross_entropy(model(words, lengths), y).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, step='here', collate_fn=padded)
        for round in job.rounds():
            for words, lengths, y in round:
                round.backward(cross_entropy(model(words, lengths), y))
            optimizer.step()
    return model


@script('EMA of the weights, AdamW; the average is compared, too', 'here')
def ema(run):
    model, data = mlp(), points()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    average = AveragedModel(model, avg_fn=get_ema_avg_fn(0.9))
    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
                average.update_parameters(model)
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, step='here')
        job.keep(average=average)
        for round in job.rounds():
            for x, y in round:
                round.backward(cross_entropy(model(x), y))
            optimizer.step()
            average.update_parameters(model)
    return model, average


@script('a frozen layer is unfrozen after 15 rounds, Adagrad', 'here')
def unfreezing(run):
    model, data = mlp(), points()
    model[0].requires_grad_(False)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02)
    if run.plain:
        for epoch in range(EPOCHS):
            for number, (x, y) in enumerate(DataLoader(data, BATCH), epoch * 8):
                model[0].requires_grad_(number >= 15)
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, step='here')
        for round in job.rounds():
            model[0].requires_grad_(round.version >= 15)
            for x, y in round:
                round.backward(cross_entropy(model(x), y))
            optimizer.step()
    return model


@script('clip_grad_norm_, OneCycleLR with momentum, SGD', 'here')
def clipping(run):
    model, data = mlp(), points()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = OneCycleLR(optimizer, 0.3, total_steps=EPOCHS * 8)

    def step():
        nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        optimizer.step()
        schedule.step()

    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                step()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, step='here')
        job.keep(schedule=schedule)
        for round in job.rounds():
            for x, y in round:
                round.backward(cross_entropy(model(x), y))
            step()
    return model


@script('ReduceLROnPlateau by the loss of a validation set, ASGD', 'here')
def plateau(run):
    model, data, valid = mlp(), points(), points(60, seed=8)
    optimizer = torch.optim.ASGD(model.parameters(), lr=0.2)
    schedule = ReduceLROnPlateau(optimizer, factor=0.5, patience=0, threshold=0.2)

    def end_epoch():
        with torch.no_grad():
            schedule.step(cross_entropy(model(valid.tensors[0]), valid.tensors[1]).item())

    if run.plain:
        for epoch in range(EPOCHS):
            for x, y in DataLoader(data, BATCH):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
            end_epoch()
    else:
        job = join(model, optimizer, data, batch=BATCH, epochs=EPOCHS, shuffle=False, step='here')
        job.keep(schedule=schedule)
        for round in job.rounds():
            for x, y in round:
                round.backward(cross_entropy(model(x), y))
            optimizer.step()
            if round.version % 8 == 7:
                end_epoch()
    return model


@script('GAN: two optimizers in turns, one a round', 'here')
def gan(run):
    model, data = nn.ModuleDict({'g': mlp(4, 10), 'd': mlp(10, 1)}), points()
    of_g = torch.optim.Adam(model['g'].parameters(), lr=0.003, betas=(0.5, 0.99))
    of_d = torch.optim.SGD(model['d'].parameters(), lr=0.05, momentum=0.9)

    def loss(x, turn_of_d):
        made = model['g'](x[:, :4])
        real, false = model['d'](x), model['d'](made.detach() if turn_of_d else made)
        target = torch.ones_like(real)
        if not turn_of_d:
            return binary_cross_entropy_with_logits(false, target)
        return (binary_cross_entropy_with_logits(real, target)
                + binary_cross_entropy_with_logits(false, torch.zeros_like(false)))

    if run.plain:
        for epoch in range(EPOCHS):
            for number, (x, y) in enumerate(DataLoader(data, BATCH)):
                model.zero_grad()
                loss(x, number % 2 == 0).backward()
                (of_d if number % 2 == 0 else of_g).step()
    else:
        job = join(model, None, data, batch=BATCH, epochs=EPOCHS, shuffle=False, step='here')
        job.keep(of_g=of_g, of_d=of_d)
        for round in job.rounds():
            for x, y in round:
                round.backward(loss(x, round.version % 2 == 0))
            (of_d if round.version % 2 == 0 else of_g).step()
    return model
