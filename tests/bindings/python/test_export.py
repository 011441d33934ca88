"""`steelyard export --to model.pt --to model.py`: PyTorch computes what `steelyard predict` does, for every model."""
import runpy
import unittest

import torch  # script/setup installs it
from export_case import SAMPLES, ExportCase

torch.set_num_threads(1)


class StateDict(ExportCase):
    def exported(self):
        self.steelyard('export', 'run', '--to', 'model.pt', '--to', 'model.py')
        state = torch.load(self.folder / 'model.pt', weights_only=True)
        source = runpy.run_path(str(self.folder / 'model.py'))
        model = source['Model']()
        model.load_state_dict(state)
        return model.eval(), state, source

    def test_pytorch_computes_what_predict_prints(self):
        for name in self.models():
            with self.subTest(name):
                samples = self.train_model(name)
                with torch.no_grad():
                    scores = self.exported()[0](torch.from_numpy(samples))
                self.assert_equal_to_predict(scores.softmax(-1))

    def test_targets_have_the_units_of_the_data(self):
        for loss in ('mse', 'mae', 'bce'):
            with self.subTest(loss):
                samples = torch.from_numpy(self.train_targets(loss))
                with torch.no_grad():
                    outputs = self.exported()[0](samples)
                self.assert_equal_to_predicted_targets(outputs.sigmoid() if loss == 'bce' else outputs)

    def test_the_module_can_be_trained_on_and_saved(self):
        samples = torch.from_numpy(self.train('resnet20', (8, 8, 3), 10, 'grain = 2\n'))
        model, before, _ = self.exported()
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        torch.nn.functional.cross_entropy(model(samples), torch.arange(SAMPLES)).backward()
        optimizer.step()
        after = model.state_dict()
        for name, tensor in before.items():
            self.assertFalse(torch.equal(after[name], tensor), name)

    def test_layers_may_have_the_names_of_attributes(self):
        layers = ''.join(f'[[model.layer]]\nkind = "linear"\nname = "{name}"\n{more}'
                         for name, more in (('half', 'outputs = 4\n'), ('deviation.at', 'outputs = 4\n'), ('type', '')))
        samples = torch.from_numpy(self.train('layers', (1, 1, 7), 3, '', layers))
        with torch.no_grad():
            self.assert_equal_to_predict(self.exported()[0](samples).softmax(-1))

    def test_class_names_are_in_the_module(self):
        for part, rows in (('train', 40), ('test', 10)):
            text = ''.join(f'{i % 2 * 5 + i * 0.01},{i % 3},{("a cat", "dog")[i % 2]}\n' for i in range(rows))
            (self.folder / f'{part}.csv').write_text('height,"the, weight",kind\n' + text)
        (self.folder / 'job.toml').write_text(
            '[model]\nname = "mlp"\nhidden = [4]\n[data]\nname = "csv"\ntrain = "train.csv"\ntest = "test.csv"\n'
            'label = "kind"\n[train]\nbatch = 10\nepochs = 2\n[[worker]]\n')
        self.steelyard('train', 'job.toml', '--run-dir', 'run', '--quiet')
        self.assertEqual(self.exported()[2]['CLASSES'], ['a cat', 'dog'])


if __name__ == '__main__':
    unittest.main()
