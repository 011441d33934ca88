"""Residual networks (He et al. 2015), with torchvision's names.

ResNet-20 and -32 have 16, 32 and 64 channels (section 4.2 of the paper); they and ResNet-18 have the usual stem
for 32 x 32 pixels: one 3x3 convolution and no pool. ResNet-101 has the stem for 224 x 224, and the stride of a bottleneck
in its 3x3 convolution. Shortcuts are projections if the shape changes (option B).
"""
from torch import nn


def conv(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class Basic(nn.Module):
    expansion = 1

    def __init__(self, inputs, width, stride, downsample):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, width, 3, stride), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, 3), nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x):
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y))
        return (y + self.downsample(x)).relu()


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, width, stride, downsample):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = conv(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.downsample = downsample

    def forward(self, x):
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        y = self.bn3(self.conv3(y))
        return (y + self.downsample(x)).relu()


def project(inputs, outputs, stride):
    return nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    def __init__(self, block, depths, width, classes, large_stem=False):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False) if large_stem else conv(3, width, 3)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1) if large_stem else nn.Identity()
        inputs, self.stages = width, len(depths)
        for stage, depth in enumerate(depths):
            blocks = []
            for number in range(depth):
                stride = 2 if stage > 0 and number == 0 else 1
                outputs = block.expansion * (width << stage)
                shortcut = nn.Identity()
                if stride != 1 or inputs != outputs:
                    shortcut = project(inputs, outputs, stride)
                blocks.append(block(inputs, width << stage, stride, shortcut))
                inputs = outputs
            self.add_module(f'layer{stage + 1}', nn.Sequential(*blocks))
        self.fc = nn.Linear(inputs, classes)
        for it in self.modules():
            if isinstance(it, nn.Conv2d):
                nn.init.kaiming_normal_(it.weight, mode='fan_out', nonlinearity='relu')

    def forward(self, x):
        x = self.maxpool(self.bn1(self.conv1(x)).relu())
        for stage in range(self.stages):
            x = getattr(self, f'layer{stage + 1}')(x)
        return self.fc(x.mean((2, 3)))


def resnet20(classes=10):
    return ResNet(Basic, [3] * 3, 16, classes)


def resnet32(classes=10):
    return ResNet(Basic, [5] * 3, 16, classes)


def resnet18(classes=10):
    return ResNet(Basic, [2] * 4, 64, classes)


def resnet101(classes=1000):
    return ResNet(Bottleneck, [3, 4, 23, 3], 64, classes, large_stem=True)
