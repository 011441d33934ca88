"""steelyard.lightning: the Trainer of Lightning with strategy='steelyard', compared with the Trainer alone."""
import csv
import unittest

from trainer_case import Given, TrainerCase, preload

import steelyard.lightning

preload('lightning.pytorch', 'steelyard.lightning')


class Lightning(TrainerCase):
    def test_it_equals_the_trainer_alone(self):
        self.check_cells('lightning')
        plain = self.about('plain')
        for about in self.both('two'):
            self.assertEqual([about[it] for it in ('epoch', 'step', 'rate', 'steps')],
                             [plain[it] for it in ('epoch', 'step', 'rate', 'steps')])

    def test_two_optimizers_in_one_step(self):
        self.check_cells('gan')

    def test_clipping_and_accumulation(self):
        self.check_cells('clip')

    def test_a_killed_worker_is_replaced(self):
        self.check_killed('lightning')
        plain_rate = 0.01 * 0.7**3
        for about in self.both('killed'):
            self.assertEqual(about['epoch'], 3)
            self.assertAlmostEqual(about['rate'], plain_rate)

    def test_a_worker_is_replaced_between_the_steps_of_a_gan_and_while_gradients_accumulate(self):
        for kind in ('gan', 'clip'):
            self.check_killed(kind, f'killed-{kind}')

    def test_one_worker_writes_logs_and_checkpoints_and_a_run_goes_on_from_them(self):
        self.alone('plain', Given('lightning', plain=True))
        self.two('first', Given('lightning', epochs=1))
        rows = list(csv.DictReader((self.folder / 'first/csv/one/metrics.csv').open()))
        self.assertEqual(len([it for it in rows if it['val_loss']]), 1)
        self.assertTrue((self.folder / 'first/csv/one/hparams.yaml').exists())
        last = self.folder / 'first/checkpoints/last.ckpt'
        self.two('second', Given('lightning', resume=str(last)))
        self.assert_near('second', 'plain')
        self.assertEqual(self.both('second')[0]['step'], self.about('plain')['step'])

    def test_early_stopping_ends_the_job_of_all_workers(self):
        self.alone('plain', Given('stop', plain=True, epochs=30))
        self.two('two', Given('stop', epochs=30))
        self.assert_near('two', 'plain')
        self.assertLess(self.about('plain')['epoch'], 30)
        self.assertEqual({it['epoch'] for it in self.both('two')}, {self.about('plain')['epoch']})


class Refused(unittest.TestCase):
    def test_training_data_without_a_data_loader(self):
        with self.assertRaisesRegex(steelyard.Failure, 'give the trainer one DataLoader'):
            steelyard._torch_trainer.Batches([1, 2, 3])


if __name__ == '__main__':
    unittest.main()
