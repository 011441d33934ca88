"""A separate network for the run: each process has a host with its own namespace and address, all on one switch.

Hosts have the names of their processes. This script has an address at the switch, too.
"""
import os
import subprocess
import sys

HOSTS = ('scheduler', 'server-0', 'server-1', 'ada', 'bob', 'cyd')
INSIDE = '--inside'


def address(host):
    return f'10.78.0.{HOSTS.index(host) + 1}'


def enter():
    """Restarts this script in new mount, network and process namespaces, which are removed when it exits."""
    if INSIDE not in sys.argv:
        own = ['unshare', '--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc']
        os.execvp('unshare', [*own, sys.executable, '-B', *sys.argv, INSIDE])


def shell(*words):
    subprocess.run(' '.join(words).split(), check=True)


def on(host, *words):
    shell('ip netns exec', host, *words)


def build():
    shell('mount -t tmpfs none /run')
    shell('ip link set lo up')
    shell('ip link add switch type bridge')
    shell('ip address add 10.78.0.254/24 dev switch')
    shell('ip link set switch up')
    for host in HOSTS:
        shell('ip netns add', host)
        shell(f'ip link add {host} type veth peer name line netns {host}')
        shell(f'ip link set {host} master switch up')
        shell(f'ip -n {host} address add {address(host)}/24 dev line')
        shell(f'ip -n {host} link set line up')
        shell(f'ip -n {host} link set lo up')


def hosts_file(workers):
    lines = []
    for host in HOSTS:
        lines += ['[[host]]', f'name = "{host}"', f'netns = "{host}"', f'address = "{address(host)}"']
        lines += ['scheduler = true'] if host == 'scheduler' else []
        lines += ['servers = 1'] if host.startswith('server') else []
        lines += ['[[host.worker]]', f'name = "{host}"', f'slow = {workers[host]}'] if host in workers else []
    return '\n'.join(lines) + '\n'
