"""Models of linear layers: softmax regression, the linear SVM, and a perceptron with two hidden layers."""
from torch import nn


class Softmax(nn.Module):
    """One linear layer under cross-entropy; `svm` is the same layer under the multi-class hinge loss."""

    def __init__(self, features=784, classes=10):
        super().__init__()
        self.fc = nn.Linear(features, classes)

    def forward(self, x):
        return self.fc(x.flatten(1))


class Mlp(nn.Module):
    def __init__(self, features=784, classes=10):
        super().__init__()
        self.fc1 = nn.Linear(features, 512)
        self.fc2 = nn.Linear(512, 256)
        self.fc3 = nn.Linear(256, classes)

    def forward(self, x):
        x = self.fc1(x.flatten(1)).relu()
        return self.fc3(self.fc2(x).relu())
