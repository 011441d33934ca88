"""The batch script that `steelyard render slurm` writes, under the real daemons of Slurm on this machine (daemons.py): two
groups of nodes in one job, a preemption with and without a GraceTime, the time limit, and scancel. Exits with 77,
"skipped", if Slurm is not installed. Prints what it measures.

STEELYARD_PROGRAM is the program.
"""
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import unittest

from daemons import Daemons, missing, until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.path.realpath(os.environ.get('STEELYARD_PROGRAM', 'steelyard'))
ENDLESS = ('--set', 'train.epochs=1000000')
GROUPS = """
[[host]]
name = "fast"
partition = "low"
scheduler = true
servers = 1
cpus = 2
[[host.worker]]
[[host]]
name = "slow"
partition = "low"
count = 2
cpus = 1
memory = "500Mi"
[[host.worker]]
"""
ONE_GROUP = """
[[host]]
name = "all"
count = 3
partition = "low"
scheduler = true
servers = 1
[[host.worker]]
"""
WRONG = """
[job]
name = "quick"
[data]
name = "fashion-mnist"
dir = "/nowhere"
"""


class Rendered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slurm = cls.enterClassContext(Daemons())

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='steelyard-render-test-'))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / 'bin').mkdir()
        (self.folder / 'bin/steelyard').symlink_to(PROGRAM)
        before = dict(self.slurm.environment)
        self.addCleanup(self.slurm.environment.update, before)
        self.slurm.environment['PATH'] = f'{self.folder}/bin:{before["PATH"]}'
        self.job = shutil.copy(ROOT / 'examples/jobs/quick.toml', self.folder)

    def submit(self, hosts, *options):
        """Renders and submits; returns the number of the job."""
        (self.folder / 'hosts.toml').write_text(hosts)
        self.slurm.run(PROGRAM, 'render', 'slurm', *options, '--output', 'job.sh', 'hosts.toml', 'quick.toml',
                       cwd=self.folder)
        self.number = self.slurm.run('sbatch', '--parsable', 'job.sh', cwd=self.folder).strip()
        self.addCleanup(self.cancel, self.number)
        self.run_dir = self.folder / f'runs/quick-{self.number}'
        return self.number

    def cancel(self, number):
        self.slurm.run('scancel', number, check=False)
        until(lambda: not self.slurm.run('squeue', '-h', '-j', number, check=False).strip(), 'the end of the job', 60)

    def output(self):
        path = self.folder / f'quick-{self.number}.log'
        return path.read_text() if path.exists() else ''

    def state(self):
        return re.search(r'JobState=(\w+)', self.slurm.run('scontrol', 'show', 'job', self.number))[1]

    def becomes(self, *states):
        try:
            return until(lambda: self.state() in states and self.state(), f'in state {states}', 90)
        except TimeoutError as error:
            shown = self.slurm.run('scontrol', 'show', 'job', self.number)
            raise AssertionError(f'{error}:\n{shown}\n{self.output()}') from None

    def rounds(self):
        path = self.run_dir / 'rounds.jsonl'
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [json.loads(it)['round'] for it in lines if it.endswith('\n') and '"purpose":"train"' in it]

    def trains(self, more_than=20):
        try:
            until(lambda: len(self.rounds()) > more_than, 'training', 90)
        except TimeoutError as error:
            raise AssertionError(f'{error}; the job is {self.state()}:\n{self.output()}') from None

    def verdict(self):
        """Slurm may show the job in the queue before its processes have ended."""
        until(lambda: (self.run_dir / 'result.json').exists(), 'a verdict')
        return json.loads((self.run_dir / 'result.json').read_text())['exit_code']

    def goes_on(self, before):
        """From the queue, where it waits for two minutes unless told otherwise."""
        self.slurm.run('scontrol', 'update', f'JobId={self.number}', 'StartTime=now')
        began = time.monotonic()
        self.trains(before)
        rounds = self.rounds()
        self.assertEqual(rounds, list(range(len(rounds))), 'each round once')
        return time.monotonic() - began

    def test_groups_of_unequal_nodes_train_one_job(self):
        self.submit(GROUPS)
        self.becomes('COMPLETED')
        self.assertEqual(self.verdict(), 0, self.output())
        joined = set(re.findall("worker '(.*?)' joined", (self.run_dir / 'events.jsonl').read_text()))
        self.assertEqual(joined, {'worker-0', 'worker-1', 'worker-2'})
        shown = self.slurm.run('scontrol', 'show', 'job', self.number)
        self.assertEqual(shown.count('HetJobOffset='), 2, shown)

    def test_a_preempted_job_goes_on(self):
        for grace in (0, 30):
            with self.subTest(grace=grace):
                self.slurm.run('scontrol', 'update', 'PartitionName=low', f'GraceTime={grace}')
                self.submit(ONE_GROUP, '--sbatch=--exclusive', *ENDLESS)
                self.trains()
                other = self.slurm.popen('srun', '--quiet', '-p', 'high', '-N3', '--exclusive', 'true')
                self.assertEqual(other.wait(90), 0)
                self.becomes('PENDING')
                self.assertEqual(self.verdict(), 75)
                before = len(self.rounds())
                print(f'GraceTime={grace}: preempted after {before} rounds, the next one {self.goes_on(before):.1f} s '
                      'after the job was released')
                self.slurm.run('scancel', self.number)
                self.becomes('CANCELLED')
        self.slurm.run('scontrol', 'update', 'PartitionName=low', 'GraceTime=0')

    def test_unequal_groups_are_put_back_together(self):
        self.submit(GROUPS, *ENDLESS)
        self.trains()
        self.slurm.run('scancel', '--batch', '--signal=USR1', self.number)
        self.becomes('PENDING')
        self.assertEqual(self.verdict(), 75)
        self.goes_on(len(self.rounds()))

    def test_the_time_limit_puts_it_back(self):
        """Slurm sends USR1 to the script before the limit; here scancel does."""
        self.submit(ONE_GROUP, *ENDLESS)
        self.trains()
        self.slurm.run('scancel', '--batch', '--signal=USR1', self.number)
        self.becomes('PENDING')
        self.goes_on(len(self.rounds()))

    def test_a_cancelled_job_stays_cancelled(self):
        self.submit(ONE_GROUP, *ENDLESS)
        self.trains()
        self.slurm.run('scancel', self.number)
        self.becomes('CANCELLED')
        until(lambda: (self.run_dir / 'result.json').exists(), 'a verdict')
        time.sleep(2)
        self.assertEqual(self.state(), 'CANCELLED')

    def test_a_wrong_job_fails_once(self):
        """Slurm would start a job with code 75 again."""
        pathlib.Path(self.job).write_text(WRONG)
        self.submit(ONE_GROUP)
        self.becomes('FAILED')
        self.assertIn('/nowhere', self.output())


if __name__ == '__main__':
    if lacks := missing():
        print(f'skipped: this machine lacks {lacks}: script/setup --engines installs Slurm, and root starts it')
        sys.exit(77)
    unittest.main()
