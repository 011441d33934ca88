"""Network namespaces that act as hosts, with connections that `tc tbf` limits to given rates in Mbit/s."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOB = ROOT / 'examples/jobs/demo.toml'
SLOW = {'half': 2, 'quarter': 4, 'eighth': 8}  # the demo's workers and their slowdown factors
SOCKETS = ['--exchange', 'sockets']  # shared memory would bypass the network


def run(*words):
    subprocess.run(words, check=True)


def add_program(parser):
    """Adds the option --steelyard. The path becomes absolute, because each run has its own folder."""
    parser.add_argument('--steelyard', default=ROOT / 'build/release/bin/steelyard',
                        type=lambda text: pathlib.Path(text).resolve(), help='path of the program')


class Lines:
    """A namespace per worker, and one in the middle for the scheduler and two servers.

    `mbit` maps each worker's name to the rate of its connection in Mbit/s, in each direction.
    """

    def __init__(self, mbit):
        self.middle = f'sy{os.getpid()}'
        self.spaces = {name: f'{self.middle}-{number}' for number, name in enumerate(mbit, 1)}
        for space in (self.middle, *self.spaces.values()):
            run('ip', 'netns', 'add', space)
            run('ip', '-n', space, 'link', 'set', 'lo', 'up')
        for number, (name, space) in enumerate(self.spaces.items(), 1):
            near = f'line{number}'
            run('ip', '-n', self.middle, 'link', 'add', near, 'type', 'veth', 'peer', 'name', 'line', 'netns', space)
            for where, device, address in ((self.middle, near, 1), (space, 'line', 2)):
                run('ip', '-n', where, 'address', 'add', f'10.78.{number}.{address}/24', 'dev', device)
                run('ip', '-n', where, 'link', 'set', device, 'up')
                run('ip', 'netns', 'exec', where, 'tc', 'qdisc', 'add', 'dev', device, 'root', 'tbf', 'rate',
                    f'{mbit[name]}mbit', 'burst', '32kbit', 'latency', '1s')
            run('ip', '-n', space, 'route', 'add', 'default', 'via', f'10.78.{number}.1')

    def bytes(self):
        total = 0
        for space in self.spaces.values():
            shown = subprocess.run(['ip', '-n', space, '-s', '-j', 'link', 'show', 'line'], check=True,
                                   capture_output=True).stdout
            sums = json.loads(shown)[0]['stats64']
            total += sums['rx']['bytes'] + sums['tx']['bytes']
        return total

    def remove(self):
        for space in (self.middle, *self.spaces.values()):
            subprocess.run(['ip', 'netns', 'delete', space], check=False)

    def hosts(self, slow):
        """Returns a hosts file with these workers; `slow` maps names to slowdown factors."""
        text = f'[[host]]\nname = "middle"\nnetns = "{self.middle}"\naddress = "10.78.1.1"\n'
        text += 'scheduler = true\nservers = 2\n'
        for number, (name, space) in enumerate(self.spaces.items(), 1):
            if name not in slow:
                continue
            text += f'[[host]]\nname = "{name}"\nnetns = "{space}"\naddress = "10.78.{number}.2"\n'
            text += f'[[host.worker]]\nname = "{name}"\nslow = {slow[name]}\n'
        return text
