"""Small convolutional networks without normalisation."""
from torch import nn
from torch.nn import functional as F


class LeNet5(nn.Module):
    """LeCun et al. 1998, with ReLU and max pools; 28 x 28 x 1."""

    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x).relu(), 2)
        x = F.max_pool2d(self.conv2(x).relu(), 2)
        x = self.fc1(x.flatten(1)).relu()
        return self.fc3(self.fc2(x).relu())


class CifarNet(nn.Module):
    """The CifarNet of TensorFlow's slim models without its local response normalisation; 32 x 32 x 3."""

    def __init__(self, classes=10, dropout=0.0):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 5, padding=2)
        self.conv2 = nn.Conv2d(64, 64, 5, padding=2)
        self.fc3 = nn.Linear(64 * 8 * 8, 384)
        self.fc4 = nn.Linear(384, 192)
        self.logits = nn.Linear(192, classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x).relu(), 2)
        x = F.max_pool2d(self.conv2(x).relu(), 2)
        x = self.dropout(self.fc3(x.flatten(1)).relu())
        return self.logits(self.fc4(x).relu())
