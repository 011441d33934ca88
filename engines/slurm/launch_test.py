"""`steelyard launch` in real allocations of Slurm: slurmctld and three slurmd on this machine (daemons.py). Exits with
77, "skipped", if Slurm is not installed. Prints what it measures: seconds of a preemption, percent of ideal.

STEELYARD_PROGRAM is the program.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time
import unittest
import uuid

from daemons import Daemons, free_ports, missing, until

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = os.path.realpath(os.environ.get('STEELYARD_PROGRAM', 'steelyard'))
MARK = 'STEELYARD_TEST_RUN'
ENDLESS = ('--set', 'train.epochs=1000000')
# Passes its input to srun, and keeps a copy of it.
SRUN = '#!/bin/sh\ntee "$COPIES/$$" | {srun} "$@"\n'


def living(mark):
    """(process, its command line) of all processes of Steelyard with this mark in their environment."""
    found = []
    for place in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            marked = f'{MARK}={mark}'.encode() in (place / 'environ').read_bytes()
            if marked and os.path.samefile(place / 'exe', PROGRAM):
                words = (place / 'cmdline').read_bytes().decode(errors='replace').split('\0')
                found.append((int(place.name), ' '.join(words)))
        except OSError:
            continue  # it has exited
    return found


def lines_of(path):
    return [json.loads(it) for it in path.read_text().splitlines()]


class InAllocation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slurm = cls.enterClassContext(Daemons())

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='steelyard-slurm-test-'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.run_dir = self.folder / 'run'
        self.temporary = self.folder / 'tmp'
        self.temporary.mkdir()
        (self.folder / 'bin').mkdir()
        (self.folder / 'bin/steelyard').symlink_to(PROGRAM)
        self.mark = uuid.uuid4().hex
        before = dict(self.slurm.environment)
        self.addCleanup(self.slurm.environment.update, before)
        self.slurm.environment.update({MARK: self.mark, 'TMPDIR': str(self.temporary),
                                       'PATH': f'{self.folder}/bin:{before["PATH"]}'})
        self.job = shutil.copy(ROOT / 'examples/jobs/quick.toml', self.folder)

        self.addCleanup(self.kill)

    def tearDown(self):
        """Every test ends like this: no process, no temporary file."""
        until(lambda: not self.living(), f'without processes: {self.living()}')
        self.assertEqual(list(self.temporary.iterdir()), [])

    def kill(self):
        """What a failed test has left."""
        self.slurm.run('scancel', '--user=root', check=False)
        until(lambda: not self.slurm.run('squeue', '-h', '-t', 'running,completing'), 'no job runs')
        for number, _ in self.living():
            os.kill(number, signal.SIGKILL)

    def living(self, words=''):
        return [it for it in living(self.mark) if words in it[1]]

    def launch(self, *more, allocation=('-N3',)):
        """Starts it in an allocation; its output is self.said()."""
        with open(self.folder / 'said', 'w') as said:
            return self.slurm.popen('salloc', '--quiet', *allocation, PROGRAM, 'launch', *more, '--run-dir',
                                    self.run_dir, cwd=self.folder, stdout=said, stderr=said)

    def said(self):
        return (self.folder / 'said').read_text()

    def launched(self, *more, allocation=('-N3',), code=0):
        process = self.launch(*more, allocation=allocation)
        self.assertEqual(process.wait(120), code, self.said())
        return self.said()

    def interrupt(self, process):
        """Ctrl-C to the launcher alone, not to salloc."""
        for number, _ in self.living(' launch '):
            os.kill(number, signal.SIGINT)
        self.assertEqual(process.wait(60), 75, self.said())

    def result(self):
        return json.loads((self.run_dir / 'result.json').read_text())

    def joined(self):
        """The number of workers that have joined."""
        return len(set(re.findall("worker '.*?' joined", (self.run_dir / 'events.jsonl').read_text())))

    def rounds(self):
        path = self.run_dir / 'rounds.jsonl'
        return [it for it in lines_of(path) if it['purpose'] == 'train'] if path.exists() else []

    def trains(self):
        until(lambda: 'checkpoint of round' in self.said(), 'a checkpoint', 60)

    # ---- what launch promises

    def test_every_node_trains(self):
        said = self.launched('--hosts', 'slurm', self.job)
        self.assertEqual(self.result()['outcome'], 'finished', said)
        self.assertEqual(self.joined(), 3)
        for worker in ('worker-0', 'worker-1', 'worker-2'):
            self.assertTrue((self.run_dir / f'log/{worker}.log').exists())

    def test_each_requested_task_is_a_worker(self):
        self.launched('--hosts', 'slurm', self.job, allocation=('-N2', '--ntasks-per-node=2'))
        self.assertEqual(self.joined(), 4)

    def test_groups_of_a_heterogeneous_job_train_together(self):
        self.launched('--hosts', 'slurm', self.job, allocation=('-N1', ':', '-N2', '-p', 'high', '--ntasks=2'))
        self.assertEqual(self.joined(), 3)

    def test_a_killed_worker_is_back_and_one_interrupt_ends_all(self):
        process = self.launch('--hosts', 'slurm', self.job, *ENDLESS)
        self.trains()
        [(number, _)] = self.living('--name worker-1')
        os.kill(number, signal.SIGKILL)
        began = time.monotonic()
        until(lambda: [it for it in self.living('--name worker-1') if it[0] != number], 'a new worker-1', every=0.005)
        print(f'a killed worker is back after {(time.monotonic() - began) * 1000:.0f} ms')
        until(lambda: self.said().count("'worker-1' joined") == 2, 'worker-1 again')
        self.interrupt(process)
        self.assertEqual(self.result()['outcome'], 'interrupted')

    def test_a_killed_launcher_leaves_nothing(self):
        process = self.launch('--hosts', 'slurm', self.job, *ENDLESS)
        self.trains()
        for number, _ in self.living(' launch '):
            os.kill(number, signal.SIGKILL)
        process.wait(60)
        until(lambda: not self.living(), 'the end of all processes', 60)
        self.assertTrue((self.run_dir / 'result.json').exists(), 'the scheduler exited cleanly')

    def test_secret_keys_are_only_in_the_connection(self):
        copies = self.folder / 'copies'
        copies.mkdir()
        (self.folder / 'bin/srun').write_text(SRUN.format(srun=shutil.which('srun')))
        (self.folder / 'bin/srun').chmod(0o755)
        self.slurm.environment['COPIES'] = str(copies)
        process = self.launch('--hosts', 'slurm', self.job, *ENDLESS)
        self.trains()
        secrets = set()
        for copy in copies.iterdir():
            for line in copy.read_text().splitlines():
                secrets |= set(re.findall(r'^secret \S+ \S+ \S+ (\S+)', json.loads(line).get('keys', '')))
        self.assertEqual(len(secrets), 6, 'of a scheduler, two servers and three workers')
        places = [pathlib.Path(f'/proc/{number}') / name for number, _ in self.living() for name in ('cmdline', 'environ')]
        text = self.slurm.run('scontrol', 'show', 'job', '-dd')
        for path in (*places, *(it for it in self.slurm.folder.rglob('*') if it.is_file())):
            text += path.read_bytes().decode(errors='replace')
        for secret in secrets:
            self.assertNotIn(secret, text)
        self.interrupt(process)

    def test_errors_of_srun_are_reported(self):
        hosts = self.hosts([1], more='shared_files = false\nsteelyard = "/nowhere/steelyard"')
        said = self.launched(hosts, self.job, allocation=('-N1',), code=78)
        self.assertIn("there is no program '/nowhere/steelyard' there (srun", said)
        said = self.launched(self.hosts([1], node='n9'), self.job, allocation=('-N1',), code=69)
        self.assertRegex(said, 'code 1: srun: error: .*: make `srun .* true` work')

    # ---- what Slurm does

    def preempted(self, grace):
        """Returns the rounds before and after a preemption, and prints its times."""
        self.slurm.run('scontrol', 'update', 'PartitionName=low', f'GraceTime={grace}')
        output = self.folder / 'output'
        job = self.slurm.run('sbatch', '--parsable', '-N3', '--exclusive', '-o', output, HERE / 'launch.sbatch',
                             self.run_dir, self.job, *ENDLESS, cwd=self.folder).strip()
        until(lambda: len(self.rounds()) > 20, 'rounds', 60)
        other = self.slurm.popen('srun', '--quiet', '-p', 'high', '-N3', '--exclusive', 'true')
        until(lambda: 'stop requested' in (self.run_dir / 'events.jsonl').read_text(), 'SIGTERM', every=0.01)
        began = time.monotonic()
        until(lambda: not self.living(), 'the end of all processes', every=0.01)
        print(f'GraceTime={grace}: {time.monotonic() - began:.2f} s from SIGTERM to the last exit')
        self.assertEqual(other.wait(60), 0)
        self.assertEqual(self.result()['exit_code'], 75)
        before = len(self.rounds())
        until(lambda: 'JobState=PENDING' in self.slurm.run('scontrol', 'show', 'job', job), 'the job in the queue')
        self.slurm.run('scontrol', 'update', f'JobId={job}', 'StartTime=now')  # Slurm waits two minutes otherwise
        until(lambda: self.living(' launch '), 'the launcher again', 60, every=0.01)
        began = time.monotonic()
        until(lambda: len(self.rounds()) > before, 'the next round', 60, every=0.01)
        print(f'GraceTime={grace}: {time.monotonic() - began:.2f} s from the start to the next round')
        self.slurm.run('scancel', job)
        until(lambda: not self.living(), 'the end of all processes', every=0.01)
        state = until(lambda: re.search('JobState=(CANCELLED|PENDING)', self.slurm.run('scontrol', 'show', 'job', job)),
                      'a cancelled job')
        self.assertEqual(state[1], 'CANCELLED', 'only a preempted job is put back')
        return before, [it['round'] for it in self.rounds()]

    def test_a_preempted_job_continues_at_the_next_round(self):
        for grace in (0, 30):  # Slurm puts the job back itself only without a grace time
            with self.subTest(grace=grace):
                shutil.rmtree(self.run_dir, ignore_errors=True)
                before, rounds = self.preempted(grace)
                self.assertEqual(rounds, list(range(len(rounds))), 'each round once')
                self.assertGreater(len(rounds), before)

    # ---- unequal nodes

    def hosts(self, slowdowns, node='{name}', more='shared_files = true'):
        """A hosts file: a worker on each of the first nodes, slowed down by these factors."""
        text = (f'[defaults]\nthrough = ["srun", "-N1", "-n1", "-w", "{node}", "--overlap"]\n{more}\n')
        for i, slowdown in enumerate(slowdowns, 1):
            first = f'scheduler = true\nport = {free_ports(1)[0]}\nservers = 1\n' if i == 1 else ''
            text += (f'[[host]]\nname = "n{i}"\naddress = "127.0.0.1"\n{first}'
                     f'[[host.worker]]\nname = "worker-{i}"\nsimulate_slowdown = {slowdown}\n')
        path = self.folder / 'hosts.toml'
        path.write_text(text)
        return path

    def test_a_slow_node_gets_a_smaller_share(self):
        """One node is four times as slow as the others. All sleep most of the time: they share few cores."""
        ideal = {}
        for policy in ('equal', 'steelyard'):
            shutil.rmtree(self.run_dir, ignore_errors=True)
            self.launched(self.hosts([8, 8, 32]), self.job, '--set', f'cluster.policy={policy}', '--set',
                          'train.batch=512', '--set', 'data.train=16384', '--set', 'train.epochs=3', '--set',
                          'model.name=mlp')
            ideal[policy] = self.result()['percent_of_ideal']
            last = self.rounds()[-1]
            shares = dict(zip(last['workers'], last['shares']))
            if policy == 'steelyard':
                self.assertLess(shares['worker-3'], min(shares['worker-1'], shares['worker-2']))
            print(f'{policy}: {ideal[policy]:.1f} % of ideal, {len(self.rounds())} rounds in '
                  f'{self.result()["seconds"]:.1f} s, shares {shares}')
        self.assertGreater(ideal['steelyard'], ideal['equal'])


if __name__ == '__main__':
    if lacks := missing():
        print(f'skipped: this machine lacks {lacks}: script/setup --engines installs Slurm, and root starts it')
        sys.exit(77)
    unittest.main()
