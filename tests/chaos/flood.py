"""Connections of unknown clients to every port on which a run listens."""
import contextlib
import pathlib
import resource
import select
import socket
import struct
import threading

from chaos_run import ROLES

GREETING = b'\xff' + bytes(8) + b'\x7f\x03\x01'  # of ZMTP 3.1; followed by the mechanism, the as-server flag and filler
DEALER = b'\x05READY\x0bSocket-Type' + struct.pack('>I', 6) + b'DEALER'
READY = bytes([4, len(DEALER)]) + DEALER
ENORMOUS = b'\x02' + struct.pack('>Q', 2**62)  # the head of an endless message


def greeting(mechanism):
    return GREETING + mechanism.ljust(20, b'\0') + bytes(32)


def silence(draw):
    return b''


def garbage(draw):
    """Random bytes, alone or after a valid start."""
    noise = draw.randbytes(draw.randint(1, 4000))
    frames = [bytes([draw.choice([0, 1]), size]) + draw.randbytes(size) for size in range(1, 100, 7)]
    short, hello = b''.join(frames), b'\x04\xc8\x05HELLO' + draw.randbytes(194)
    return draw.choice([
        noise, greeting(b'CURVE') + noise, greeting(b'CURVE') + hello + noise,
        greeting(b'NULL') + noise, greeting(b'NULL') + READY + noise, greeting(b'NULL') + READY + short,
        greeting(b'NULL') + READY + ENORMOUS + noise])


def ports(run):
    """The addresses and ports on which the processes of a run listen."""
    found = set()
    for role in ROLES:
        for number, _ in run.processes(role):
            with contextlib.suppress(OSError):
                for line in pathlib.Path(f'/proc/{number}/net/tcp').read_text().splitlines()[1:]:
                    _, local, _, state = line.split()[:4]
                    host, port = (int(it, 16) for it in local.split(':'))
                    if state == '0A':
                        found.add((socket.inet_ntoa(struct.pack('<I', host)), int(port)))
    return sorted(it for it in found if not it[0].startswith('127.'))


class Flood:
    """Keeps `number` connections to each port open, and replaces all of them every `seconds`."""

    def __init__(self, run, draw, number, words, seconds=3600.0):
        self.run, self.draw, self.number, self.words, self.seconds = run, draw, number, words, seconds
        self.open, self.poll, self.opened, self.most = {}, select.epoll(), 0, 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.flow)

    def __enter__(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        print(f'  {self.words.__name__}: {self.opened} connections, {self.most} at once', flush=True)

    def flow(self):
        rest = self.seconds
        while not self.over.wait(0.1):
            for number, _ in self.poll.poll(0):
                self.close(number)
            rest -= 0.1
            if rest < 0:
                rest = self.seconds
                for number in list(self.open):
                    self.close(number)
            for port in ports(self.run):
                self.connect(port)
            self.most = max(self.most, len(self.open))
        for number in list(self.open):
            self.close(number)

    def connect(self, port):
        for _ in range(self.number - sum(it == port for _, it in self.open.values())):
            try:
                connection = socket.create_connection(port, timeout=0.2)
                connection.sendall(self.words(self.draw))
            except OSError:
                return
            self.opened += 1
            self.open[connection.fileno()] = (connection, port)
            self.poll.register(connection, select.EPOLLHUP | select.EPOLLRDHUP)

    def close(self, number):
        self.poll.unregister(number)
        self.open.pop(number)[0].close()
