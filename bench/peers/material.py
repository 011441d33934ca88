"""Weights and samples for both sides of a comparison, as safetensors files."""
import torch

from models import PEERS
from tensor_file import save_file


def draw(peer, batch, seed):
    """Returns inputs in PyTorch's layout, and labels. Inputs are the image of the class plus noise, or tokens."""
    source = torch.Generator().manual_seed(seed)
    if peer.tokens:
        inputs = torch.randint(peer.tokens, (batch, *peer.sample), generator=source)
        following = peer.tokens == peer.classes  # the label of every position is the next token
        labels = inputs.roll(-1, 1) if following else torch.randint(peer.classes, (batch,), generator=source)
        return inputs, labels
    labels = torch.randint(peer.classes, (batch,), generator=source)
    noise = torch.randn((batch, *peer.sample), generator=source)
    pictures = torch.randn((peer.classes, peer.sample[0], 1, 1), generator=source)
    return noise + pictures[labels], labels


def make(name, seed=1):
    """Returns the model with initial weights. Zero tensors (biases, a head) get small values, because zeros would
    hide an unused tensor."""
    torch.manual_seed(seed)
    model = PEERS[name].make()
    with torch.no_grad():
        for tensor in model.parameters():
            if not tensor.any():
                tensor.normal_(std=0.01)
    return model


def as_stored(state):
    """Returns the tensors that Steelyard keeps: all floats, without the batch counters of batch norms."""
    return {name: it.detach().contiguous() for name, it in state.items() if it.is_floating_point()}


def write(name, model, inputs, labels, directory):
    """Writes weights and samples, and returns their paths."""
    weights, samples = directory / f'{name}.safetensors', directory / f'{name}.samples.safetensors'
    save_file(as_stored(model.state_dict()), weights)
    rows = inputs.permute(0, 2, 3, 1) if inputs.ndim == 4 else inputs
    save_file({'inputs': rows.float().contiguous(), 'labels': labels.float()}, samples)
    return weights, samples
