"""The loops of scripts: plain PyTorch's, and those of steelyard. Each script gives its model, loss and step once."""
from registry import BATCH, EPOCHS
from steelyard._random_states import RandomStates
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, IterableDataset

from steelyard.torch import join

ROUNDS = 8  # of an epoch, with the data sets of material.py
SEED = 1    # of a job, unless another is given


def classes(model):
    """The usual loss of a classifier."""
    return lambda batch: cross_entropy(model(batch[0]), batch[1])


def nothing(version):
    pass


def ten_lines(plain, model, optimizer, loader, loss, step=None, micro_batch=None, **options):
    """The servers take the steps. `step(version)`: the same in plain PyTorch. `options`: those of join()."""
    if plain:
        size = BATCH // 2 if plain == 2 else micro_batch
        return plainly(model, loader, loss, step or (lambda version: optimizer.step()), micro_batch=size)
    job = join(model, optimizer, loader, epochs=EPOCHS, micro_batch=micro_batch, **options)
    for batch in job:
        found = loss(batch)
        if isinstance(found, tuple):
            job.backward(found[0], weight=found[1])
        else:
            job.backward(found)
    return model


def own_steps(plain, model, loader, loss, step, before=nothing, **kept):
    """Each worker takes the steps. `before(version)` and `step(version)`: before and after the gradient of a round."""
    if plain:
        return plainly(model, loader, loss, step, before)
    job = join(model, None, loader, epochs=EPOCHS, step='here')
    job.keep(**kept)
    for round in job.rounds():
        before(round.version)
        for batch in round:
            round.backward(loss(batch))
        step(round.version)
    return model


def plainly(model, loader, loss, step, before=nothing, micro_batch=None):
    version = 0
    for epoch in range(EPOCHS):
        for batch in in_order(loader, epoch):
            before(version)
            model.zero_grad()
            for part, share in parts(batch, micro_batch):
                found = loss(part)
                (share * (found[0] if isinstance(found, tuple) else found)).backward()
            step(version)
            version += 1
    return model


def in_order(loader, epoch):
    """The batches of an epoch; a sampler draws what it draws in a job."""
    if isinstance(loader.dataset, IterableDataset):
        return loader
    with RandomStates(f'{SEED} {epoch}', loader.batch_sampler):
        lists = list(loader.batch_sampler)
    return DataLoader(loader.dataset, batch_sampler=lists, collate_fn=loader.collate_fn)


def parts(batch, size):
    """Micro-batches of one size, and their shares of the batch."""
    if size is None:
        return [(batch, 1)]
    return [(it, len(it[0]) / len(batch[0])) for it in zip(*(column.split(size) for column in batch))]


def loaded(data, **options):
    return DataLoader(data, BATCH, **options)
