"""Attacks a real training, and compares its speed with that of an undisturbed one.

    script/attacks [ATTACK...] [--seconds 60]

Trains a small model with keys, two servers, a mirror of each, a standby and three workers that are slowed down:
once undisturbed, and once for each attack, which starts after a third of the time.
  numbers      a worker reports NaN and infinity
  two-leaders  the standby is stopped, its arbiter is killed and restarted at its port; the standby continues
  former       the scheduler is killed, and then restarted every 5 s
  unlisted     the allow-list of a server loses the scheduler's key
  reader       standard error of the scheduler, a server and a worker is not read
  port         another program requests the standby's port, and the scheduler is killed
  parts        a process with a worker's key sends an endless message
  door         clients without a key send handshakes of 15 MiB, 60 at once
  hellos       a process with a worker's key requests to join without a name, repeatedly

A round that takes ten times the median waits for a detection or a take-over. Fails unless each training exits
with code 0 and the accuracy of the undisturbed one, no round takes more than 3 s, rounds that do not wait take
at most 10 % longer than before, no process takes 100 MB more memory, and events.jsonl grows by less than 1 MB
per minute.
"""
import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = ROOT / 'build/release/bin'
JOB = '''[job]
name = "attacked"
[model]
name = "softmax"
[data]
name = "synthetic"
[train]
batch = 960
epochs = {epochs}
lr = 0.01
checkpoint_every = 25
[cluster]
servers = 2
replicas = 1
[[worker]]
name = "ada"
[[worker]]
name = "bob"
[[worker]]
name = "cyd"
'''
WORKERS = ('ada', 'bob', 'cyd')


def free_port(used=set()):
    """A port below the ephemeral range, so that the system does not assign it to a client."""
    for port in random.sample(range(20_000, 30_000), 1000):
        with contextlib.suppress(OSError), socket.create_server(('127.0.0.1', port)):
            if port not in used:
                used.add(port)
                return port
    raise SystemExit('attacks: no free port between 20000 and 29999')


def full_pipe():
    """The writing end of a full pipe that is not read."""
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(ends[1], False)
    try:
        while True:
            os.write(ends[1], bytes(4096))
    except BlockingIOError:
        os.set_blocking(ends[1], True)
    return ends[1]


def peak(process):
    """Peak memory of the process in MB; 0 if it has exited."""
    try:
        status = pathlib.Path(f'/proc/{process.pid}/status').read_text()
        return int(status.split('VmHWM:')[1].split()[0]) / 1024
    except (OSError, IndexError):
        return 0


class Training:
    """The processes of one job."""

    def __init__(self, folder, epochs, unread=()):
        self.folder, self.unread, self.all, self.peaks = folder, unread, {}, {}
        self.here, self.there = (f'127.0.0.1:{free_port()}' for _ in range(2))
        self.keys = folder / 'keys'
        folder.mkdir(parents=True)
        for role, name in (('scheduler', 'scheduler'), ('server', 'server'), ('worker', 'worker'), ('worker', 'eve')):
            self.call('keys', 'new', self.keys, role, name)
        shutil.copytree(self.keys, folder / 'own')  # for one server
        (folder / 'job.toml').write_text(JOB.format(epochs=epochs))
        self.servers = {f's{i}': free_port() for i in range(4)}
        self.start('scheduler', 'scheduler', 'job.toml', '--listen', self.here, '--run-dir', 'run')
        self.start('standby', 'standby', '--scheduler', self.here, '--listen', self.there, '--run-dir', 'standby')
        for name in self.servers:
            self.start_server(name)
        for i, name in enumerate(WORKERS):
            self.start(name, 'worker', '--scheduler', self.both, '--name', name, '--simulate-slowdown', str(40 * (i + 1)))
        self.wait(lambda: self.reported('a standby follows') and self.reported('mirrors') >= 2,
                  'the training does not start')
        self.wait(lambda: self.reported('first_round'), 'the training does not start')
        self.began = time.monotonic()  # at_ms of its records counts from here

    both = property(lambda self: f'{self.here},{self.there}')

    def call(self, *words):
        subprocess.run([BIN / 'steelyard', *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def start(self, name, *words, keys=None):
        log = open(self.folder / f'{name}.log', 'a')
        self.all[name] = subprocess.Popen(
            [BIN / 'steelyard', *words, '--keys', keys or self.keys], cwd=self.folder, stdout=log,
            stderr=full_pipe() if name in self.unread else log)
        return self.all[name]

    def start_server(self, name):
        keys = self.folder / 'own' if name == 's0' else None
        self.start(name, 'server', '--scheduler', self.both, '--name', name,
                   '--listen', f'127.0.0.1:{self.servers[name]}', keys=keys)

    def lines(self, file):
        try:
            return (self.folder / file).read_text().splitlines()
        except FileNotFoundError:
            return []

    def rounds(self, run):
        return [it for it in map(json.loads, self.lines(f'{run}/rounds.jsonl')) if it['purpose'] == 'train']

    def reported(self, text):
        events = self.lines('run/events.jsonl') + self.lines('standby/events.jsonl')
        return sum(text in line for line in events)

    def wait(self, is_so, why, seconds=60):
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                raise SystemExit(f'attacks: {why}: see {self.folder}')
            self.watch()
            time.sleep(0.02)

    def watch(self):
        for name, process in self.all.items():
            self.peaks[name] = max(self.peaks.get(name, 0), peak(process))

    def shard_in(self, slot):
        """The name of the server that has this shard, according to the reported events."""
        names = {}
        for line in self.lines('run/events.jsonl'):
            words = json.loads(line).get('text', '').split("'")
            if ' mirrors ' in ''.join(words):
                names[words[1]] = words[3]
        primaries = sorted(set(names.values()))
        return primaries[slot]

    def kill(self, name):
        self.all[name].kill()
        self.all.pop(name).wait()

    def end(self):
        """Waits for the leader. Returns its exit code, its result and the rounds."""
        leader = self.leader()
        self.wait(lambda: leader.poll() is not None, 'the training does not finish', 600)
        run = 'run' if leader is self.all.get('scheduler') else 'standby'
        code = leader.wait()
        result = json.loads((self.folder / run / 'result.json').read_text()) if code == 0 else {}
        rounds = self.rounds(run)
        for process in self.all.values():
            process.terminate()
        for process in self.all.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        return code, result, rounds

    def leader(self):
        return self.all.get('scheduler') or self.all['standby']


def attacker(training, how):
    """Starts an attacker at the lowest priority, since on another machine it would not use the job's CPUs."""
    log = open(training.folder / 'attacker.log', 'a')
    return subprocess.Popen(['nice', '-n', '19', BIN / 'attacker', how, f'tcp://{training.here}', training.keys],
                            stdout=log, stderr=log)


def nothing(training):
    return {}


def numbers(training):
    it = attacker(training, 'numbers')
    it.wait(60)
    return {'sent': (training.folder / 'attacker.log').read_text().strip()}


def two_leaders(training):
    arbiter = training.shard_in(1)
    training.all['standby'].send_signal(signal.SIGSTOP)
    training.wait(lambda: training.reported('continues without'), 'the scheduler does not continue alone')
    training.kill(arbiter)
    training.wait(lambda: training.reported('is in its place'), 'no mirror is promoted')
    training.start_server(arbiter)
    training.wait(lambda: training.reported(f"'{arbiter}' mirrors"), 'the server does not rejoin')
    training.all['standby'].send_signal(signal.SIGCONT)
    return {}


def former(training):
    training.kill('scheduler')
    training.wait(lambda: 'leading' in ''.join(training.lines('standby.log')), 'the standby does not lead')
    codes = set()
    while training.leader().poll() is None:
        again = training.start('former', 'scheduler', 'job.toml', '--run-dir', 'run', '--recover')
        codes.add(again.wait(30))
        end = time.monotonic() + 5
        training.wait(lambda: time.monotonic() > end or training.leader().poll() is not None, '')
    return {'codes of the former scheduler': sorted(codes)}


def unlisted(training):
    training.call('keys', 'revoke', training.folder / 'own', 'scheduler')
    return {}


def port(training):
    with socket.socket() as other:
        try:
            other.bind(('127.0.0.1', int(training.there.split(':')[1])))
            got = 'had'
        except OSError:
            got = 'was refused'
        training.kill('scheduler')
        return {'another program': f'{got} the port'}


def flood(how):
    def attack(training):
        training.flood = attacker(training, how)
        return {}
    return attack


ATTACKS = {'nothing': nothing, 'numbers': numbers, 'two-leaders': two_leaders, 'former': former,
           'unlisted': unlisted, 'reader': nothing, 'port': port, 'parts': flood('parts'),
           'door': flood('door'), 'hellos': flood('hellos')}


def pace(times):
    """Mean seconds per round, without rounds that waited for a detection or a take-over."""
    return statistics.mean(it for it in times if it < 10 * statistics.median(times))


def run(name, place, epochs, seconds):
    training = Training(place / name, epochs, ('scheduler', 's1', 'bob') if name == 'reader' else ())
    training.flood = None
    try:
        time.sleep(5 + seconds / 3)  # the first round is slower
        attacked = 1000 * (time.monotonic() - training.began)
        found = ATTACKS[name](training)
        code, result, rounds = training.end()
    finally:
        if training.flood:
            training.flood.kill()
        for process in training.all.values():
            if process.poll() is None:
                process.kill()
    before = [it['round_ms'] / 1000 for it in rounds if it['at_ms'] < attacked]
    after = [it['round_ms'] / 1000 for it in rounds if it['at_ms'] > attacked]
    events = sum(len(line) + 1 for it in ('run', 'standby') for line in training.lines(f'{it}/events.jsonl'))
    return {'code': code, 'accuracy': result.get('accuracy', 0), 'before': sum(before), 'after': sum(after),
            'lost': pace(after) / pace(before) - 1, 'stood': max(after), 'memory': training.peaks, 'found': found,
            'events': events / 1e6 * 60 / sum(before + after)}


def arguments():
    parser = argparse.ArgumentParser(prog='script/attacks', usage=argparse.SUPPRESS, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('attacks', nargs='*', default=list(ATTACKS)[1:], metavar='ATTACK')
    parser.add_argument('--seconds', default=60, type=float, help='duration of the undisturbed training')
    options = parser.parse_args()
    if unknown := set(options.attacks) - set(ATTACKS):
        parser.error(f'unknown attack {", ".join(unknown)}: choose from {", ".join(list(ATTACKS)[1:])}')
    return options


def wrong(quiet, it):
    """The growth of memory in MB, and a list of failed conditions."""
    grown = max(it['memory'][name] - quiet['memory'][name] for name in it['memory'] if name in quiet['memory'])
    found = []
    if it['code'] != 0:
        found.append(f'it exited with code {it["code"]}')
    if abs(it['accuracy'] - quiet['accuracy']) > 0.005:
        found.append('the accuracy differs')
    if it['lost'] > 0.1:
        found.append('rounds take more than 10 % longer')
    if it['stood'] > 3:
        found.append('a round took more than 3 s')
    if grown > 100:
        found.append('a process took more than 100 MB more memory')
    if it['events'] > 1:
        found.append('more than 1 MB of events per minute')
    return grown, found


def main():
    options = arguments()
    place = pathlib.Path(tempfile.mkdtemp(prefix='steelyard-attacks-'))
    short = run('nothing', place / 'short', 40, 5)
    epochs = round(40 * options.seconds / (short['before'] + short['after']))
    quiet = run('nothing', place, epochs, options.seconds)
    print(f'{"attack":12}{"before, after":>15}{"longest round":>15}{"other rounds":>13}{"accuracy":>11}{"memory":>10}'
          f'{"events":>16}')
    failed = False
    for name in ['nothing', *options.attacks]:
        it = quiet if name == 'nothing' else run(name, place, epochs, options.seconds)
        grown, found = wrong(quiet, it)
        failed |= bool(found)
        print(f'{name:12}{it["before"]:7.1f}{it["after"]:6.1f} s{it["stood"]:13.2f} s{100 * it["lost"]:11.1f} %'
              f'{100 * it["accuracy"]:9.2f} %{grown:+7.0f} MB{it["events"]:9.3f} MB/min  '
              f'{"; ".join(f"{key}: {value}" for key, value in it["found"].items())}', flush=True)
        for text in found:
            print(f'  WRONG: {text}: see {place / name}', flush=True)
    if failed:
        raise SystemExit(1)
    shutil.rmtree(place)


if __name__ == '__main__':
    main()
