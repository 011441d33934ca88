"""A network with a delay between the hosts of network.py, instead of its switch. It forwards single IP packets
between TUN devices, so that the kernels at both ends see the effects of distance and of loss.
"""
import collections
import fcntl
import os
import random
import select
import struct
import subprocess
import threading
import time

import network

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
LONGEST = 1 << 16  # of a packet, bytes


def device(host):
    """A TUN device in the host's namespace; packets sent there are read from the returned descriptor."""
    descriptor = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack('16sH', host.encode(), IFF_TUN | IFF_NO_PI))
    network.shell(f'ip link set {host} netns {host} name line')
    # Long enough for the packets of a whole model, so that only the relay drops packets.
    network.shell(f'ip -n {host} link set line txqueuelen 10000')
    return descriptor


class Relay:
    """Forwards until the process ends. `loss` (0 to 1) may be changed at any time."""

    def __init__(self, delay, seed=1):
        self.delay, self.loss = delay, 0.0
        self.draw = random.Random(seed)
        self.forwarded = self.lost = 0
        self.at = {bytes(map(int, network.address(host).split('.'))): device(host) for host in network.HOSTS}
        self.waiting = collections.deque()  # (due time, descriptor, packet), in order: the delay is constant
        threading.Thread(target=self.forward, daemon=True).start()

    def forward(self):
        poller = select.epoll()
        for descriptor in self.at.values():
            poller.register(descriptor, select.EPOLLIN)
        while True:
            rest = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else 1.0
            for descriptor, _ in poller.poll(rest):
                self.take(descriptor)
            self.deliver()

    def take(self, descriptor):
        for _ in range(64):
            try:
                packet = os.read(descriptor, LONGEST)
            except BlockingIOError:
                return
            to = self.at.get(packet[16:20])
            if to is None:  # such as IPv6 neighbour discovery
                continue
            if self.draw.random() < self.loss:
                self.lost += 1
                continue
            self.waiting.append((time.monotonic() + self.delay, to, packet))

    def deliver(self):
        now = time.monotonic()
        while self.waiting and self.waiting[0][0] <= now:
            _, to, packet = self.waiting.popleft()
            self.forwarded += 1
            try:
                os.write(to, packet)
            except OSError as error:
                if error.errno not in (11, 5):  # full, or the device is down
                    raise


def build(delay):
    """Creates the hosts of network.py, connected by a relay that takes `delay` seconds each way."""
    subprocess.run('mount -t tmpfs none /run', shell=True, check=True)
    network.shell('ip link set lo up')
    for host in network.HOSTS:
        network.shell('ip netns add', host)
    relay = Relay(delay)
    for host in network.HOSTS:
        network.shell(f'ip -n {host} address add {network.address(host)}/24 dev line')
        network.shell(f'ip -n {host} link set line up')
        network.shell(f'ip -n {host} link set lo up')
    return relay
