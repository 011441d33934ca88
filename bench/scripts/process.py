"""The process of one worker of a script, or of its plain form. Writes WORKER.pt to its folder: the parameters at the end.

A training takes less time than it takes to replace a process. So the others wait while there is a file `lost`, which
exists from the kill until the process in the place of the killed one has read samples.
"""
import itertools
import os
import pathlib
import random
import signal
import threading
import time

import registry
import torch

from steelyard import _torch_data

READS_BEFORE_KILL = 12
KILL_WITHIN = 0.02  # seconds after it has begun to read: while it reads, computes, sends or waits
WAIT = 0.5          # seconds at most for each batch, since the process in its place may need a further round to join


def work(name, plain, folder, environment, seconds=0.0, role=''):
    """`plain`: see registry.py. `seconds`: for reading a sample, as of a slow disk or decoder; they count as compute time. `role`: 'killed', or
    'back' for the process in its place."""
    os.environ.update(environment)
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    worker = os.environ.get('STEELYARD_NAME', 'worker-0')
    log = os.open(f'{worker}.log', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if not plain:
        pace(seconds, role)
    found = registry.load()[name].run(plain)
    modules = found if isinstance(found, tuple) else (found,)
    torch.save({f'{at} {of}': it.detach() for at, module in enumerate(modules)
                for of, it in module.named_parameters()}, f'{worker}.pt')


def pace(seconds, role):
    read, reads, lost = _torch_data.Reader.get, itertools.count(), pathlib.Path('lost')

    def get(self, samples):
        if role == 'back':
            lost.unlink(missing_ok=True)
        elif role == 'killed' and next(reads) == READS_BEFORE_KILL:
            lost.touch()
            after = random.uniform(0, KILL_WITHIN)
            threading.Timer(after, os.kill, (os.getpid(), signal.SIGKILL)).start()
        elif role != 'killed':
            end = time.monotonic() + WAIT
            while lost.exists() and time.monotonic() < end:
                time.sleep(0.01)
        time.sleep(seconds * len(samples))
        return read(self, samples)

    _torch_data.Reader.get = get
