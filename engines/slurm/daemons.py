"""Slurm on one machine, for tests: slurmctld, three slurmd and munged, with ports and files of their own.

    with Daemons() as slurm:
        slurm.run('srun', '-N3', 'hostname')

The nodes n1, n2 and n3 have four processors and 2 GB each, whatever the machine has. There are two partitions of them:
`low`, the default, and `high`, whose jobs preempt those of `low`: these are put back into the queue. Needs root.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

PROGRAMS = ('munged', 'slurmctld', 'slurmd', 'srun', 'sbatch', 'scontrol')
NODES = ('n1', 'n2', 'n3')

CONFIGURATION = """
ClusterName=steelyard
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/spool.%n
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=5
{nodes}
PartitionName=low Nodes=n[1-3] Default=YES PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=n[1-3] PriorityTier=10 PreemptMode=OFF
"""
NODE = 'NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=2000'


def missing():
    """What the machine lacks for these daemons; empty if nothing."""
    if os.geteuid() != 0:
        return 'root'
    return ', '.join(it for it in PROGRAMS if shutil.which(it) is None)


def free_ports(count):
    sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(count)]
    ports = [it.getsockname()[1] for it in sockets]
    for it in sockets:
        it.close()
    return ports


def until(holds, what, seconds=30, every=0.05):
    """Returns the first true value of holds()."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := holds():
            return value
        time.sleep(every)
    raise TimeoutError(f'after {seconds} s: not yet {what}')


class Daemons:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='steelyard-slurm-'))
        self.processes = []
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith('SLURM_')}
        self.environment['SLURM_CONF'] = str(self.folder / 'slurm.conf')

    def __enter__(self):
        try:
            self.configure()
            self.start('munged', '--foreground', f'--socket={self.folder}/munge.socket',
                       f'--key-file={self.folder}/munge.key', f'--pid-file={self.folder}/munge.pid',
                       f'--seed-file={self.folder}/munge.seed', f'--log-file={self.folder}/munge.log')
            until((self.folder / 'munge.socket').exists, 'a socket of munged')
            self.start('slurmctld', '-D')
            for name in NODES:
                self.start('slurmd', '-D', '-N', name)
            until(lambda: self.run('sinfo', '-ho', '%D %t', check=False).split() == ['3', 'idle'], 'three idle nodes')
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.processes:
            self.run('scancel', '--user=root', check=False)
            try:
                until(lambda: not self.run('squeue', '-h', check=False), 'an empty queue')
            except TimeoutError as error:
                print(error, self.run('squeue', check=False))
        for it in reversed(self.processes):
            it.terminate()
        for it in reversed(self.processes):
            try:
                it.wait(10)
            except subprocess.TimeoutExpired:
                it.kill()
                it.wait()
        shutil.rmtree(self.folder)

    def configure(self):
        for name in ('state', *(f'spool.{it}' for it in NODES)):
            (self.folder / name).mkdir()
        # munged demands that others cannot write to this folder, and that only this user can read the key.
        self.folder.chmod(0o755)
        key = self.folder / 'munge.key'
        key.touch(0o600)
        key.write_bytes(os.urandom(128))
        host, ports = socket.gethostname(), free_ports(1 + len(NODES))
        nodes = '\n'.join(NODE.format(name=name, host=host, port=port) for name, port in zip(NODES, ports[1:]))
        (self.folder / 'slurm.conf').write_text(
            CONFIGURATION.format(host=host, folder=self.folder, ports=ports, nodes=nodes))
        (self.folder / 'cgroup.conf').write_text('CgroupPlugin=cgroup/v1\n')

    def start(self, *words):
        """Starts a daemon that ends with this process, even if that is killed."""
        with open(self.folder / f'{words[0]}-{len(self.processes)}.out', 'wb') as log:
            self.processes.append(subprocess.Popen(('setpriv', '--pdeathsig', 'TERM', *words), env=self.environment,
                                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def popen(self, *words, **more):
        return subprocess.Popen([str(it) for it in words], env=self.environment, text=True, **more)

    def run(self, *words, check=True, **more):
        """Returns standard output; shows both outputs if the command fails."""
        done = subprocess.run([str(it) for it in words], env=self.environment, text=True, capture_output=True, **more)
        if check and done.returncode != 0:
            raise RuntimeError(f'{words} exited with {done.returncode}:\n{done.stdout}{done.stderr}')
        return done.stdout
