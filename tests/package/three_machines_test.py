"""Runs the commands of "Three machines in ten minutes" (docs/launch.md), and compares their output with the document.

    three_machines_test.py SOURCE BUILD DIRECTORY

The machines are network namespaces, each with a home directory and a /usr/local of its own; a program in place of ssh
leads there. Needs root and iproute2.
"""
import os
import shutil
import subprocess
import sys

from tutorial_test import compare

MACHINES = ('one', 'two', 'three')

# Passes its last argument to a shell on a machine, as sshd does; a tunnel lasts until it is killed.
SSH = r'''#!/bin/sh
[ "$1" = -N ] && exec sleep 1000
while [ $# -gt 2 ]; do shift; done
cd "$MACHINES/$1" || exit 255
HOME=$PWD PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export HOME PATH
exec ip netns exec "$NETWORK-$1" unshare -m sh -c 'mount --bind "$HOME/local" /usr/local && exec sh -c "$1"' sh "$2"
'''


def ip(*words):
    subprocess.run(['ip', *words], check=True)


def connect(network):
    """A bridge in a namespace of its own, and the machines at 10.0.0.1, 10.0.0.2 and so on."""
    hub = network + '-hub'
    ip('netns', 'add', hub)
    ip('-n', hub, 'link', 'add', 'bridge', 'type', 'bridge')
    ip('-n', hub, 'link', 'set', 'bridge', 'up')
    for number, name in enumerate(MACHINES, 1):
        machine, port = f'{network}-{name}', f'port{number}'
        ip('netns', 'add', machine)
        ip('-n', hub, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', machine)
        ip('-n', hub, 'link', 'set', port, 'master', 'bridge', 'up')
        ip('-n', machine, 'address', 'add', f'10.0.0.{number}/24', 'dev', 'eth0')
        for device in ('lo', 'eth0'):
            ip('-n', machine, 'link', 'set', device, 'up')


def main():
    source, build, directory = (os.path.abspath(it) for it in sys.argv[1:])
    if os.geteuid() != 0 or not shutil.which('ip'):
        print('needs root and iproute2')
        sys.exit(77)
    shutil.rmtree(directory, ignore_errors=True)
    for name in MACHINES:
        os.makedirs(os.path.join(directory, 'machines', name, 'local'))
    os.makedirs(os.path.join(directory, 'bin'))
    os.chdir(directory)
    with open('bin/ssh', 'w', encoding='utf-8') as file:
        file.write(SSH)
    os.chmod('bin/ssh', 0o755)
    network = f'steelyard-{os.getpid()}'
    environment = dict(os.environ, NETWORK=network, MACHINES=os.path.join(directory, 'machines'),
                       PATH=':'.join([os.path.join(directory, 'bin'), os.path.join(build, 'bin'), os.environ['PATH']]))
    try:
        connect(network)
        compared, findings = compare(os.path.join(source, 'docs/launch.md'), environment, 'Three machines in ten minutes')
    finally:
        for name in ('hub', *MACHINES):
            subprocess.run(['ip', 'netns', 'delete', f'{network}-{name}'], check=False)
    print('\n'.join(findings))
    print(f'{compared} outputs compared, {len(findings)} differ')
    sys.exit(1 if findings or compared == 0 else 0)


if __name__ == '__main__':
    main()
