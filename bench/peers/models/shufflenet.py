"""ShuffleNet v2 1.0x (Ma et al. 2018), with torchvision's names."""
import torch
from torch import nn


def pointwise(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


def depthwise(channels, stride):
    return [nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False), nn.BatchNorm2d(channels)]


def shuffle(x):
    """Channels 0, n/2, 1, n/2 + 1 ..."""
    return x.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)


class Unit(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        half, self.stride = outputs // 2, stride
        self.branch1 = nn.Sequential()  # with stride 1 the first half of the channels is unchanged
        if stride == 2:
            self.branch1 = nn.Sequential(*depthwise(inputs, 2), *pointwise(inputs, half))
        self.branch2 = nn.Sequential(*pointwise(inputs if stride == 2 else half, half), *depthwise(half, stride),
                                     *pointwise(half, half))

    def forward(self, x):
        first, second = (x, x) if self.stride == 2 else x.chunk(2, 1)
        return shuffle(torch.cat([self.branch1(first), self.branch2(second)], 1))


class ShuffleNetV2(nn.Module):
    def __init__(self, classes=1000, widths=(24, 116, 232, 464, 1024)):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(3, widths[0], 3, 2, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU())
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        for stage, repeats in enumerate((4, 8, 4), 1):
            units = [Unit(widths[stage - 1], widths[stage], 2)]
            units += [Unit(widths[stage], widths[stage], 1) for _ in range(repeats - 1)]
            self.add_module(f'stage{stage + 1}', nn.Sequential(*units))
        self.conv5 = nn.Sequential(*pointwise(widths[3], widths[4]))
        self.fc = nn.Linear(widths[4], classes)

    def forward(self, x):
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean((2, 3)))
