"""Trains a small GPT on the bytes of paragraphs of Perl's manual (Debian package perl-doc).

    python3 small_gpt.py
    steelyard run -n 3 small_gpt.py

Paragraphs differ in length. The loss is the mean over the bytes of a micro-batch, so its weight is the number of these
bytes. The gradient is then the mean over all bytes of the global batch, for any division among workers.
"""
import argparse
import glob
import math

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

import steelyard.torch

LENGTH, WIDTH = 128, 128


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.bytes, self.places = nn.Embedding(256, WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, 'gelu', batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 4, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 256, bias=False)

    def forward(self, x):
        later = torch.full((x.shape[1], x.shape[1]), -math.inf, device=x.device).triu(1)
        return self.head(self.blocks(self.bytes(x) + self.places.weight[:x.shape[1]], mask=later))


def collate(texts):
    """Input bytes, and the next bytes as targets; -100 for padding, which cross_entropy ignores."""
    texts = [torch.tensor(list(text)) for text in texts]
    return (pad_sequence([it[:-1] for it in texts], batch_first=True),
            pad_sequence([it[1:] for it in texts], batch_first=True, padding_value=-100))


if __name__ == '__main__':
    quick = argparse.ArgumentParser()
    quick.add_argument('--quick', action='store_true', help='only a few rounds, as a test')
    length = {'rounds': 4} if quick.parse_args().quick else {'epochs': 2}
    manual = b'\n\n'.join(open(name, 'rb').read() for name in sorted(glob.glob('/usr/share/perl/5.*.*/pod/*.pod')))
    texts = [text[:LENGTH + 1] for text in manual.split(b'\n\n') if len(text) > 1]
    assert texts, "Perl's manual is missing: install perl-doc"
    torch.manual_seed(1)
    model = Gpt().to(steelyard.torch.device())
    matrices = [it for it in model.parameters() if it.ndim > 1]
    optimizer = torch.optim.AdamW([{'params': matrices, 'weight_decay': 0.1},
                                   {'params': [it for it in model.parameters() if it.ndim == 1]}], 3e-3, weight_decay=0)
    job = steelyard.torch.join(model, optimizer, texts, batch=64, collate=collate, clip_norm=1, **length)
    for x, y in job:
        job.backward(cross_entropy(model(x).flatten(0, 1), y.flatten()), weight=(y >= 0).sum())
    if job.main:
        torch.save(model.state_dict(), 'gpt.pt')
