"""A transformer encoder that classifies sequences of tokens (Vaswani et al. 2017): layer norm after each branch, ReLU,
learned positions, the mean over positions. Uses torch.nn.TransformerEncoderLayer and its names.
"""
import torch
from torch import nn


class Transformer(nn.Module):
    def __init__(self, vocabulary=1000, length=64, width=256, depth=4, heads=4, hidden=1024, classes=10):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.empty(length, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, hidden, dropout=0.0, batch_first=True) for _ in range(depth))
        self.fc = nn.Linear(width, classes)
        nn.init.normal_(self.embedding.weight, std=0.02)
        nn.init.normal_(self.position, std=0.02)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.fc(x.mean(1))
