"""Inception v3 (Szegedy et al. 2015), with torchvision's names, for 299 x 299 pixels.

By default without the auxiliary classifier (23,834,568 parameters). With `auxiliary=True` (27,161,264) it returns both
scores in training. Without the dropout of 0.5 before the last layer.
"""
import torch
from torch import nn
from torch.nn import functional as F


class Conv(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride=1, padding=0, deviation=0.1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=0.001)
        nn.init.trunc_normal_(self.conv.weight, std=deviation, a=-2, b=2)

    def forward(self, x):
        return self.bn(self.conv(x)).relu()


def row(inputs, outputs, size):
    return Conv(inputs, outputs, (1, size), padding=(0, size // 2))


def column(inputs, outputs, size):
    return Conv(inputs, outputs, (size, 1), padding=(size // 2, 0))


def pooled(x):
    """The padding counts as zeros in the average."""
    return F.avg_pool2d(x, 3, 1, 1)


class MixedA(nn.Module):
    def __init__(self, inputs, pool):
        super().__init__()
        self.branch1x1 = Conv(inputs, 64, 1)
        self.branch5x5_1 = Conv(inputs, 48, 1)
        self.branch5x5_2 = Conv(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = Conv(inputs, 64, 1)
        self.branch3x3dbl_2 = Conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = Conv(96, 96, 3, padding=1)
        self.branch_pool = Conv(inputs, pool, 1)

    def forward(self, x):
        five = self.branch5x5_2(self.branch5x5_1(x))
        three = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch1x1(x), five, three, self.branch_pool(pooled(x))], 1)


class MixedB(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.branch3x3 = Conv(inputs, 384, 3, 2)
        self.branch3x3dbl_1 = Conv(inputs, 64, 1)
        self.branch3x3dbl_2 = Conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = Conv(96, 96, 3, 2)

    def forward(self, x):
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch3x3(x), double, F.max_pool2d(x, 3, 2)], 1)


class MixedC(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.branch1x1 = Conv(inputs, 192, 1)
        self.branch7x7_1 = Conv(inputs, width, 1)
        self.branch7x7_2 = row(width, width, 7)
        self.branch7x7_3 = column(width, 192, 7)
        self.branch7x7dbl_1 = Conv(inputs, width, 1)
        self.branch7x7dbl_2 = column(width, width, 7)
        self.branch7x7dbl_3 = row(width, width, 7)
        self.branch7x7dbl_4 = column(width, width, 7)
        self.branch7x7dbl_5 = row(width, 192, 7)
        self.branch_pool = Conv(inputs, 192, 1)

    def forward(self, x):
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        return torch.cat([self.branch1x1(x), seven, double, self.branch_pool(pooled(x))], 1)


class MixedD(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.branch3x3_1 = Conv(inputs, 192, 1)
        self.branch3x3_2 = Conv(192, 320, 3, 2)
        self.branch7x7x3_1 = Conv(inputs, 192, 1)
        self.branch7x7x3_2 = row(192, 192, 7)
        self.branch7x7x3_3 = column(192, 192, 7)
        self.branch7x7x3_4 = Conv(192, 192, 3, 2)

    def forward(self, x):
        seven = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        three = self.branch3x3_2(self.branch3x3_1(x))
        return torch.cat([three, self.branch7x7x3_4(seven), F.max_pool2d(x, 3, 2)], 1)


class MixedE(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.branch1x1 = Conv(inputs, 320, 1)
        self.branch3x3_1 = Conv(inputs, 384, 1)
        self.branch3x3_2a = row(384, 384, 3)
        self.branch3x3_2b = column(384, 384, 3)
        self.branch3x3dbl_1 = Conv(inputs, 448, 1)
        self.branch3x3dbl_2 = Conv(448, 384, 3, padding=1)
        self.branch3x3dbl_3a = row(384, 384, 3)
        self.branch3x3dbl_3b = column(384, 384, 3)
        self.branch_pool = Conv(inputs, 192, 1)

    def forward(self, x):
        three = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return torch.cat([self.branch1x1(x), self.branch3x3_2a(three), self.branch3x3_2b(three),
                          self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double),
                          self.branch_pool(pooled(x))], 1)


class Auxiliary(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.conv0 = Conv(inputs, 128, 1)
        self.conv1 = Conv(128, 768, 5, deviation=0.01)
        self.fc = nn.Linear(768, classes)
        nn.init.trunc_normal_(self.fc.weight, std=0.001, a=-2, b=2)

    def forward(self, x):
        return self.fc(self.conv1(self.conv0(F.avg_pool2d(x, 5, 3))).mean((2, 3)))


class InceptionV3(nn.Module):
    def __init__(self, classes=1000, auxiliary=False):
        super().__init__()
        self.Conv2d_1a_3x3 = Conv(3, 32, 3, 2)
        self.Conv2d_2a_3x3 = Conv(32, 32, 3)
        self.Conv2d_2b_3x3 = Conv(32, 64, 3, padding=1)
        self.Conv2d_3b_1x1 = Conv(64, 80, 1)
        self.Conv2d_4a_3x3 = Conv(80, 192, 3)
        self.Mixed_5b = MixedA(192, 32)
        self.Mixed_5c = MixedA(256, 64)
        self.Mixed_5d = MixedA(288, 64)
        self.Mixed_6a = MixedB(288)
        self.Mixed_6b = MixedC(768, 128)
        self.Mixed_6c = MixedC(768, 160)
        self.Mixed_6d = MixedC(768, 160)
        self.Mixed_6e = MixedC(768, 192)
        self.AuxLogits = Auxiliary(768, classes) if auxiliary else None
        self.Mixed_7a = MixedD(768)
        self.Mixed_7b = MixedE(1280)
        self.Mixed_7c = MixedE(2048)
        self.fc = nn.Linear(2048, classes)
        nn.init.trunc_normal_(self.fc.weight, std=0.1, a=-2, b=2)

    def forward(self, x):
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(F.max_pool2d(x, 3, 2)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(F.max_pool2d(x, 3, 2))))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        auxiliary = self.AuxLogits(x) if self.AuxLogits is not None and self.training else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        scores = self.fc(x.mean((2, 3)))
        return scores if auxiliary is None else (scores, auxiliary)
