"""DenseNet-121 (Huang et al. 2016), with torchvision's names: growth 32, bottlenecks of 4 x 32, blocks 6, 12, 24, 16."""
import torch
from torch import nn


class DenseLayer(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x):
        y = self.conv1(self.norm1(x).relu())
        return torch.cat([x, self.conv2(self.norm2(y).relu())], 1)


class Transition(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, inputs // 2, 1, bias=False)
        self.pool = nn.AvgPool2d(2)

    def forward(self, x):
        return self.pool(self.conv(self.norm(x).relu()))


class DenseNet121(nn.Module):
    def __init__(self, classes=1000, growth=32, blocks=(6, 12, 24, 16)):
        super().__init__()
        width = 2 * growth
        self.features = nn.Sequential()
        self.features.conv0 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.features.norm0 = nn.BatchNorm2d(width)
        self.features.relu0 = nn.ReLU()
        self.features.pool0 = nn.MaxPool2d(3, 2, 1)
        for number, depth in enumerate(blocks, 1):
            block = nn.Sequential()
            for layer in range(1, depth + 1):
                block.add_module(f'denselayer{layer}', DenseLayer(width, growth))
                width += growth
            self.features.add_module(f'denseblock{number}', block)
            if number < len(blocks):
                self.features.add_module(f'transition{number}', Transition(width))
                width //= 2
        self.features.norm5 = nn.BatchNorm2d(width)
        self.classifier = nn.Linear(width, classes)
        for it in self.modules():
            if isinstance(it, nn.Conv2d):
                nn.init.kaiming_normal_(it.weight)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, x):
        return self.classifier(self.features(x).relu().mean((2, 3)))
