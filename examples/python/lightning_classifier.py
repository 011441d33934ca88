"""The network of image_classifier.py under Lightning's Trainer.

    python3 lightning_classifier.py                  # one worker, and a child process with scheduler and servers
    steelyard run -n 3 lightning_classifier.py       # three workers on this machine

Only the strategy differs from a script for one process. The final test accuracy is about 88 %.
"""
import argparse

import lightning
import torch
from image_classifier import Classifier, data
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

import steelyard.lightning  # the strategy "steelyard"


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = Classifier()

    def training_step(self, batch, number):
        x, y = batch
        return cross_entropy(self.network(x), y)

    def validation_step(self, batch, number):
        x, y = batch
        scores = self.network(x)
        self.log('accuracy', (scores.argmax(1) == y).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)


if __name__ == '__main__':
    quick = argparse.ArgumentParser()
    quick.add_argument('--quick', action='store_true', help='only a few rounds, as a test')
    length = {'max_epochs': 1, 'limit_val_batches': 2} if quick.parse_args().quick else {'max_epochs': 5}
    train = data('train')
    if length['max_epochs'] == 1:
        train = torch.utils.data.Subset(train, range(8 * 512))
    torch.manual_seed(1)
    trainer = lightning.Trainer(strategy='steelyard', accelerator='cpu', logger=False, enable_checkpointing=False, **length)
    module = Module()
    trainer.fit(module, DataLoader(train, 512, shuffle=True), DataLoader(data('t10k'), 1000))
    if trainer.is_global_zero:
        print(f'accuracy {trainer.callback_metrics["accuracy"]:.3f}')
        torch.save(module.network.state_dict(), 'classifier.pt')
