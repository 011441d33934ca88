# A new user's first minutes: in a Debian of apt alone, without a compiler, installs a package of build/packages, and
# runs `steelyard demo`, without network and as an ordinary user. The report has the seconds of each step. Exits with
# 77, "skipped", only if this machine cannot make such a root.
#
#   chroot_test.py SOURCE KIND SUITE PYTHON     KIND: wheel or tarball; PYTHON: the version that the suite has, as 3.11
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

source, kind, suite, python = sys.argv[1:]
packages = pathlib.Path(source, 'build/packages')
PATTERNS = {'wheel': 'steelyard-*-manylinux_*.whl', 'tarball': 'steelyard-*-linux-*.tar.gz'}
USER = 1000
FOREIGN_LIBRARIES = 8
MEGABYTES = 18


def run(*words, shown=None, **more):
    words = [str(it) for it in words]
    began = time.monotonic()
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit(f'{" ".join(words)} exited with {done.returncode}:\n{done.stdout}')
    print(f'{time.monotonic() - began:6.1f} s  {" ".join(shown or words)}', flush=True)
    return done.stdout


class Root:
    """A Debian of apt alone, with namespaces of its own for processes and mounts."""

    def __init__(self, place):
        self.place = place
        made = subprocess.run(['mmdebstrap', '--quiet', '--variant=apt', suite, place], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode != 0:
            sys.exit(f'mmdebstrap {suite} failed:\n{made.stdout}')
        shutil.copy('/etc/resolv.conf', pathlib.Path(place, 'etc/resolv.conf'))

    def run(self, *words, network=False, user=0, folder='/'):
        return run('unshare', '--mount', '--pid', '--fork', '--kill-child', *([] if network else ['--net']),
                   'sh', '-ec',
                   'mount -t proc proc "$1/proc"; mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"; '
                   'root=$1 folder=$2; shift 2; '
                   'exec chroot "$root" sh -c \'cd "$0"; exec "$@"\' "$folder" "$@"',
                   'sh', self.place, folder,
                   *(['setpriv', f'--reuid={user}', f'--regid={user}', '--clear-groups', 'env', 'HOME=/srv/user']
                     if user else []), *words, shown=words)

    def text(self, path):
        return pathlib.Path(self.place, path.lstrip('/')).read_text()


def install(root, package):
    """Returns the program, and the words that begin a call of Python with the package."""
    shutil.copy(package, pathlib.Path(root.place, 'opt'))
    inside = f'/opt/{package.name}'
    if kind == 'tarball':
        root.run('tar', '-xzf', inside, '-C', '/opt')
        root.run(f'/opt/{package.name.removesuffix(".tar.gz")}/install.sh')
        return '/usr/local/bin/steelyard', ['env', 'PYTHONPATH=/usr/local/lib/steelyard', 'python3']
    root.run('python3', '-m', 'venv', '/opt/steelyard')
    root.run('/opt/steelyard/bin/pip', 'install', '--no-index', inside)
    return '/opt/steelyard/bin/steelyard', ['/opt/steelyard/bin/python3']


def check_content(root):
    """Sizes, libraries and licences of what was installed, and that no compiler came with it."""
    files = root.run('find', '/', '-xdev', '-path', '*steelyard*', '-type', 'f').split()
    libraries = sorted({pathlib.Path(it).name for it in files if '/steelyard.libs/' in it})
    print(*libraries, sep='\n')
    assert len(libraries) <= FOREIGN_LIBRARIES, f'{len(libraries)} foreign libraries: {libraries}'
    for word in ('krb5', 'ssl', 'crypto', 'norm', 'pgm', 'brotli'):
        assert not any(word in it for it in libraries), f'{word} is in {libraries}'
    for name in ('zeromq3', 'libdnnl2', 'libtbb12'):
        assert any(it.endswith(f'/steelyard/licences/{name}.txt') for it in files), f'the licence of {name} is missing'
    assert 'absent' in root.run('sh', '-c', 'command -v gcc cc c++ || echo absent')


def check_demo(root, program, folder, *options):
    said = root.run(*program, *options, user=USER, folder=folder)
    print(said)
    for words in ('equal bsp', 'lb-bsp bsp', 'steelyard bsp', ' alone', 'compare.html'):
        assert words in said, f'the demo printed no {words}'
    assert '</html>' in root.text(f'{folder}/runs/demo-1/compare.html'), 'the demo wrote no page'


if not shutil.which('mmdebstrap') or subprocess.run(['unshare', '--mount', '--pid', '--fork', 'true']).returncode != 0:
    print('skipped: a root of its own needs mmdebstrap (script/setup --packages) and the rights of root')
    sys.exit(77)
package, = packages.glob(PATTERNS[kind])
assert package.stat().st_size <= MEGABYTES * 1e6, f'{package.name} has {package.stat().st_size / 1e6:.1f} MB'
with tempfile.TemporaryDirectory(prefix='steelyard-root-') as place:
    root = Root(pathlib.Path(place, 'root'))
    began = time.monotonic()
    root.run('apt-get', '-qq', 'update', network=True)
    root.run('apt-get', '-qq', '-y', 'install', '--no-install-recommends', 'python3-venv', network=True)
    program, interpreter = install(root, package)
    root.run('sh', '-c', f'mkdir -p /srv/user /srv/other && chown {USER}:{USER} /srv/*')
    check_demo(root, [program, 'demo'], '/srv/user')
    print(f'{time.monotonic() - began:.1f} s from the empty {suite} to the table, with {package.name}')

    version = root.run(*interpreter, '-c', 'import sys, steelyard; print(*sys.version_info[:2], steelyard.__version__)')
    assert version.split()[:2] == python.split('.'), f'{suite} has Python {version}, not {python}'
    assert root.run(program, '--version').startswith(f'steelyard {version.split()[2]}, protocol '), version
    balanced = 'from steelyard.balance import Balancer; print(sum(Balancer(3).plan(8)))'
    assert root.run(*interpreter, '-c', balanced) == '8\n'
    check_demo(root, [*interpreter, '-m', 'steelyard.demo'], '/srv/other', '--set', 'train.epochs=3')
    check_content(root)
