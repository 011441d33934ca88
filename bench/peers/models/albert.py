"""ALBERT base (Lan et al. 2019) with a classifier on the first token: twelve layers with shared parameters.
Names as in Hugging Face's AlbertForSequenceClassification; no dropout, one segment, no padding.
"""
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.dense = nn.Linear(width, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x):
        q, k, v = (layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
                   for layer in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.LayerNorm(x + self.dense(y.transpose(1, 2).flatten(2)))


class Layer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.full_layer_layer_norm = nn.LayerNorm(width, eps=1e-12)
        self.attention = Attention(width, heads)
        self.ffn = nn.Linear(width, hidden)
        self.ffn_output = nn.Linear(hidden, width)

    def forward(self, x):
        x = self.attention(x)
        y = F.gelu(self.ffn(x), approximate='tanh')
        return self.full_layer_layer_norm(self.ffn_output(y) + x)


class Embeddings(nn.Module):
    def __init__(self, vocabulary, length, width):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocabulary, width)
        self.position_embeddings = nn.Embedding(length, width)
        self.token_type_embeddings = nn.Embedding(2, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, tokens):
        positions = self.position_embeddings(torch.arange(tokens.shape[1], device=tokens.device))
        return self.LayerNorm(self.word_embeddings(tokens) + self.token_type_embeddings.weight[0] + positions)


class Group(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.albert_layers = nn.ModuleList([layer])


class Encoder(nn.Module):
    def __init__(self, embedding, width, depth, heads, hidden):
        super().__init__()
        self.depth = depth
        self.embedding_hidden_mapping_in = nn.Linear(embedding, width)
        self.albert_layer_groups = nn.ModuleList([Group(Layer(width, heads, hidden))])

    def forward(self, x):
        x = self.embedding_hidden_mapping_in(x)
        for _ in range(self.depth):
            x = self.albert_layer_groups[0].albert_layers[0](x)
        return x


class Body(nn.Module):
    def __init__(self, vocabulary, length, embedding, width, depth, heads, hidden):
        super().__init__()
        self.embeddings = Embeddings(vocabulary, length, embedding)
        self.encoder = Encoder(embedding, width, depth, heads, hidden)
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens):
        return self.pooler(self.encoder(self.embeddings(tokens))[:, 0]).tanh()


class Albert(nn.Module):
    def __init__(self, vocabulary=30000, length=512, embedding=128, width=768, depth=12, heads=12, hidden=3072,
                 classes=2):
        super().__init__()
        self.albert = Body(vocabulary, length, embedding, width, depth, heads, hidden)
        self.classifier = nn.Linear(width, classes)
        for it in self.modules():
            if isinstance(it, (nn.Linear, nn.Embedding)):
                nn.init.normal_(it.weight, std=0.02)
            if isinstance(it, nn.Linear):
                nn.init.zeros_(it.bias)

    def forward(self, tokens):
        return self.classifier(self.albert(tokens))
