"""Runs the containers of a rendered JobSet as processes of this machine, each in a mount namespace that has the files
of its pod as a kubelet mounts them: keys as a secret of the group of the pod, the job as a ConfigMap, claims as
folders. The user is that of the image. So the arguments, mounts and modes of a manifest are tried, without a cluster.

    with Pods(documents, program) as pods:
        pods.start_all()
        codes = pods.wait()

Needs root. Pods are on one machine and have its network: the name of the scheduler's pod leads to 127.0.0.1.
"""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

USER = 10001


class Pods:
    def __init__(self, documents, program, keys):
        by_kind = {it['kind']: it for it in documents}
        self.maps = {it['metadata']['name']: it['data'] for it in documents if it['kind'] == 'ConfigMap'}
        self.name = by_kind['JobSet']['metadata']['name']
        self.groups = by_kind['JobSet']['spec']['replicatedJobs']
        self.program = program
        self.secret = {it.name: it.read_bytes() for it in pathlib.Path(keys).iterdir()}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='steelyard-pods-'))
        self.folder.chmod(0o755)
        self.processes = {}
        self.made = []  # folders of this machine, on which pods mount theirs
        for it in map(pathlib.Path, ('/etc/steelyard', '/var/lib/steelyard')):
            if not it.exists():
                it.mkdir()
                self.made.append(it)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process, _ in self.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(self.folder)
        for it in self.made:
            it.rmdir()

    def names(self):
        return [f'{self.name}-{group["name"]}-{index}-0' for group in self.groups for index in range(group['replicas'])]

    def start_all(self):
        for number, name in enumerate(self.names()):
            self.start(name, number)

    def start(self, name, number=None):
        number = self.names().index(name) if number is None else number
        own = next(it for it in self.groups if name.startswith(f'{self.name}-{it["name"]}-'))
        pod = own['template']['spec']['template']['spec']
        container, = pod['containers']
        variables = {'TASK': str(number), 'JOB_COMPLETION_INDEX': '0'}
        words = [re.sub(r'\$\((\w+)\)', lambda it: variables[it[1]], it) for it in container['args']]
        # setpriv replaces the shell, and the program setpriv: signals reach it.
        group = pod['securityContext']['fsGroup']
        run = shlex.join(['setpriv', f'--reuid={USER}', f'--regid={USER}', f'--groups={group}', '--inh-caps=-all',
                          self.program, *words])
        script = '\n'.join(['set -e', *self.mounts(name, pod, container), f'exec {run}'])
        log = self.folder / f'{name}.log'
        with log.open('ab') as out:
            process = subprocess.Popen(['unshare', '--mount', 'bash', '-c', script], env={**os.environ, **variables},
                                       cwd='/', stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       start_new_session=True)
        self.processes[name] = process, log

    def mounts(self, name, pod, container):
        """The lines of a shell that mount what the pod mounts."""
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        hosts = place / 'hosts'
        hosts.write_text(''.join(f'127.0.0.1 {it}.{self.name}\n' for it in self.names()) + '127.0.0.1 localhost\n')
        yield f'mount --bind {hosts} /etc/hosts'
        yield 'mount -t tmpfs none /etc/steelyard'
        group = pod['securityContext']['fsGroup']
        sources = {it['name']: self.source(place, it, group) for it in pod['volumes']}
        for mount in container['volumeMounts']:
            source, path = sources[mount['name']], mount['mountPath']
            if 'subPath' in mount:
                # The kubelet resolves links before it mounts a file of a volume.
                source = (source / mount['subPath']).resolve()
                yield f'mkdir -p {pathlib.Path(path).parent} && touch {path}'
            else:
                yield f'mkdir -p {path}'
            yield f'mount --bind {source} {path}'
            if mount.get('readOnly'):
                yield f'mount -o remount,bind,ro {path}'

    def source(self, place, volume, group):
        """The folder of a volume, as a kubelet makes it."""
        name = volume['name']
        if 'secret' in volume:
            wanted = {it['path']: self.secret[it['key']] for it in volume['secret']['items']}
            # A volume with a group adds the right to read to it.
            return linked(place / name, wanted, volume['secret']['defaultMode'] | 0o040, group)
        if 'configMap' in volume:
            text = self.maps[volume['configMap']['name']]
            return linked(place / name, {key: it.encode() for key, it in text.items()}, 0o644, group)
        claim = volume.get('persistentVolumeClaim', {}).get('claimName')
        folder = self.folder / f'claim-{claim}' if claim else place / name
        folder.mkdir(exist_ok=True)
        os.chown(folder, 0, group)
        folder.chmod(0o2775)
        return folder

    def wait(self, seconds=60):
        """The exit code of each pod; None if it still runs then."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(process.poll() is None for process, _ in self.processes.values()):
            time.sleep(0.05)
        return {name: process.poll() for name, (process, _) in self.processes.items()}

    def signal(self, name, number):
        os.kill(self.processes[name][0].pid, number)

    def output(self, name):
        return self.processes[name][1].read_text()


def linked(folder, files, mode, group):
    """Files in a folder of their own, to which links lead: so a kubelet replaces all of them at once."""
    version = folder / '..2026_11_26'
    version.mkdir(parents=True)
    folder.chmod(0o1777)
    (folder / '..data').symlink_to(version.name)
    for name, data in files.items():
        (version / name).write_bytes(data)
        os.chown(version / name, 0, group)
        (version / name).chmod(mode)
        (folder / name).symlink_to(f'..data/{name}')
    return folder
