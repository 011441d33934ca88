"""A decoder like GPT-2 (Radford et al. 2019), over bytes: learned positions, layer norm before each branch, an untied
head. Names as in Karpathy's nanoGPT; biases everywhere except in the head, exact GELU, no dropout.

Takes [batch][position] bytes and returns scores [batch][position][256] of the next byte.
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
    def __init__(self, width):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary=256, length=256, depth=6, width=384, heads=6):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(wte=nn.Embedding(vocabulary, width), wpe=nn.Embedding(length, width),
                 h=nn.ModuleList(Block(width, heads) for _ in range(depth)), ln_f=nn.LayerNorm(width)))
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
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
        return self.lm_head(its.ln_f(x))
