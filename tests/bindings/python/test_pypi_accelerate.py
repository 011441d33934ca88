"""steelyard.accelerate: a loop with Accelerator, compared with Accelerate alone."""
import unittest

from trainer_case import Given, TrainerCase, preload

preload('steelyard.accelerate')


class Accelerate(TrainerCase):
    def test_it_equals_accelerate_alone(self):
        self.check_cells('accelerate')
        self.assertEqual({(it['right'], it['rate']) for it in self.both('two')},
                         {(self.about('plain')['right'], self.about('plain')['rate'])})

    def test_a_killed_worker_is_replaced(self):
        self.check_killed('accelerate')

    def test_a_saved_state_is_loaded(self):
        self.alone('plain', Given('accelerate', plain=True))
        self.two('first', Given('accelerate', epochs=1))
        saved = self.folder / 'first/state-0'
        self.two('second', Given('accelerate', resume=str(saved)))
        self.assert_near('second', 'plain')


if __name__ == '__main__':
    unittest.main()
