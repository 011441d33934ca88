"""steelyard.transformers: GPT-2 and BERT, compared with the Trainer of transformers alone."""
import json
import unittest

from trainer_case import Given, TrainerCase, preload

preload('transformers', 'steelyard.transformers')


class Transformers(TrainerCase):
    def test_gpt2_equals_the_trainer_alone(self):
        self.check_cells('gpt2')

    def test_bert_with_unequal_numbers_of_labels(self):
        self.check_cells('bert')

    def test_accumulation_with_unequal_numbers_of_labels(self):
        self.check_cells('accumulated')

    def test_bfloat16(self):
        """Products of bfloat16 round differently if a batch is divided."""
        self.check_cells('bf16', within=2e-3)

    def test_a_killed_worker_is_replaced(self):
        self.check_killed('gpt2')
        self.assertEqual({it['step'] for it in self.both('killed')}, {27})
        self.assertEqual({it['epoch'] for it in self.both('killed')}, {3.0})

    def test_one_worker_writes_checkpoints_and_a_run_goes_on_from_them(self):
        self.alone('plain', Given('accumulated', plain=True))
        self.two('two', Given('accumulated'))
        middle = self.folder / 'two/out/checkpoint-3'
        self.assertEqual(json.loads((middle / 'trainer_state.json').read_text())['global_step'], 3)
        self.two('second', Given('accumulated', resume=str(middle)))
        self.assert_near('second', 'plain')
        self.assertEqual({it['steps'] for it in self.both('second')}, {6})

    def test_early_stopping_and_the_best_model(self):
        self.alone('plain', Given('patience', plain=True, epochs=20))
        self.two('two', Given('patience', epochs=20))
        self.assertLess(self.about('plain')['epoch'], 20)
        self.assertEqual({it['step'] for it in self.both('two')}, {self.about('plain')['step']})
        self.assert_one('two')


if __name__ == '__main__':
    unittest.main()
