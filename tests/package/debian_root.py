"""A fresh Debian of apt alone in a folder, in which tests install packages; a container of systemd-nspawn runs its
commands. Without the tools or the rights for it a test exits with 77, "skipped"."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time


def run(*words, codes=(0,), **more):
    """Prints the seconds of a command and returns its output; exits if it fails."""
    words = [str(it) for it in words]
    began = time.monotonic()
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode not in codes:
        sys.exit(f'{" ".join(words)} exited with {done.returncode}:\n{done.stdout}')
    print(f'{time.monotonic() - began:6.1f} s  {" ".join(words)[-100:]}', flush=True)
    # Printed by systemd-nspawn at its end where /run is on a disk.
    return re.sub(r'^Attempted to remove disk file system under .*\n+', '', done.stdout, flags=re.M)


def packages(source):
    """The Debian packages that script/package built, by name."""
    found = {it.name.split('_')[0]: it for it in pathlib.Path(source, 'build/packages').glob('*.deb')}
    if sorted(found) != ['libsteelyard-dev', 'python3-steelyard', 'steelyard']:
        sys.exit(f'build/packages has {sorted(found)}: build the packages with script/package deb')
    return found


def skip_without(*tools):
    for tool in tools:
        if not shutil.which(tool):
            print(f'skipped: {tool} is missing: script/setup --packages installs it')
            sys.exit(77)
    if os.geteuid() != 0:
        print('skipped: a Debian of its own needs the rights of root')
        sys.exit(77)


class Root:
    """`with Root() as root:` the folder exists inside of the block. `suite`: default: the release of this machine."""

    def __init__(self, suite=None):
        skip_without('mmdebstrap', 'systemd-nspawn')
        own = re.search(r'^VERSION_CODENAME=(\w+)', pathlib.Path('/etc/os-release').read_text(), re.M)
        self.suite = suite or own[1]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix='steelyard-root-')
        self.place = pathlib.Path(self.folder.name, self.suite)
        run('mmdebstrap', '--quiet', '--variant=apt', self.suite, self.place)
        self.add_user()
        self.skip_without_containers()
        self.run('apt-get', '-qq', 'update')
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def skip_without_containers(self):
        """Some machines, as containers themselves, do not allow them."""
        done = subprocess.run([str(it) for it in self.container('--pipe', 'true')], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            self.folder.cleanup()
            print(f'skipped: systemd-nspawn does not work here: {done.stdout}')
            sys.exit(77)

    def add_user(self):
        """An ordinary user. Debian 13 has useradd in a package that apt does not need."""
        with open(self.place / 'etc/passwd', 'a') as users:
            users.write('ada:x:1000:1000::/srv/ada:/bin/sh\n')
        home = self.place / 'srv/ada'
        home.mkdir()
        os.chown(home, 1000, 1000)

    def container(self, *words):
        # tzdata cannot write /etc/localtime if it is mounted.
        return ('systemd-nspawn', '--quiet', '--register=no', '--keep-unit', '--timezone=off', '-D', self.place, *words)

    def run(self, *words, codes=(0,), network=True):
        """A command inside, as root, with the network of this machine or none."""
        place = '--resolv-conf=copy-host' if network else '--private-network'
        return run(*self.container(place, '--setenv=DEBIAN_FRONTEND=noninteractive', '--pipe', *words), codes=codes,
                   stdin=subprocess.DEVNULL)

    def run_as_user(self, *words):
        """Likewise as an ordinary user without network, in the folder of this user."""
        at_home = ('sh', '-c', 'cd && exec "$@"', 'sh', *words)
        return run(*self.container('--private-network', '--user=ada', '--pipe', *at_home), stdin=subprocess.DEVNULL)

    def install(self, *files):
        """Installs packages from files with apt. Returns megabytes and seconds of the download, then of the rest."""
        for file in files:
            shutil.copy(file, self.place / 'var/tmp')
        get = ['apt-get', 'install', '--yes', '--no-install-recommends', *(f'/var/tmp/{it.name}' for it in files)]
        began = time.monotonic()
        said = self.run(*get, '--download-only')
        downloaded = time.monotonic()
        self.run(*get)
        amount = re.search(r'^Need to get ([\d.,]+) ([kM]?)B', said, re.M)
        size = float(amount[1].replace(',', '')) * {'': 1e-6, 'k': 1e-3, 'M': 1}[amount[2]] if amount else 0
        return size, downloaded - began, time.monotonic() - downloaded
