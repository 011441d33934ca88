"""Models and data sets of the scripts: small, so that a training takes a second. Activations are smooth, and no
gradient is a sum that cancels, so that rounding decides nothing."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import Dataset, IterableDataset, TensorDataset

SAMPLES = 190  # eight batches, the last one shorter
WORDS = 30


def generator(seed=7):
    return torch.Generator().manual_seed(seed)


def points(count=SAMPLES, seed=7):
    """Points of three classes."""
    drawn = generator(seed)
    x = torch.randn(count, 10, generator=drawn)
    return TensorDataset(x, (x[:, 0] + torch.randn(count, generator=drawn)).mul(2).long().clamp(0, 2))


def mlp(inputs=10, outputs=3, wide=20):
    return nn.Sequential(nn.Linear(inputs, wide), nn.Tanh(), nn.Linear(wide, wide), nn.Tanh(),
                         nn.Linear(wide, outputs))


def images(count=SAMPLES):
    drawn = generator()
    y = torch.randint(0, 3, (count,), generator=drawn)
    x = torch.randn(count, 1, 8, 8, generator=drawn) + y[:, None, None, None] * 0.5
    return TensorDataset(x, y)


def cnn(norm=lambda channels: nn.GroupNorm(2, channels)):
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), norm(4), nn.GELU(), nn.AvgPool2d(2),
                         nn.Conv2d(4, 8, 3, padding=1), norm(8), nn.GELU(), nn.Flatten(), nn.Linear(128, 3))


class Sentences(Dataset):
    """Sentences of 3 to 12 words, each of one of three classes."""

    def __init__(self, count=SAMPLES):
        drawn = generator()
        lengths = torch.randint(3, 13, (count,), generator=drawn).tolist()
        self.words = [torch.randint(1, WORDS, (it,), generator=drawn) for it in lengths]
        self.classes = [int(it.float().mean() / WORDS * 3) for it in self.words]

    def __len__(self):
        return len(self.words)

    def __getitem__(self, number):
        return self.words[number], self.classes[number]


def padded(sentences):
    """A collate function: words, their numbers, classes."""
    words = [it for it, _ in sentences]
    return (pad_sequence(words, batch_first=True), torch.tensor([len(it) for it in words]),
            torch.tensor([it for _, it in sentences]))


class Lstm(nn.Module):
    """Classifies padded sentences. Their lengths are packed, so that padding has no effect."""

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.head = nn.Embedding(WORDS, 12), nn.LSTM(12, 16, batch_first=True), nn.Linear(16, 3)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embedding(words), lengths, batch_first=True, enforce_sorted=False)
        return self.head(self.lstm(packed)[1][0][0])


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.head = nn.Embedding(WORDS, 12), nn.LSTM(12, 16, batch_first=True), nn.Linear(16, WORDS)

    def forward(self, words):
        return self.head(self.lstm(self.embedding(words))[0])


class Tokens(Dataset):
    """Sentences for language models of transformers. With `masked`, three words of each are to be found again; with
    `uneven`, one to nine of them."""

    def __init__(self, count=SAMPLES, masked=False, uneven=False):
        drawn = generator()
        self.words = torch.randint(1, WORDS, (count, 12), generator=drawn)
        self.labels = self.words
        if masked or uneven:
            most = torch.randint(1, 10, (count, 1), generator=drawn) if uneven else 3
            chosen = torch.rand(count, 12, generator=drawn).argsort(1) < most
            self.labels = torch.where(chosen, self.words, -100)
            self.words = torch.where(chosen, 0, self.words)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, number):
        return {'input_ids': self.words[number], 'labels': self.labels[number]}


class Noised(Dataset):
    """Points, each with the noise that the reparametrization uses: the same in all divisions."""

    def __init__(self):
        self.x, self.noise = (torch.randn(SAMPLES, it, generator=torch.Generator().manual_seed(it)) for it in (10, 4))

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        return {'x': self.x[number], 'noise': self.noise[number]}


class Stream(IterableDataset):
    """Samples in the order of a file, without numbers."""

    def __init__(self, count=SAMPLES):
        self.data = points(count)

    def __iter__(self):
        return iter(self.data)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return redrawn(GPT2LMHeadModel(GPT2Config(
        vocab_size=WORDS, n_positions=16, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        bos_token_id=0, eos_token_id=0)))


def bert():
    from transformers import BertConfig, BertForMaskedLM
    return redrawn(BertForMaskedLM(BertConfig(
        vocab_size=WORDS, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=16, hidden_dropout_prob=0, attention_probs_dropout_prob=0)))


def redrawn(model):
    """Draws all parameters again, since a difference relative to biases of 0 would say nothing."""
    with torch.no_grad():
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.2)
    return model
