"""What both sides of a comparison begin with: weights and samples, as safetensors files."""
import torch
from safetensors.torch import save_file

from models import PEERS


def draw(peer, batch, seed):
    """Inputs as PyTorch takes them, and labels: a picture of its class and noise, or tokens."""
    source = torch.Generator().manual_seed(seed)
    if peer.tokens:
        inputs = torch.randint(peer.tokens, (batch, *peer.sample), generator=source)
        following = peer.tokens == peer.classes  # every position is labelled with the token behind it
        labels = inputs.roll(-1, 1) if following else torch.randint(peer.classes, (batch,), generator=source)
        return inputs, labels
    labels = torch.randint(peer.classes, (batch,), generator=source)
    noise = torch.randn((batch, *peer.sample), generator=source)
    pictures = torch.randn((peer.classes, peer.sample[0], 1, 1), generator=source)
    return noise + pictures[labels], labels


def make(name, seed=1):
    """The model with first weights. What begins as zero (biases, a head) gets small values: zeros would hide a
    tensor that is not used."""
    torch.manual_seed(seed)
    model = PEERS[name].make()
    with torch.no_grad():
        for tensor in model.parameters():
            if not tensor.any():
                tensor.normal_(std=0.01)
    return model


def as_stored(state):
    """The tensors of a model as Steelyard keeps them: all floats, but not how many batches a batch norm has seen."""
    return {name: it.detach().contiguous() for name, it in state.items() if it.is_floating_point()}


def write(name, model, inputs, labels, directory):
    """The paths of weights and samples."""
    weights, samples = directory / f'{name}.safetensors', directory / f'{name}.samples.safetensors'
    save_file(as_stored(model.state_dict()), weights)
    rows = inputs.permute(0, 2, 3, 1) if inputs.ndim == 4 else inputs
    save_file({'inputs': rows.float().contiguous(), 'labels': labels.float()}, samples)
    return weights, samples
