"""One training of real processes in its own folder: starts it, watches it and reads its results."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import threading
import time

import clock
import journal
import network

ROLES = ('scheduler', 'server', 'worker')
WORKERS = {'ada': 1, 'bob': 2, 'cyd': 4}
OPEN_FILES = 1024  # soft limit per process, which it may raise itself
JOB = '''# {epochs} epochs
[job]
name = "chaos"
[model]
name = "lenet5"
[data]
name = "synthetic"
[train]
batch = 512
epochs = {epochs}
lr = 0.02
evaluate_every = 0
checkpoint_every = 5
[cluster]
servers = 2
replicas = 1
{cluster}
'''


class WrongResult(SystemExit):
    def __init__(self, text):
        super().__init__(f'chaos: WRONG RESULT: {text}')


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


class Run:
    """A run of `train`, or of `launch` on the hosts of network.py. `disk`: size of its run directory in MB;
    `moved`: its clock can be changed (clock.py)."""

    def __init__(self, options, folder, epochs, on_network, disk=0, moved=False):
        self.folder, self.results, self.peaks = folder, folder / 'run', {}
        self.clock = folder / 'clock'
        self.epochs, self.disk = epochs, disk
        folder.mkdir(parents=True)
        if disk:
            self.results.mkdir()
            subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={disk}m', 'none', self.results], check=True)
        job = JOB.format(epochs=epochs, cluster=options.cluster)
        job += ''.join(f'[[worker]]\nname = "{name}"\nslow = {slow}\n' for name, slow in WORKERS.items())
        (folder / 'job.toml').write_text(job)
        command = [options.steelyard, 'train', 'job.toml']
        if on_network:
            (folder / 'hosts.toml').write_text(network.hosts_file(WORKERS))
            command = [options.steelyard, 'launch', 'hosts.toml', 'job.toml', '--exchange', 'sockets']
            command += ['--insecure'] if options.insecure else []
        clock.move(self.clock, 0)
        self.log = open(folder / 'output', 'w')
        self.process = subprocess.Popen([*command, '--run-dir', self.results, '--quiet'], stdout=self.log,
                                        stderr=subprocess.STDOUT, cwd=folder, preexec_fn=few_files,
                                        env=clock.environment(self.clock) if moved else None)
        threading.Thread(target=self.watch_memory, daemon=True).start()

    def still_running(self, seconds=0.0):
        """Waits for up to `seconds`, at most until the training ends. Returns whether it is still running."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.poll() is None

    def processes(self, role):
        """The live processes of this run: process number and name."""
        found = []
        for number in filter(str.isdigit, os.listdir('/proc')):
            try:
                words = pathlib.Path('/proc', number, 'cmdline').read_bytes().decode().split('\0')
                inside = os.path.samefile(f'/proc/{number}/cwd', self.folder)
            except OSError:
                continue
            if inside and words[1:2] == [role]:
                found.append((int(number), words[words.index('--name') + 1] if '--name' in words else role))
        return sorted(found, key=lambda it: it[1])

    def watch_memory(self):
        """Records the peak memory by process name, in MB."""
        while self.still_running(0.5):
            for number, name in sum(map(self.processes, ROLES), []):
                with contextlib.suppress(OSError, IndexError, ValueError):
                    status = pathlib.Path(f'/proc/{number}/status').read_text()
                    peak = int(status.split('VmHWM:')[1].split()[0]) / 1024
                    self.peaks[name] = max(self.peaks.get(name, 0), peak)

    def records(self, file):
        with contextlib.suppress(FileNotFoundError):
            whole = (self.results / file).read_text().rpartition('\n')[0]
            return [json.loads(line) for line in whole.splitlines()]
        return []

    def rounds(self):
        return [record for record in self.records('rounds.jsonl') if record['purpose'] == 'train']

    def losses(self):
        return journal.losses(self.results / 'journal')

    def notes(self):
        return [record['text'] for record in self.records('events.jsonl') if 'text' in record]

    def last_round(self):
        with contextlib.suppress(FileNotFoundError, ValueError, IndexError):
            return json.loads((self.results / 'rounds.jsonl').read_bytes()[-2000:].splitlines()[-1])
        return {'epoch': 0, 'workers': []}

    def nearly_over(self):
        return self.last_round()['epoch'] > 0.8 * self.epochs

    def mirrored(self):
        """The number of servers with a filled mirror, according to the reported events."""
        mirrors = {}
        for text in self.notes():
            names = text.split("'")[1::2]
            if ' mirrors ' in text:
                mirrors[names[1]] = names[0]
            elif text.startswith('mirror ') and len(names) > 1:
                mirrors.pop(names[1], None)
            elif 'is in its place' in text:
                mirrors.pop(names[0], None)
        return len(mirrors)

    def whole(self):
        """Whether all losses are recovered."""
        if [len(self.processes(role)) for role in ROLES] != [1, 2, len(WORKERS)] or self.mirrored() < 2:
            return False
        return len(self.last_round()['workers']) == len(WORKERS)

    def wait_for_whole(self, seconds=60):
        """Waits until all losses are recovered. Returns False if the training ends before that."""
        end = time.monotonic() + seconds
        while self.still_running(0.1):
            if self.whole():
                return True
            if time.monotonic() > end:
                raise SystemExit(f'chaos: a loss was not recovered: see {self.folder}')
        return False

    def finish(self):
        code = self.process.wait()
        if self.disk:  # the tmpfs ends with this script
            shutil.copytree(self.results, self.folder / 'kept')
            subprocess.run(['umount', '--lazy', self.results], check=True)
            self.results.rmdir()
            (self.folder / 'kept').rename(self.results)
        if code != 0:
            print((self.folder / 'output').read_text()[-4000:])
            raise WrongResult(f'the training exited with code {code}: see {self.folder}')
        (self.folder / 'peaks.json').write_text(json.dumps(self.peaks))


class FormerRun:
    """A finished run, read from its folder."""
    rounds, notes, records = Run.rounds, Run.notes, Run.records

    def __init__(self, folder):
        self.folder, self.results = folder, folder / 'run'
        self.peaks = json.loads((folder / 'peaks.json').read_text())
        self.epochs = int((folder / 'job.toml').read_text().split()[1])
