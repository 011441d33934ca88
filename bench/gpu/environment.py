"""What the machine is and has: the first lines of a measurement, without which its numbers mean little."""
import os
import platform
import shutil
import subprocess


def said(*command, env=None, last=False):
    """The first or last line that a command prints; empty if there is no such command."""
    if not shutil.which(command[0]):
        return ''
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors='replace',
                                env=env, stdin=subprocess.DEVNULL, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ''
    lines = result.stdout.strip().splitlines()
    return lines[-1 if last else 0].strip() if lines and result.returncode == 0 else ''


def card(*properties):
    return said('nvidia-smi', '--id=0', f'--query-gpu={",".join(properties)}', '--format=csv,noheader')


def processor():
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            return next(line.split(':')[1].strip() for line in file if line.startswith('model name'))
    except (OSError, StopIteration):
        return platform.machine()


TORCH = 'import torch; print(torch.__version__, "CUDA", torch.version.cuda, "cuDNN", torch.backends.cudnn.version())'


def rows():
    """Yields rows; what is missing has no value."""
    yield 'card', card('name', 'driver_version', 'compute_cap')
    yield 'clocks now and at most', card('clocks.sm', 'clocks.max.sm', 'clocks.mem', 'clocks.max.mem')
    yield 'power and temperature', card('power.limit', 'temperature.gpu', 'ecc.mode.current')
    yield 'PCIe generation and width', card('pcie.link.gen.current', 'pcie.link.gen.max', 'pcie.link.width.current')
    yield 'cores', f'{len(os.sched_getaffinity(0))} of {processor()}'
    yield 'C library', ' '.join(platform.libc_ver())
    yield 'g++', said('g++', '--version')
    yield 'nvcc', said('nvcc', '--version', last=True)
    yield 'compute-sanitizer', said('compute-sanitizer', '--version', last=True)
    yield 'Python', platform.python_version()
    yield 'PyTorch', said('python3', '-c', TORCH, last=True)
    yield 'library path', os.environ.get('LD_LIBRARY_PATH', '')


def show_all(show):
    for what, value in rows():
        show([f'env: {what}', value or 'none', '', ''])
