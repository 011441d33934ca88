# The containers of a rendered JobSet, run as processes of this machine with the files of their pods (pods.py): they
# train, and after a drained and a killed pod they go on. Needs root.
#
#   pods_test.py
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

if os.geteuid() != 0:
    print('skipped: only root can make mount namespaces')
    sys.exit(77)
try:
    import yaml
except ImportError as missing:
    print(f'{missing}: script/setup --engines installs it')
    sys.exit(77)
from pods import Pods

program = os.environ['STEELYARD_PROGRAM']
jobs = pathlib.Path(__file__).parent.parent.parent / 'examples/jobs'
HOSTS = """
[[host]]
name = "fast"
count = 2
[[host.worker]]
[[host]]
name = "slow"
[[host.worker]]
simulate_slowdown = 3
[[host]]
name = "lead"
scheduler = true
port = {port}
[[host]]
name = "store"
count = 2
servers = 1
"""


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as it:
        return it.getsockname()[1]


def documents_of(folder, *settings):
    hosts = pathlib.Path(folder, 'hosts.toml')
    hosts.write_text(HOSTS.format(port=free_port()))
    options = [word for it in settings for word in ('--set', it)]
    text = subprocess.run([program, 'render', 'jobset', '--name', 'job', *options, hosts, jobs / 'quick.toml'],
                          check=True, capture_output=True, text=True).stdout
    return list(yaml.safe_load_all(text))


def until(holds, what, pods, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        logs = '\n'.join(f'{it}: {pods.output(it)}' for it in pods.names())
        assert time.monotonic() < end, f'not yet {what}\n{logs}'
        time.sleep(0.05)


def numbers_in(pods):
    """The numbers of the rounds of training that are recorded."""
    file = pods.folder / 'claim-job-runs/job/rounds.jsonl'
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [json.loads(it)['round'] for it in lines if it.endswith('\n') and '"purpose":"train"' in it]


def rounds_in(pods):
    return len(numbers_in(pods))


def show(pods, codes):
    return '\n'.join(f'{it} ({codes.get(it)}): {pods.output(it)}' for it in pods.names())


def check_training(folder, keys):
    with Pods(documents_of(folder), program, keys) as pods:
        pods.start_all()
        codes = pods.wait()
        assert set(codes.values()) == {0}, show(pods, codes)
        print(f'{len(codes)} pods: all ended with 0 after {rounds_in(pods)} rounds')


def check_drained(folder, keys):
    """The scheduler's pod is drained: all ask to be started again, and go on from the saved round."""
    with Pods(documents_of(folder, 'train.epochs=2000'), program, keys) as pods:
        pods.start_all()
        until(lambda: rounds_in(pods) > 50, 'training', pods)
        pods.signal('job-lead-0-0', signal.SIGTERM)
        codes = pods.wait()
        assert set(codes.values()) == {75}, show(pods, codes)
        before = rounds_in(pods)
        pods.start_all()
        until(lambda: rounds_in(pods) > before + 50, 'going on', pods)
        numbers = numbers_in(pods)
        assert numbers == list(range(len(numbers))), 'rounds were lost or repeated'
        print(f'drained after {before} rounds, continued at the same')


def check_killed(folder, keys):
    """A pod of a worker is killed, and its successor joins."""
    with Pods(documents_of(folder, 'train.epochs=2000'), program, keys) as pods:
        pods.start_all()
        until(lambda: rounds_in(pods) > 50, 'training', pods)
        os.killpg(pods.processes['job-fast-1-0'][0].pid, signal.SIGKILL)
        pods.processes['job-fast-1-0'][0].wait()
        code = 75
        while code == 75:  # as long as the former one is taken for alive
            pods.start('job-fast-1-0')
            before = rounds_in(pods)
            until(lambda: pods.processes['job-fast-1-0'][0].poll() is not None or rounds_in(pods) > before + 200,
                  'training again', pods)
            code = pods.processes['job-fast-1-0'][0].poll()
        assert code is None, show(pods, {})
        print('a killed worker: its successor trains')


with tempfile.TemporaryDirectory() as work:
    key_folder = pathlib.Path(work, 'keys')
    for role in ('scheduler', 'server', 'worker'):
        subprocess.run([program, 'keys', 'new', key_folder, role], check=True, capture_output=True)
    for check in (check_training, check_drained, check_killed):
        check(work, key_folder)
