"""Scripts as they are lived: two jobs in one script, one worker that logs, a score that gives only a loss, silence."""
import json
import sys
import textwrap

from cluster_case import PROGRAM, ClusterCase

SCRIPT = '''
    import json, pathlib, torch
    import steelyard, steelyard.torch

    torch.manual_seed(1)
    x = torch.randn(120, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    model = torch.nn.Linear(4, 1)

    def score(model, x, y):
        return torch.nn.functional.mse_loss(model(x), y)

    def train(number, **options):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1 / number)
        job = steelyard.torch.join(model, optimizer, data, batch=20, epochs=2, test=data, score=score, **options)
        logs = job.logs
        for x, y in job:
            job.backward(torch.nn.functional.mse_loss(model(x), y))
        assert logs == job.logs
        about = {'logs': logs, 'main': job.main, 'history': job.history, 'rounds': job.rounds_done,
                 'worker': job.worker, 'loss': float(score(model, *data.tensors))}
        pathlib.Path(f'{job.worker}-{number}.json').write_text(json.dumps(about))
'''


class Jobs(ClusterCase):
    def script(self, end):
        path = self.folder / 'train.py'
        path.write_text(textwrap.dedent(SCRIPT) + textwrap.dedent(end))
        return path

    def about(self, worker, number):
        return json.loads((self.folder / f'{worker}-{number}.json').read_text())

    def result_of(self, directory):
        return json.loads((self.folder / directory / 'result.json').read_text())

    def test_two_jobs_in_one_script(self):
        text = self.expect_end(self.start(PROGRAM, 'run', '-n', 2, '--run-dir', 'run', self.script('''
            train(1)
            train(2)
        ''')))
        for number, directory in ((1, 'run'), (2, 'run-2')):
            result, both = self.result_of(directory), [self.about(f'worker-{it}', number) for it in (0, 1)]
            self.assertEqual(result['outcome'], 'finished', text)
            self.assertEqual(sorted(it['logs'] for it in both), [False, True])
            self.assertEqual(sum(it['main'] for it in both), 1)
            for it in both:
                self.assertEqual(it['rounds'], 12)
                self.assertEqual([line['purpose'] for line in it['history']].count('train'), 12)
                self.assertAlmostEqual(it['history'][-1]['loss'], it['loss'], 5)
        self.assertLess(self.result_of('run-2')['test_loss'], self.result_of('run')['test_loss'])

    def test_a_score_that_gives_only_the_loss(self):
        text = self.expect_end(self.start(sys.executable, self.script('train(1, run_dir="run")')))
        self.assertNotIn('accuracy', text)
        result, about = self.result_of('run'), self.about('worker-0', 1)
        self.assertIsNone(result['accuracy'])
        self.assertAlmostEqual(result['test_loss'], about['loss'], 5)
        self.assertIn(f'test loss           {about["loss"]:.4f}   (best {about["loss"]:.4f}, round', text)
        self.assertEqual({it['accuracy'] for it in about['history']}, {None})
        self.assertEqual(about['history'][-1]['purpose'], 'evaluate')

    def test_not_verbose(self):
        text = self.expect_end(self.start(sys.executable, self.script('''
            train(1, verbose=False)
            print('done')
        ''')))
        self.assertEqual(text, 'done\n')

    def test_the_exception_has_the_words_of_the_cluster(self):
        text = self.expect_end(self.start(sys.executable, self.script('''
            try:
                train(1, policy='fastest')
            except steelyard.Failure as failure:
                pathlib.Path('failure').write_text(str(failure))
        ''')))
        self.assertIn('fastest', text)
        self.assertIn('fastest', (self.folder / 'failure').read_text())

    def test_a_second_job_that_a_worker_never_joins_is_ended(self):
        code, text = self.ended(self.start(PROGRAM, 'run', '-n', 2, '--run-dir', 'run', self.script('''
            import os, time
            train(1)
            if os.environ['STEELYARD_NAME'] == 'worker-0':
                train(2)
            while not os.path.isdir(os.path.dirname(os.environ['STEELYARD'][6:]) + '/2'):
                time.sleep(0.01)
        ''')))
        self.assertNotEqual(code, 0, text)
        self.assertEqual(self.result_of('run')['outcome'], 'finished')


if __name__ == '__main__':
    import unittest
    unittest.main()
