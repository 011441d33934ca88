"""The process of one worker of a script, or of its plain form. Writes to its folder:

    NAME.pt       the parameters at the end
    NAME.shares   a byte for each time that this worker has read samples
    NAME.pid      the number of the process

A file `lost` in the folder lets the worker wait for the process that replaces the killed one, so that a short training
does not end before that.

    process.py NAME FOLDER SECONDS    the same, as a script of `steelyard run`
"""
import os
import pathlib
import sys
import time

import registry
import torch

from steelyard import _torch_data

WAIT = 0.5  # seconds at most for each batch, while the process that replaces a killed worker is on its way


def work(name, run, folder, environment=None, seconds=0.0):
    """`seconds`: for each sample, as of a slow disk or decoder; they count as compute time."""
    os.environ.update(environment or {})
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    worker = os.environ.get('STEELYARD_NAME', 'worker-0')
    log = os.open(f'{worker}.log', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    pathlib.Path(f'{worker}.pid').write_text(str(os.getpid()))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if not run.plain:
        pace(worker, seconds)
    found = registry.load()[name].run(run)
    modules = found if isinstance(found, tuple) else (found,)
    parameters = {f'{at} {name}': it.detach() for at, module in enumerate(modules)
                  for name, it in module.named_parameters()}
    torch.save(parameters, f'{worker}.pt')


def pace(worker, seconds):
    """Lets reading samples take time, and counts it."""
    read = _torch_data.Reader.get

    def get(self, samples):
        with open(f'{worker}.shares', 'ab') as file:
            file.write(b'.')
        time.sleep(seconds * len(samples))
        lost = pathlib.Path('lost')
        if lost.exists() and lost.read_text() != worker:
            wait_for_share(pathlib.Path(f'{lost.read_text()}.shares'))
        return read(self, samples)

    _torch_data.Reader.get = get


def wait_for_share(shares):
    """Waits until the process that replaces the killed one has had a share: its file, which is removed after the kill,
    exists again."""
    end = time.monotonic() + WAIT
    while not shares.exists() and time.monotonic() < end:
        time.sleep(0.01)


if __name__ == '__main__':
    script, its_folder, its_seconds = sys.argv[1:]
    slow = float(its_seconds.split(',')[int(os.environ['STEELYARD_NAME'][-1])])
    work(script, registry.Run(plain=False), its_folder, seconds=slow)
