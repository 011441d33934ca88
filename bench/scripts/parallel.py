"""Scripts for DistributedDataParallel, with parallel() and loader() in its place."""
from contextlib import nullcontext

import torch
from material import Stream, SAMPLES, cnn, images, mlp, points
from registry import BATCH, EPOCHS, script
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch.optim.lr_scheduler import StepLR
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn
from torch.utils.data import DataLoader

import steelyard.torch


def prepared(plain, module, data, kept, **options):
    """The model and the loader of a DDP script: in the plain form those of one process."""
    if plain:
        return module, DataLoader(data, BATCH)
    model = steelyard.torch.parallel(module).keep(**kept)
    return model, steelyard.torch.loader(data, model, batch_size=BATCH, epochs=EPOCHS, **options)


@script('DDP script: RMSprop, StepLR, CNN', 'parallel')
def ddp(plain):
    module = cnn()
    optimizer = torch.optim.RMSprop(module.parameters(), lr=5e-4)
    schedule = StepLR(optimizer, 2, 0.5)
    model, loader = prepared(plain, module, images(), {'optimizer': optimizer, 'schedule': schedule}, shuffle=False)
    for epoch in range(EPOCHS):
        for x, y in loader:
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
        schedule.step()
    return module


@script('DDP script: gradients accumulated over two batches, no_sync(), AdamW with `eps` 1e-4, clipping', 'parallel')
def accumulation(plain):
    module = mlp()
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01, eps=1e-4)
    model, loader = prepared(plain, module, points(), {'optimizer': optimizer}, shuffle=False)
    for epoch in range(EPOCHS):
        for at, (x, y) in enumerate(loader):
            number = at if plain else loader.job.round  # `at` begins with 0 in a process that returns
            with nullcontext() if plain or number % 2 else model.no_sync():
                (cross_entropy(model(x), y) / 2).backward()
            if number % 2 == 1:
                nn.utils.clip_grad_norm_(module.parameters(), 0.3)
                optimizer.step()
                optimizer.zero_grad()
    return module


@script('DDP script: GAN with backwards=2', 'parallel')
def ddp_gan(plain):
    g, d = mlp(4, 10), mlp(10, 1)
    of_g, of_d = torch.optim.Adam(g.parameters(), lr=0.003), torch.optim.SGD(d.parameters(), lr=0.05, momentum=0.9)
    both = nn.ModuleDict({'g': g, 'd': d})
    _, loader = prepared(plain, both, points(), {'of_g': of_g, 'of_d': of_d}, shuffle=False, backwards=2)
    real, false = (lambda scores, target=it: binary_cross_entropy_with_logits(scores, torch.full_like(scores, target))
                   for it in (1.0, 0.0))
    for epoch in range(EPOCHS):
        for x, y in loader:
            of_d.zero_grad()
            (real(d(x)) + false(d(g(x[:, :4]).detach()))).backward()
            of_d.step()
            of_g.zero_grad()
            real(d(g(x[:, :4]))).backward()
            of_g.step()
    return both


class Experts(nn.Module):
    """One of three experts computes each sample, so that some batches, or shares, do not use one of them."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(mlp() for _ in range(3))

    def forward(self, x):
        chosen = (x[:, 9] + 2).clamp(0, 2.9).long()
        made = x.new_zeros(len(x), 3)
        for number, expert in enumerate(self.experts):
            if (its := (chosen == number).nonzero().flatten()).numel():
                made = made.index_add(0, its, expert(x[its]))
        return made


@script('DDP script: experts that some batches do not use, EMA', 'parallel')
def experts(plain):
    module = Experts()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    average = AveragedModel(module, avg_fn=get_ema_avg_fn(0.9))
    model, loader = prepared(plain, module, points(), {'optimizer': optimizer, 'average': average}, shuffle=False)
    for epoch in range(EPOCHS):
        for x, y in loader:
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            average.update_parameters(module)
    return module, average


@script('DDP script: a stream, AdamW with amsgrad', 'parallel')
def ddp_stream(plain):
    module = mlp()
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01, amsgrad=True)
    model, loader = prepared(plain, module, Stream(), {'optimizer': optimizer}, samples=SAMPLES)
    for epoch in range(EPOCHS):
        for x, y in loader:
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
    return module
