"""The three methods of unequal.py to slow down a worker.

- sleep: the worker sleeps (s - 1) times the processor time of forward and backward, before backward, so that backward
  still overlaps with sending.
- quota: a control group limits its process to 1/s of a processor, with a period of 10 ms, which is less than a round.
- busy: it shares one core with s - 1 processes in busy loops.

Each worker has a factor s of at least 1. Under `changing` the factors are reversed halfway through the training: the
fastest worker becomes the slowest.
"""
import os
import pathlib
import subprocess
import sys
import time

PERIOD = 10_000  # microseconds
GROUPS = pathlib.Path('/sys/fs/cgroup')


class Speed:
    """The speed of one worker; this base class does not slow it down."""

    def __init__(self, it, worker):
        self.it, self.worker = it, worker
        self.late = 0  # passes since half of the training

    def factor(self, epoch):
        factors = self.it['factors']
        turned = self.it['scenario'] == 'changing' and epoch >= self.it['epochs'] // 2
        return (factors[::-1] if turned else factors)[self.worker]

    def killed(self, epoch):
        """Called before each pass. True once: for the last worker, half an epoch after half of the training."""
        if self.it['scenario'] != 'killed' or self.worker != self.it['workers'] - 1 or epoch < self.it['epochs'] // 2:
            return False
        self.late += 1
        if self.late <= self.it['samples'] // self.it['batch'] // 2:
            return False
        mark = pathlib.Path(self.it['directory'], 'killed')
        if mark.exists():
            return False
        mark.touch()
        return True

    def turn(self, epoch):
        """Called at the beginning of each epoch."""

    def hold_up(self, seconds):
        """Slows the worker down; `seconds` is the expected time of forward and backward."""


class Sleep(Speed):
    def turn(self, epoch):
        self.now = self.factor(epoch)

    def hold_up(self, seconds):
        time.sleep((self.now - 1) * seconds)


class Quota(Speed):
    def __init__(self, it, worker):
        super().__init__(it, worker)
        self.group = make_group(f'steelyard-unequal-{os.getpid()}')

    def turn(self, epoch):
        limit(self.group, self.factor(epoch))
        (self.group / 'cgroup.procs').write_text(str(os.getpid()))


# Exits when its parent exits, for whatever reason.
COUNT = "import os; parent = os.getppid()\nwhile os.getppid() == parent:\n  for _ in range(100000): pass"


class Busy(Speed):
    def __init__(self, it, worker):
        super().__init__(it, worker)
        self.core, self.loops = cores()[worker], []

    def turn(self, epoch):
        for thread in os.listdir('/proc/self/task'):
            os.sched_setaffinity(int(thread), {self.core})
        while len(self.loops) > self.factor(epoch) - 1:
            loop = self.loops.pop()
            loop.kill()
            loop.wait()
        while len(self.loops) < self.factor(epoch) - 1:
            self.loops.append(subprocess.Popen([sys.executable, '-S', '-c', COUNT]))


def make_speed(it, worker):
    return {'sleep': Sleep, 'quota': Quota, 'busy': Busy}[it['slowed_by']](it, worker)


def cores():
    return sorted(os.sched_getaffinity(0))


def make_group(name):
    """Creates a control group: of version 2 if that controls the processor, else of version 1. Raises OSError."""
    try:
        second = 'cpu' in (GROUPS / 'cgroup.controllers').read_text().split()
    except OSError:
        second = False
    if second:
        (GROUPS / 'cgroup.subtree_control').write_text('+cpu')
    group = (GROUPS if second else GROUPS / 'cpu') / name
    group.mkdir()
    return group


def limit(group, factor):
    quota = max(1000, round(PERIOD / factor))
    if (group / 'cgroup.controllers').exists():
        (group / 'cpu.max').write_text(f'{quota} {PERIOD}')
    else:
        (group / 'cpu.cfs_period_us').write_text(str(PERIOD))
        (group / 'cpu.cfs_quota_us').write_text(str(quota))


def why_not(slowed_by, factors):
    """Returns why this machine cannot use this method; empty if it can."""
    if slowed_by == 'quota':
        try:
            group = make_group(f'steelyard-unequal-{os.getpid()}')
            try:
                limit(group, 2)
            finally:
                group.rmdir()
        except OSError as why:
            return f'cannot create a control group: {why} (root is required)'
    if slowed_by == 'busy':
        if len(factors) > len(cores()):
            return f'each worker needs its own core, and this machine has {len(cores())}'
        if any(factor != int(factor) for factor in factors):
            return 'factors must be whole numbers: 1 + the number of busy loops'
    return ''


def remove_groups():
    """Removes the control groups of processes that have exited."""
    for group in [*GROUPS.glob('steelyard-unequal-*'), *GROUPS.glob('cpu/steelyard-unequal-*')]:
        if not os.path.exists(f"/proc/{group.name.rpartition('-')[2]}"):
            group.rmdir()
