"""Runs in MLflow and in Weights & Biases, with their own clients and without a network."""
import glob
import os
import pathlib
import subprocess
import sys
import time
import unittest
from unittest import mock

import mlflow.entities
import mlflow.tracking
import wandb
from steelyard import track
from steelyard._track_record import Record
from track_case import PROGRAM, TrackCase, line
from wandb.proto import wandb_internal_pb2

SCRIPT = '''
import numpy
import steelyard.arrays
import steelyard.track

drawn = numpy.random.default_rng(1)
x = drawn.normal(size=(512, 8)).astype('float32')
y = x @ drawn.normal(size=8).astype('float32')
job = steelyard.arrays.join(numpy.zeros(8, 'float32'), (x, y), batch=64, micro_batch=16, epochs=3,
                            optimizer={'name': 'sgd', 'lr': 0.1})
steelyard.track.TRACKER(job)
for w, (x, y, weights) in job:
    off = x @ w - y
    job.push((weights * off ** 2).mean(), 2 * x.T @ (weights * off) / len(y))
'''


class ClientCase(TrackCase):
    """A test has its own places for both trackers."""

    def setUp(self):
        super().setUp()
        self.uri = (self.folder / 'mlruns').as_uri()
        variables = {'MLFLOW_ALLOW_FILE_STORE': 'true', 'MLFLOW_TRACKING_URI': self.uri, 'GIT_PYTHON_REFRESH': 'quiet',
                     'WANDB_MODE': 'offline', 'WANDB_DIR': str(self.folder), 'WANDB_SILENT': 'true',
                     'OMP_NUM_THREADS': '1', 'STEELYARD_PYTHON': sys.executable}
        patched = mock.patch.dict(os.environ, variables)
        patched.start()
        self.addCleanup(patched.stop)

    def expected(self):
        """Step and value by the name of a number, in order."""
        found = {}
        for row in Record(self.run_directory).new():
            for name, value in row.values.items():
                found.setdefault(name, []).append((row.step, value))
        return found

    def scripted(self, kind):
        """A script as two workers, both of which call the tracker; returns when the process that follows the job has
        ended."""
        script = self.folder / 'script.py'
        script.write_text(SCRIPT.replace('TRACKER', kind))
        done = subprocess.run([PROGRAM, 'run', '-n', '2', '--run-dir', self.run_directory, '--quiet', script],
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        log, end = self.run_directory / f'log/track-{kind}.log', time.monotonic() + 120
        while f'{kind} run: ' not in log.read_text() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertIn(f'{kind} run: ', log.read_text())
        self.assertEqual(len(self.recorded()), 24)
        return log.read_text().split(f'{kind} run: ')[-1].strip()


class Mlflow(ClientCase):
    def client(self, uri=None):
        return mlflow.tracking.MlflowClient(uri or self.uri)

    def assert_logged(self, run_id, uri=None):
        """Every number of the record is in MLflow, once."""
        client = self.client(uri)
        for name, values in self.expected().items():
            logged = [(it.step, it.value) for it in client.get_metric_history(run_id, name)]
            self.assertEqual(sorted(logged), sorted(values), name)

    def test_a_run(self):
        made = track.mlflow(self.trained(), experiment='unequal')
        self.assert_logged(made)
        run = self.client().get_run(made)
        self.assertEqual((run.info.run_name, run.info.status), ('run', 'FINISHED'))
        self.assertEqual(self.client().get_experiment(run.info.experiment_id).name, 'unequal')
        self.assertEqual((run.data.params['train.lr'], run.data.params['worker.slow.simulate_slowdown']), ('0.1', '2'))
        self.assertEqual((run.data.tags['steelyard.outcome'], run.data.metrics['result/rounds']), ('finished', 16))
        self.assertGreater(run.data.metrics['result/percent_of_ideal'], 0)
        self.assertEqual({it.path for it in self.client().list_artifacts(made)},
                         {'report.html', 'job.toml', 'events.jsonl', 'result.json'})

    def test_a_resumed_run_goes_on_in_the_same_one(self):
        made = track.mlflow(self.trained())
        self.trained('--resume', '--set', 'train.epochs=4', '--set', 'train.lr=0.05')
        self.assertEqual(track.mlflow(self.run_directory), made)
        self.assertEqual(track.mlflow(self.run_directory), made)
        self.assert_logged(made)
        run = self.client().get_run(made)
        self.assertEqual(run.info.status, 'FINISHED')
        self.assertEqual([it.step for it in self.client().get_metric_history(made, 'result/rounds')], [16, 32])
        self.assertEqual((run.data.params['train.lr'], run.data.tags['resumed.train.lr']), ('0.1', '0.05'))

    def test_a_run_that_failed(self):
        made = track.mlflow(self.trained('--set', 'train.lr=1e38', code=1))
        run = self.client().get_run(made)
        self.assertEqual((run.info.status, run.data.tags['steelyard.outcome']), ('FAILED', 'non-finite'))
        self.assertTrue(run.data.tags['steelyard.text'])

    def test_a_database_has_nothing_twice_even_if_a_tracker_forgets(self):
        uri = f'sqlite:///{self.folder}/mlflow.db'
        place = (self.folder / 'artifacts').as_uri()  # by default ./mlruns
        self.client(uri).create_experiment('kept', artifact_location=place)
        made = track.mlflow(self.trained(), uri=uri, experiment='kept')
        (self.run_directory / 'track-mlflow.json').unlink()
        self.assertEqual(track.mlflow(self.run_directory, uri=uri, run_id=made), made)
        self.assert_logged(made, uri)

    def test_a_server_that_cannot_be_reached_is_named_and_the_command_can_be_called_again(self):
        run = self.made(line(0))
        done = subprocess.run([sys.executable, '-m', 'steelyard.track', 'mlflow', run, '--uri', 'http://127.0.0.1:9'],
                              env={**os.environ, 'MLFLOW_HTTP_REQUEST_MAX_RETRIES': '0'}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertRegex(done.stderr, r'steelyard: mlflow: \w+: [^\n]*127.0.0.1[\s\S]*call the command again')
        self.assert_logged(track.mlflow(run))

    def test_into_a_run_of_the_user(self):
        client = self.client()
        own = client.create_run(client.create_experiment('own'))
        client.log_param(own.info.run_id, 'idea', 'mine')
        self.assertEqual(track.mlflow(self.trained(), run_id=own.info.run_id), own.info.run_id)
        self.assert_logged(own.info.run_id)
        self.assertEqual(client.get_run(own.info.run_id).data.params['idea'], 'mine')

    def test_names_of_workers_that_mlflow_does_not_allow(self):
        odd = line(0, workers=['a#1', 'b'])
        made = track.mlflow(self.made(odd))
        self.assertEqual(self.client().get_run(made).data.metrics['share/a_1'], 60)
        self.assertEqual(self.client().get_run(made).info.status, 'KILLED')

    def test_a_script(self):
        made = self.scripted('mlflow')
        self.assert_logged(made)
        self.assertEqual(self.client().get_run(made).info.status, 'FINISHED')
        self.assertEqual(len(self.client().search_runs([self.client().get_run(made).info.experiment_id])), 1)


class WeightsAndBiases(ClientCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(wandb.teardown)  # it reads its variables once

    def records(self):
        """What the offline client has written, of all processes in order."""
        files = sorted(glob.glob(f'{self.folder}/wandb/offline-run-*/*.wandb'), key=os.path.getmtime)
        return [record for it in files for record in offline_records(pathlib.Path(it).read_bytes())]

    def assert_logged(self, records):
        found, steps = {}, []
        for record in records:
            if record.WhichOneof('record_type') != 'history':
                continue
            values = {it.key or '/'.join(it.nested_key): float(it.value_json) for it in record.history.item}
            steps.append(record.history.step.num)
            for name, value in values.items():
                found.setdefault(name, []).append((values['round'], value))
        for name, values in self.expected().items():
            self.assertEqual(found[name], values, name)
        self.assertEqual(steps, list(range(len(steps))))

    def test_a_run(self):
        made = track.wandb(self.trained(), project='unequal')
        records = self.records()
        self.assert_logged(records)
        runs = [it.run for it in records if it.WhichOneof('record_type') == 'run']
        self.assertEqual((runs[0].run_id, runs[0].project, runs[0].display_name), (made, 'unequal', 'run'))
        configured = {it.key or it.nested_key[0]: it.value_json for record in records
                      for it in [*record.config.update, *record.run.config.update]}
        self.assertEqual((configured['train.lr'], configured['model.name']), ('0.1', '"softmax"'))
        summary = {it.key or '/'.join(it.nested_key): it.value_json for record in records
                   for it in record.summary.update}
        self.assertEqual((summary['outcome'], float(summary['result/rounds'])), ('"finished"', 16))
        self.assertEqual([it.exit.exit_code for it in records if it.WhichOneof('record_type') == 'exit'], [0])
        self.assertEqual({it.path for record in records for it in record.files.files} &
                         {'report.html', 'job.toml', 'events.jsonl', 'result.json'},
                         {'report.html', 'job.toml', 'events.jsonl', 'result.json'})

    def test_a_resumed_run_goes_on_in_the_same_one(self):
        made = track.wandb(self.trained())
        self.trained('--resume', '--set', 'train.epochs=4')
        self.assertEqual(track.wandb(self.run_directory), made)
        self.assertEqual(track.wandb(self.run_directory), made)
        records = self.records()
        self.assert_logged(records)
        self.assertEqual({it.run.run_id for it in records if it.WhichOneof('record_type') == 'run'}, {made})

    def test_a_run_that_failed(self):
        track.wandb(self.trained('--set', 'train.lr=1e38', code=1))
        codes = [it.exit.exit_code for it in self.records() if it.WhichOneof('record_type') == 'exit']
        self.assertEqual(codes, [1])

    def test_a_script(self):
        self.scripted('wandb')
        self.assert_logged(self.records())


def offline_records(data):
    """The records of a file of wandb: after 7 bytes, blocks of 32 kB with parts of checksum, length and kind (1 whole,
    2 first, 3 middle, 4 last)."""
    at, block, whole = 7, 1 << 15, b''
    while at + 7 <= len(data):
        left = block - at % block
        if left < 7:
            at += left
            continue
        size, kind = int.from_bytes(data[at + 4:at + 6], 'little'), data[at + 6]
        whole += data[at + 7:at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b''
            yield record


if __name__ == '__main__':
    unittest.main()
