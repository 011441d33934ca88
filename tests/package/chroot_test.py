# A new user's first minutes: in a Debian of apt alone, without a compiler, installs a package of build/packages, and
# runs `steelyard demo`, without network and as an ordinary user. The report has the seconds of each step. Exits with
# 77, "skipped", only if this machine cannot make such a root.
#
#   chroot_test.py SOURCE KIND SUITE PYTHON     KIND: wheel or tarball; PYTHON: the version that the suite has, as 3.11
import pathlib
import shutil
import sys
import time

from debian_root import Root

source, kind, suite, python = sys.argv[1:]
packages = pathlib.Path(source, 'build/packages')
PATTERNS = {'wheel': 'steelyard-*-manylinux_*.whl', 'tarball': 'steelyard-*-linux-*.tar.gz'}
FOREIGN_LIBRARIES = 8
MEGABYTES = 18


def install(root, package):
    """Returns the program, and the words that begin a call of Python with the package."""
    shutil.copy(package, root.place / 'opt')
    inside = f'/opt/{package.name}'
    if kind == 'tarball':
        root.run('tar', '-xzf', inside, '-C', '/opt')
        root.run(f'/opt/{package.name.removesuffix(".tar.gz")}/install.sh', network=False)
        return '/usr/local/bin/steelyard', ['env', 'PYTHONPATH=/usr/local/lib/steelyard', 'python3']
    root.run('python3', '-m', 'venv', '/opt/steelyard')
    root.run('/opt/steelyard/bin/pip', 'install', '--no-index', inside, network=False)
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


def check_demo(root, number, *words):
    said = root.run_as_user(*words)
    print(said)
    for text in ('equal bsp', 'lb-bsp bsp', 'steelyard bsp', ' alone', 'compare.html'):
        assert text in said, f'the demo printed no {text}'
    assert '</html>' in root.run_as_user('cat', f'runs/demo-{number}/compare.html'), 'the demo wrote no page'


package, = packages.glob(PATTERNS[kind])
assert package.stat().st_size <= MEGABYTES * 1e6, f'{package.name} has {package.stat().st_size / 1e6:.1f} MB'
with Root(suite) as root:
    began = time.monotonic()
    root.run('apt-get', '-qq', '-y', 'install', '--no-install-recommends', 'python3-venv')
    program, interpreter = install(root, package)
    check_demo(root, 1, program, 'demo')
    print(f'{time.monotonic() - began:.1f} s from the empty {suite} to the table, with {package.name}')

    version = root.run(*interpreter, '-c', 'import sys, steelyard; print(*sys.version_info[:2], steelyard.__version__)')
    assert version.split()[:2] == python.split('.'), f'{suite} has Python {version}, not {python}'
    assert root.run(program, '--version').startswith(f'steelyard {version.split()[2]}, protocol '), version
    balanced = 'from steelyard.balance import Balancer; print(sum(Balancer(3).plan(8)))'
    assert root.run(*interpreter, '-c', balanced) == '8\n'
    check_demo(root, 2, *interpreter, '-m', 'steelyard.demo', '--set', 'train.epochs=3')
    check_content(root)
