"""`steelyard export --to model.onnx`: onnxruntime computes what `steelyard predict` does, for every model."""
import json
import unittest

import onnx
import onnxruntime
from export_case import ExportCase


class Onnx(ExportCase):
    def session(self):
        self.steelyard('export', 'run', '--to', 'model.onnx')
        file = str(self.folder / 'model.onnx')
        onnx.checker.check_model(file, full_check=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(file, options, providers=['CPUExecutionProvider'])

    def test_onnxruntime_computes_what_predict_prints(self):
        for name in self.models():
            with self.subTest(name):
                samples = self.train_model(name)
                scores, probabilities = self.session().run(['scores', 'probabilities'], {'input': samples})
                self.assert_equal_to_predict(probabilities)
                self.assertEqual(scores.shape, probabilities.shape)

    def test_targets_have_the_units_of_the_data(self):
        for loss in ('mse', 'mae', 'bce'):
            with self.subTest(loss):
                samples = self.train_targets(loss)
                name = 'probabilities' if loss == 'bce' else 'scores'
                session = self.session()
                self.assertEqual(len(session.get_outputs()), 2 if loss == 'bce' else 1)
                self.assert_equal_to_predicted_targets(session.run([name], {'input': samples})[0])

    def test_any_number_of_samples_and_the_metadata(self):
        samples = self.train('softmax', (1, 1, 7), 3, '')
        session = self.session()
        for count in (1, 3):
            self.assertEqual(session.run(['scores'], {'input': samples[:count]})[0].shape, (count, 3))
        about = session.get_modelmeta().custom_metadata_map
        self.assertEqual(len(json.loads(about['mean'])), 7)
        self.assertIn("model 'softmax'", about['model'])


if __name__ == '__main__':
    unittest.main()
