"""What bench/state_transfer.py compares with: the memory of processes, and the line, which is a plain copy of a file
over TCP."""
import multiprocessing
import os
import pathlib
import socket
import tempfile
import threading
import time

CHUNK = 1 << 20
PROCESSES = multiprocessing.get_context('spawn')


class Memory:
    """Samples the resident memory of processes every 10 ms. `processes`: pids by name. `shared` is the part of it that
    other processes may have, too: mapped files and shared memory."""

    def __init__(self, processes):
        self.samples = {name: [] for name in processes}
        self.shared = {name: [] for name in processes}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(processes,))
        self._thread.start()

    def _run(self, processes):
        while not self._over.wait(0.01):
            for name, process in processes.items():
                try:
                    pages = [int(it) for it in pathlib.Path(f'/proc/{process}/statm').read_text().split()]
                except OSError:
                    continue  # it has exited
                self.samples[name].append((time.monotonic(), pages[1] * 4096))
                self.shared[name].append((time.monotonic(), pages[2] * 4096))

    def end(self):
        self._over.set()
        self._thread.join()

    def peak(self, name, begin, end):
        return max(size for at, size in self.samples[name] if begin <= at <= end)

    def at(self, name, moment):
        return [size for at, size in self.samples[name] if at <= moment][-1]


def copy(read, write):
    """Copies until `read` has no more bytes."""
    chunk = memoryview(bytearray(CHUNK))
    while size := read(chunk):
        write(chunk[:size])


def forward(begun, listener, port):
    """The process in the middle: copies from one connection to another."""
    begun.wait()
    source, _ = listener.accept()
    with socket.create_connection(('127.0.0.1', port)) as target:
        copy(source.recv_into, target.sendall)


def receive(begun, listener, path):
    begun.wait()
    source, _ = listener.accept()
    with open(path, 'wb', buffering=0) as file:
        copy(source.recv_into, file.write)


def line(size, folder):
    """Seconds to copy a new file of this size over TCP to another, through a process in the middle."""
    with tempfile.TemporaryDirectory(prefix='line-', dir=folder) as place:
        with open(f'{place}/source', 'wb') as file:
            for _ in range(size // CHUNK):
                file.write(os.urandom(CHUNK))
        last, middle = (socket.create_server(('127.0.0.1', 0)) for _ in range(2))
        begun = PROCESSES.Barrier(3)
        processes = [PROCESSES.Process(target=receive, args=(begun, last, f'{place}/target')),
                     PROCESSES.Process(target=forward, args=(begun, middle, last.getsockname()[1]))]
        for process in processes:
            process.start()
        begun.wait()
        begin = time.monotonic()
        with open(f'{place}/source', 'rb', buffering=0) as file, socket.create_connection(middle.getsockname()) as out:
            copy(file.readinto, out.sendall)
        for process in processes:
            process.join()
        seconds = time.monotonic() - begin
        if os.path.getsize(f'{place}/target') != size // CHUNK * CHUNK:
            raise SystemExit('state_transfer.py: WRONG RESULT: the line has lost bytes')
        return seconds
