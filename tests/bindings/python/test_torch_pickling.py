"""Loader processes that cannot start: the error names the object, the reason and the remedies."""
import functools
import pathlib
import subprocess
import sys
import tempfile
import textwrap

from torch_case import TorchCase
from test_torch_data import WithReader, pairs
from steelyard import Failure
from steelyard._torch_data import Reader, Source
from steelyard._torch_pickling import unpicklable

MODULES = pathlib.Path(__file__).resolve().parents[3] / 'bindings/python'


def touch(folder, number):
    pathlib.Path(folder, str(number)).touch()


def fail(number):
    raise RuntimeError('no such disk')


class Starting(TorchCase):
    def started(self, train=None, collate=pairs, workers=1, **options):
        reader = Reader(Source(train or WithReader(100), None), collate, workers, options=options)
        self.addCleanup(reader.close)
        reader.start()
        return reader

    def refuse(self, text, **options):
        with self.assertRaisesRegex(Failure, text) as caught:
            self.started(**options)
        remedies = 'at the top level of a file', "multiprocessing_context='fork'", 'workers=0'
        for remedy in ('started by forkserver', *remedies):
            self.assertIn(remedy, str(caught.exception))

    def test_all_processes_run_when_start_returns(self):
        with tempfile.TemporaryDirectory() as folder:
            reader = self.started(workers=2, worker_init_fn=functools.partial(touch, folder),
                                  multiprocessing_context='fork')
            self.assertEqual(sorted(it.name for it in pathlib.Path(folder).iterdir()), ['0', '1'])
            self.assertEqual([number for number, _ in reader.get((3, 5))], [3, 5])

    def test_functions_and_classes_inside_of_functions(self):
        class Local(WithReader):
            pass
        self.refuse('collate \\(.*<lambda>\\) cannot be pickled', collate=lambda batch: batch)
        self.refuse('train \\(.*Local\\) cannot be pickled', train=Local(9))
        self.refuse('worker_init_fn \\(.*<lambda>\\)', worker_init_fn=lambda number: None)
        self.assertIsNone(unpicklable({'train': WithReader(9)}, 'spawn'))

    def test_fork_takes_them(self):
        reader = self.started(collate=lambda batch: len(batch), multiprocessing_context='fork')
        self.assertEqual(reader.get((1, 2, 3)), 3)

    def test_an_error_in_worker_init_fn(self):
        with self.assertRaisesRegex(Failure, 'no such disk'):
            self.started(worker_init_fn=fail, multiprocessing_context='fork')


SCRIPT = '''
    import torch
    import steelyard.torch

    class Cells(torch.utils.data.Dataset):
        def __len__(self):
            return 9
        def __getitem__(self, number):
            return torch.ones(10), 0

    model = torch.nn.Linear(10, 3)
    steelyard.torch.join(model, torch.optim.SGD(model.parameters(), lr=0.1), Cells(), batch=3, workers=1)
'''


class Scripts(TorchCase):
    def errors(self, *arguments, text=''):
        own = {'PYTHONPATH': str(MODULES), 'PATH': '/usr/bin:/bin'}
        return subprocess.run([sys.executable, *arguments], input=text, capture_output=True, text=True,
                              timeout=300, env=own).stderr

    def test_a_class_of_a_notebook_or_of_standard_input(self):
        found = self.errors('-', text=textwrap.dedent(SCRIPT))
        text = 'Failure: train \\(Cells\\) is defined in a notebook .* forkserver: .*workers=0'
        self.assertRegex(found, text)

    def test_a_script_without_guard(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'train.py')
            path.write_text(textwrap.dedent(SCRIPT))
            found = self.errors(str(path))
        self.assertRegex(found, 'Failure: the loader processes could not be started .*forkserver .*__main__')
