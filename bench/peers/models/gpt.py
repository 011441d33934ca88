"""GPT-2 (Radford et al. 2019): learned positions, layer norm before each branch. Names as in Karpathy's nanoGPT; biases
everywhere except in the head, no dropout.

gpt is a small one over bytes, with a head of its own and exact GELU. gpt2 is the smallest published size: its head has
the weights of the embedding, and GELU is approximated by tanh.

Takes [batch][position] tokens and returns scores [batch][position][token] of the next one.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)  # queries, keys, values
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (it.unflatten(2, (self.heads, -1)).transpose(1, 2) for it in self.c_attn(x).chunk(3, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, width, gelu):
        super().__init__()
        self.gelu = gelu
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate=self.gelu))


class Block(nn.Module):
    def __init__(self, width, heads, gelu):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, gelu)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary=256, length=256, depth=6, width=384, heads=6, tied=False, gelu='none'):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(wte=nn.Embedding(vocabulary, width), wpe=nn.Embedding(length, width),
                 h=nn.ModuleList(Block(width, heads, gelu) for _ in range(depth)), ln_f=nn.LayerNorm(width)))
        self.lm_head = None if tied else nn.Linear(width, vocabulary, bias=False)
        for name, tensor in self.named_parameters():
            if name.endswith('.bias'):
                nn.init.zeros_(tensor)
            elif '.ln_' not in name:
                last = name.endswith('c_proj.weight')
                nn.init.normal_(tensor, std=0.02 / math.sqrt(2 * depth) if last else 0.02)

    def forward(self, tokens):
        its = self.transformer
        x = its.wte(tokens) + its.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in its.h:
            x = block(x)
        x = its.ln_f(x)
        return F.linear(x, its.wte.weight) if self.lm_head is None else self.lm_head(x)


def gpt2():
    return Gpt(vocabulary=50257, length=1024, depth=12, width=768, heads=12, tied=True, gelu='tanh')
