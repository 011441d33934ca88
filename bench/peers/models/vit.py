"""Vision transformers (Dosovitskiy et al. 2020), with torchvision's names, without dropout."""
import math

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        # Identity replaces dropout, so that the linear layers are mlp.0 and mlp.3 as in torchvision.
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Identity(), nn.Linear(hidden, width))
        for layer in (self.mlp[0], self.mlp[3]):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=1e-6)

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.self_attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    def __init__(self, tokens, depth, width, heads, hidden):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, tokens, width).normal_(std=0.02))
        self.layers = nn.Sequential()
        for number in range(depth):
            self.layers.add_module(f'encoder_layer_{number}', Block(width, heads, hidden))
        self.ln = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x):
        return self.ln(self.layers(x + self.pos_embedding))


class ViT(nn.Module):
    def __init__(self, pixels, patch, depth, width, heads, hidden, classes):
        super().__init__()
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.conv_proj = nn.Conv2d(3, width, patch, patch)
        self.encoder = Encoder((pixels // patch)**2 + 1, depth, width, heads, hidden)
        self.heads = nn.Sequential()
        self.heads.head = nn.Linear(width, classes)
        nn.init.trunc_normal_(self.conv_proj.weight, std=1 / math.sqrt(3 * patch * patch))
        nn.init.zeros_(self.conv_proj.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def forward(self, x):
        patches = self.conv_proj(x).flatten(2).transpose(1, 2)  # row by row
        x = torch.cat([self.class_token.expand(len(x), -1, -1), patches], 1)
        return self.heads(self.encoder(x)[:, 0])


def vit(classes=10):
    return ViT(32, 4, 6, 512, 8, 512, classes)


def vit_b16(classes=1000):
    return ViT(224, 16, 12, 768, 12, 3072, classes)
