"""Scripts that take the optimizer steps themselves: join(..., step='here')."""
import torch
from loops import ROUNDS, classes, loaded, own_steps
from material import Lstm, Sentences, cnn, images, mlp, padded, points
from registry import EPOCHS, script
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch.optim.lr_scheduler import OneCycleLR, ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn


def classify(plain, model, optimizer, data, after=lambda: None, **kept):
    """Trains a classifier with an optimizer that servers do not have."""

    def step(version):
        optimizer.step()
        after()

    return own_steps(plain, model, loaded(data), classes(model), step, optimizer=optimizer, **kept)


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
def lion(plain):
    model = mlp()
    return classify(plain, model, Lion(model.parameters(), lr=1e-3), points())


class Muon(torch.optim.Optimizer):
    """Jordan et al. 2024: momentum of matrices, made orthogonal by the iteration of Newton and Schulz, in float32."""

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


@script('Muon, a subclass of Optimizer, for the hidden layers, and SGD for the rest', 'here')
def muon(plain):
    model = mlp()
    hidden = [model[0].weight, model[2].weight]
    matrices = Muon(hidden, lr=0.005)
    others = [it for it in model.parameters() if all(it is not one for one in hidden)]
    rest = torch.optim.SGD(others, lr=0.05, momentum=0.9)
    return classify(plain, model, matrices, points(), rest.step, rest=rest)


@script('Adafactor', 'here')
def adafactor(plain):
    model = mlp()
    return classify(plain, model, torch.optim.Adafactor(model.parameters(), lr=0.01), points())


@script('RMSprop with momentum, CNN', 'here')
def rmsprop(plain):
    model = cnn()
    return classify(plain, model, torch.optim.RMSprop(model.parameters(), lr=5e-4, momentum=0.9), images())


@script('LSTM with packed batches, NAdam', 'here')
def lstm(plain):
    model = Lstm()
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)

    def loss(batch):
        words, lengths, y = batch
        return cross_entropy(model(words, lengths), y)

    return own_steps(plain, model, loaded(Sentences(), collate_fn=padded), loss, lambda version: optimizer.step(),
                     optimizer=optimizer)


@script('EMA of the weights, which is compared, too; AdamW', 'here')
def ema(plain):
    model = mlp()
    average = AveragedModel(model, avg_fn=get_ema_avg_fn(0.9))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return classify(plain, model, optimizer, points(), lambda: average.update_parameters(model), average=average), average


@script('a frozen layer is unfrozen after 15 rounds, Adagrad', 'here')
def unfreezing(plain):
    model = mlp()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02)
    return own_steps(plain, model, loaded(points()), classes(model), lambda version: optimizer.step(),
                     lambda version: model[0].requires_grad_(version >= 15), optimizer=optimizer)


@script('clip_grad_norm_, OneCycleLR with momentum, SGD', 'here')
def clipping(plain):
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = OneCycleLR(optimizer, 0.3, total_steps=EPOCHS * ROUNDS)

    def step(version):
        nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        optimizer.step()
        schedule.step()

    return own_steps(plain, model, loaded(points()), classes(model), step, optimizer=optimizer, schedule=schedule)


@script('ReduceLROnPlateau by the loss of a validation set, ASGD', 'here')
def plateau(plain):
    model, (x, y) = mlp(), points(60, seed=8).tensors
    optimizer = torch.optim.ASGD(model.parameters(), lr=0.2)
    schedule = ReduceLROnPlateau(optimizer, factor=0.5, patience=0, threshold=0.2)

    def step(version):
        optimizer.step()
        if version % ROUNDS == ROUNDS - 1:
            with torch.no_grad():
                schedule.step(cross_entropy(model(x), y).item())

    return own_steps(plain, model, loaded(points()), classes(model), step, optimizer=optimizer, schedule=schedule)


@script('GAN: two optimizers in turns, one a round', 'here')
def gan(plain):
    model = nn.ModuleDict({'g': mlp(4, 10), 'd': mlp(10, 1)})
    of_g = torch.optim.Adam(model['g'].parameters(), lr=0.003, betas=(0.5, 0.99))
    of_d = torch.optim.SGD(model['d'].parameters(), lr=0.05, momentum=0.9)
    turns = [of_d, of_g]

    def before(version):
        turns[:] = (of_d, of_g) if version % 2 == 0 else (of_g, of_d)

    def loss(batch):
        made = model['g'](batch[0][:, :4])
        if turns[0] is of_g:
            return scored(model['d'](made), 1.0)
        return scored(model['d'](batch[0]), 1.0) + scored(model['d'](made.detach()), 0.0)

    return own_steps(plain, model, loaded(points()), loss, lambda version: turns[0].step(), before, of_g=of_g, of_d=of_d)


def scored(scores, target):
    return binary_cross_entropy_with_logits(scores, torch.full_like(scores, target))
