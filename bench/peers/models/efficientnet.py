"""EfficientNet B0 and B1 (Tan and Le 2019), with torchvision's names.

Stochastic depth and dropout (published: 0.2 and 0.2) are omitted, because both sides of a comparison would need the same
masks.
"""
import math

from torch import nn

# expansion, kernel, stride, inputs, outputs, repeats
STAGES = [(1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3),
          (6, 5, 1, 80, 112, 3), (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1)]


def conv(inputs, outputs, kernel, stride=1, groups=1, activation=True):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
              nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.SiLU()] if activation else []))


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        scale = nn.functional.silu(self.fc1(x.mean((2, 3), keepdim=True)))
        return x * self.fc2(scale).sigmoid()


class MBConv(nn.Module):
    def __init__(self, expansion, kernel, stride, inputs, outputs):
        super().__init__()
        width = expansion * inputs
        layers = [conv(inputs, width, 1)] if expansion > 1 else []
        layers += [conv(width, width, kernel, stride, groups=width), SqueezeExcitation(width, inputs // 4),
                   conv(width, outputs, 1, activation=False)]
        self.block = nn.Sequential(*layers)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.block(x) if self.residual else self.block(x)


class EfficientNet(nn.Module):
    def __init__(self, depth, classes):
        super().__init__()
        features = [conv(3, 32, 3, 2)]
        for expansion, kernel, stride, inputs, outputs, repeats in STAGES:
            blocks = [MBConv(expansion, kernel, stride, inputs, outputs)]
            blocks += [MBConv(expansion, kernel, 1, outputs, outputs) for _ in range(math.ceil(repeats * depth) - 1)]
            features.append(nn.Sequential(*blocks))
        self.features = nn.Sequential(*features, conv(320, 1280, 1))
        self.classifier = nn.Sequential(nn.Identity(), nn.Linear(1280, classes))
        for it in self.modules():
            if isinstance(it, nn.Conv2d):
                nn.init.kaiming_normal_(it.weight, mode='fan_out')
                if it.bias is not None:
                    nn.init.zeros_(it.bias)
        nn.init.uniform_(self.classifier[1].weight, -1 / math.sqrt(classes), 1 / math.sqrt(classes))
        nn.init.zeros_(self.classifier[1].bias)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def efficientnet_b0(classes=1000):
    return EfficientNet(1.0, classes)


def efficientnet_b1(classes=1000):
    return EfficientNet(1.1, classes)
