"""The models of the benchmark, by their names in job files.

Parameters have the names and shapes of torchvision or of the usual reference code, so safetensors files can be exchanged
with Steelyard in both directions.
"""
from dataclasses import dataclass
from typing import Callable

import torch
from torch.nn import functional as F

from . import (albert, densenet, efficientnet, gpt, inception, lenet, perceptron, resnet, shufflenet, transformer, vit)


def crammer_singer(scores, labels):
    """The multi-class hinge loss of Crammer and Singer 2001: only the highest other score counts."""
    own = scores.gather(1, labels[:, None])
    rival = scores.scatter(1, labels[:, None], -torch.inf).amax(1, keepdim=True)
    return (1 + rival - own).clamp(min=0).mean()


@dataclass
class Peer:
    make: Callable[[], torch.nn.Module]
    sample: tuple  # the shape of one sample: channel, row, column of an image, or the length of a sequence
    classes: int  # number of classes; for next-token models, of tokens
    parameters: int
    batch: int  # batch size in the benchmark
    tokens: int = 0  # size of the vocabulary; 0: samples are images
    loss: Callable = F.cross_entropy

    def grain_matters(self):
        """Whether a sample's gradient depends on the other samples of its batch."""
        return any(isinstance(it, torch.nn.BatchNorm2d) for it in self.make().modules())

    def mean_loss(self, scores, labels):
        """Returns the mean loss over samples, or over all positions if every position has a label."""
        return self.loss(scores.flatten(0, -2), labels.flatten())


FASHION, CIFAR, IMAGENET = (1, 28, 28), (3, 32, 32), (3, 224, 224)

PEERS = {
    'softmax': Peer(perceptron.Softmax, FASHION, 10, 7_850, 256),
    'svm': Peer(perceptron.Softmax, FASHION, 10, 7_850, 256, loss=crammer_singer),
    'mlp': Peer(perceptron.Mlp, FASHION, 10, 535_818, 128),
    'lenet5': Peer(lenet.LeNet5, FASHION, 10, 61_706, 128),
    'cifarnet': Peer(lenet.CifarNet, CIFAR, 10, 1_756_426, 64),
    'resnet20': Peer(resnet.resnet20, CIFAR, 10, 272_474, 128),
    'resnet32': Peer(resnet.resnet32, CIFAR, 10, 466_906, 128),
    'resnet18': Peer(resnet.resnet18, CIFAR, 10, 11_173_962, 32),
    'resnet101': Peer(resnet.resnet101, IMAGENET, 1000, 44_549_160, 4),
    'densenet121': Peer(densenet.DenseNet121, IMAGENET, 1000, 7_978_856, 4),
    'shufflenet_v2': Peer(shufflenet.ShuffleNetV2, IMAGENET, 1000, 2_278_604, 8),
    'efficientnet_b0': Peer(efficientnet.efficientnet_b0, IMAGENET, 1000, 5_288_548, 4),
    'efficientnet_b1': Peer(efficientnet.efficientnet_b1, IMAGENET, 1000, 7_794_184, 4),
    'inception_v3': Peer(inception.InceptionV3, (3, 299, 299), 1000, 23_834_568, 4),
    'vit': Peer(vit.vit, CIFAR, 10, 9_532_938, 32),
    'vit_b16': Peer(vit.vit_b16, IMAGENET, 1000, 86_567_656, 2),
    'transformer': Peer(transformer.Transformer, (64,), 10, 3_433_994, 16, tokens=1000),
    'albert': Peer(albert.Albert, (128,), 2, 11_685_122, 4, tokens=30000),
    'gpt': Peer(gpt.Gpt, (256,), 256, 10_942_464, 4, tokens=256),
    'gpt2': Peer(gpt.gpt2, (256,), 50257, 124_439_808, 4, tokens=50257),
}
