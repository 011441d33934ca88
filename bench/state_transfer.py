"""Measures how long a worker that joins late needs for the state of another one, and the memory that this takes.

    script/bench state [--mb 400] [--optimizer adamw|sgd] [--servers 1] [--repeats 1]

Two workers train a model of this size with join(step='here') and the given optimizer; a third joins in mid-run. The
state is the model with the optimizer's state. Measured from the order to write it until it is loaded:

- seconds: to write the file, to send it through the servers, and to load it; and the rounds that the others complete
- memory: the peak of each process, sampled every 10 ms. For scheduler, servers and the giving worker it is relative to
  their peak in the rounds before, for the joining worker to what it had after joining

The line is what this machine allows: the same number of bytes from a file over TCP to a file, with a third process in
between, as a server is; once during the rounds before the third worker joins, and once after the job. The requirement
is less than twice the time of the line during the rounds. The joining worker needs memory for the state, all others no
more than a constant.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from state_line import PROCESSES, Memory, line

os.environ['OMP_NUM_THREADS'] = '1'
ROOT = pathlib.Path(__file__).resolve().parent.parent
try:
    import torch

    sys.path.insert(0, str(ROOT / 'bindings/python'))
    import steelyard.torch
    from steelyard import _worker
except ImportError as missing:
    print(f'state-transfer: {missing}: script/setup --peers installs PyTorch and what it needs, in build/peers')
    sys.exit(77)
WIDTH = 2048  # of a layer: 16 MB
BATCH, ROUNDS = 6, 10_000
FIRST, MORE = 4, 3  # rounds before the third worker joins, and after it has loaded the state
STATE = {'adamw': 3, 'sgd': 2}  # of the size of the model


# ---- one worker


def work(it, name, folder):
    """Trains until the third worker has taken part in MORE rounds. Notes what happens, with times."""
    torch.set_num_threads(1)
    os.dup2(os.open(folder / f'{name}.log', os.O_WRONLY | os.O_CREAT), 2)
    notes = open(folder / f'{name}.jsonl', 'w', buffering=1)
    note = lambda what, **more: print(json.dumps({'what': what, 'at': time.monotonic(), **more}), file=notes)
    kinds = {_worker.JOINED: 'joined', _worker.WRITE_STATE: 'write', _worker.READ_STATE: 'read'}
    after, done = _worker.Worker.next, _worker.Worker.done
    now = ['']  # what the worker is doing besides training

    def noted_next(self, seconds):
        task = after(self, seconds)
        now[0] = kinds.get(task.kind, '')
        if now[0]:
            note(now[0], bytes=os.path.getsize(task.path) if now[0] == 'read' else 0)
        return task

    def noted_done(self, loss, correct):
        if now[0]:
            note(f'{now[0]} done')
        done(self, loss, correct)

    _worker.Worker.next, _worker.Worker.done = noted_next, noted_done
    torch.manual_seed(1)
    count = max(1, round(it.mb * 2**20 / (4 * WIDTH * WIDTH)))
    model = torch.nn.Sequential(*(layer for _ in range(count)
                                  for layer in (torch.nn.Linear(WIDTH, WIDTH, bias=False), torch.nn.Tanh())))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4) if it.optimizer == 'adamw' else \
        torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    # Large enough that no epoch ends, since each would end with a checkpoint.
    data = torch.utils.data.TensorDataset(*(torch.randn(1, WIDTH).expand(ROUNDS * BATCH, WIDTH) for _ in 'xy'))
    note('ready')
    while name == 'late' and not (folder / 'join').exists():
        time.sleep(0.01)
    job = steelyard.torch.join(model, optimizer, data, batch=BATCH, rounds=ROUNDS, step='here',
                               name='state-transfer')
    for its in job.rounds():
        for x, y in its:
            its.backward((model(x) - y).square().mean())
        optimizer.step()
        note('round', version=its.version)
        if (folder / 'stop').exists():
            job.stop()


# ---- a run


def members_of(launcher):
    """The scheduler and the servers among the children of the launcher: pids by name."""
    found = {'scheduler': launcher.pid}
    for path in sorted(pathlib.Path('/proc').glob('[0-9]*')):
        try:
            parent = (path / 'stat').read_text().rsplit(')', 1)[1].split()[1]
            role = (path / 'cmdline').read_text().split('\0')[1]
        except (OSError, IndexError):
            continue
        if parent == str(launcher.pid) and role in ('server', 'scheduler'):
            found[role if role == 'scheduler' else f'server {len(found) - 1}'] = int(path.name)
    return found


class Run:
    def __init__(self, it, folder):
        self.it, self.folder = it, folder
        (folder / 'sockets').mkdir()
        os.environ.update(STEELYARD=f'ipc://{folder}/sockets/scheduler', STEELYARD_LIBRARY=f'{it.build}/lib/libsteelyard.so',
                          STEELYARD_PROGRAM=f'{it.build}/bin/steelyard', STEELYARD_DEVICE='cpu', TMPDIR=str(folder))
        self.launcher = subprocess.Popen(
            [f'{it.build}/bin/steelyard', 'run', '-n', '2', '--sockets', folder / 'sockets', '--run-dir', folder / 'run',
             '--set', f'cluster.servers={it.servers}'], cwd=folder, stdout=open(folder / 'run.log', 'w'),
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.workers = {name: self._start(name) for name in ('first', 'second', 'late')}

    def _start(self, name):
        os.environ['STEELYARD_NAME'] = name
        process = PROCESSES.Process(target=work, args=(self.it, name, self.folder))
        process.start()
        return process

    def notes(self, name, what):
        path = self.folder / f'{name}.jsonl'
        lines = path.read_text().split('\n')[:-1] if path.exists() else []
        return [it for it in map(json.loads, lines) if it['what'] == what]

    def wait(self, condition):
        while not condition():
            broken = [name for name, process in self.workers.items() if process.exitcode is not None]
            if broken or self.launcher.poll() is not None:
                logs = '\n'.join(path.read_text() for path in sorted(self.folder.glob('*.log')))
                raise SystemExit(f'state_transfer.py: {broken or "the cluster"} ended early:\n{logs}')
            time.sleep(0.05)

    def train(self):
        """Runs the job. Returns the samples of memory."""
        self.wait(lambda: len(self.notes('first', 'round')) >= 1 and self.notes('late', 'ready'))
        processes = {name: process.pid for name, process in self.workers.items()}
        memory = Memory({**processes, **members_of(self.launcher)})
        try:
            self.wait(lambda: len(self.notes('first', 'round')) >= FIRST)
            self.line = line(self.it.mb * 2**20 * STATE[self.it.optimizer], self.folder)
            (self.folder / 'join').touch()
            self.wait(lambda: len(self.notes('late', 'round')) >= MORE)
            (self.folder / 'stop').touch()
            for process in self.workers.values():
                process.join()
            if self.launcher.wait() != 0:
                raise SystemExit('state_transfer.py: the job failed:\n' + (self.folder / 'run.log').read_text())
        finally:
            memory.end()
        return memory

    def end(self):
        for process in self.workers.values():
            process.kill()
            process.join()
        self.launcher.terminate()
        self.launcher.wait()

    def result(self, memory):
        joined = self.notes('late', 'joined')[0]['at']
        read, loaded = (self.notes('late', it)[0] for it in ('read', 'read done'))
        its = [(name, note) for name in ('first', 'second') for note in self.notes(name, 'write')
               if joined <= note['at'] <= read['at']]
        giver, order = max(its, key=lambda each: each[1]['at'])
        written = next(it['at'] for it in self.notes(giver, 'write done') if it['at'] > order['at'])
        begin, end = order['at'], loaded['at']
        rounds = [it['at'] for it in self.notes(giver, 'round')]
        grown = {name: memory.peak(name, begin, end) - memory.peak(name, rounds[0], joined)
                 for name in memory.samples if name not in ('late', 'first', 'second') or name == giver}
        grown['giving worker'] = grown.pop(giver)
        grown['joining worker'] = memory.peak('late', begin, end) - memory.at('late', joined)
        return {'bytes': read['bytes'], 'wait': begin - joined, 'write': written - begin, 'send': read['at'] - written,
                'load': end - read['at'], 'seconds': end - begin, 'rounds': sum(begin < at < end for at in rounds),
                'round': statistics.median(b - a for a, b in zip(rounds, rounds[1:]) if b < joined), 'grown': grown,
                'line': self.line}


def measure(it):
    with tempfile.TemporaryDirectory(prefix='steelyard-state-') as place:
        folder = pathlib.Path(place)
        run = Run(it, folder)
        try:
            memory = run.train()
            result = run.result(memory)
        finally:
            run.end()
        result['idle'] = line(result['bytes'], folder)
        return result


def show(it):
    mb = 2**20
    print(f'state {it["bytes"] / mb:.0f} MB; a round {it["round"]:.2f} s; from joining to the order {it["wait"]:.2f} s')
    print(f'  order to loaded state {it["seconds"]:.2f} s: write {it["write"]:.2f}, send {it["send"]:.2f}, load '
          f'{it["load"]:.2f}; rounds of the others meanwhile: {it["rounds"]}')
    print(f'  the line {it["line"]:.2f} s during the rounds, {it["idle"]:.2f} s afterwards: '
          f'{it["seconds"] / it["line"]:.2f} and {it["seconds"] / it["idle"]:.2f} times the line')
    print('  peak memory above that before: ' +
          ', '.join(f'{name} {grown / mb:+.0f} MB' for name, grown in it['grown'].items()), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--mb', type=int, default=400, help='of the model')
    options.add_argument('--optimizer', choices=['adamw', 'sgd'], default='adamw', help='sgd has momentum')
    options.add_argument('--servers', type=int, default=1)
    options.add_argument('--repeats', type=int, default=1)
    options.add_argument('--build', type=lambda text: pathlib.Path(text).resolve(), default=ROOT / 'build/release')
    it = options.parse_args()
    print(f'PyTorch {torch.__version__}, {it.optimizer}, {it.servers} servers, {os.cpu_count()} cores')
    for _ in range(it.repeats):
        show(measure(it))


if __name__ == '__main__':
    main()
