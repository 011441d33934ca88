# The Debian packages in a fresh Debian of apt alone: apt installs them from files with all that they need, the program
# trains, Python finds its package, a project compiles against the headers; an older release is upgraded, and a purge
# leaves nothing. Prints the seconds from the empty root to the first result, with those of the download apart.
#
#   deb_test.py SOURCE
import pathlib
import re
import sys
import tempfile
import time

from debian_root import Root, packages, run

source, = sys.argv[1:]
debs = packages(source)


def older(file, into):
    """The package as an older release would be: with its version, and with a file that the new one has no more."""
    tree = pathlib.Path(into, file.stem)
    run('dpkg-deb', '--raw-extract', file, tree)
    control = tree / 'DEBIAN/control'
    text = control.read_text()
    version = re.search(r'^Version: (.*)', text, re.M)[1]
    control.write_text(text.replace(f'Version: {version}', 'Version: 0.0.9').replace(f'(= {version})', '(= 0.0.9)'))
    (tree / 'usr/share/doc' / file.name.split('_')[0] / 'former').write_text('of the older release\n')
    made = pathlib.Path(into, file.name.replace(f'_{version}_', '_0.0.9_'))
    run('dpkg-deb', '--root-owner-group', '--build', tree, made)
    return made


def check_program(root):
    began = time.monotonic()
    size, download, install = root.install(debs['steelyard'])
    help_text = root.run_as_user('steelyard', '--help')
    assert 'Trains neural networks on machines of unequal speed.' in help_text, help_text
    first = ['demo'] if '\n  demo ' in help_text else ['train', '/usr/share/steelyard/jobs/quick.toml']
    said = root.run_as_user('steelyard', *first)
    print(f'{time.monotonic() - began:.1f} s from the empty {root.suite} to the result of `steelyard {first[0]}`, '
          f'{download:.1f} s of them for the download of {size:.1f} MB, {install:.1f} s for the installation')
    assert 'finished' in said or ' alone' in said, said
    assert 'absent' in root.run('sh', '-c', 'command -v gcc cc c++ || echo absent')
    page = root.run('sh', '-c', 'zcat /usr/share/man/man1/steelyard-worker.1.gz')
    assert 'start one worker' in page, page
    complete = '. /usr/share/bash-completion/completions/steelyard; COMP_WORDS=(steelyard train --res) COMP_CWORD=2; '
    assert '--resume --resume-from' in root.run('bash', '-c', complete + '_steelyard; echo "${COMPREPLY[@]}"')


def check_python(root):
    root.install(debs['python3-steelyard'])
    asked = 'import steelyard.balance as it; print(sum(it.Balancer(3).plan(8)), it.__file__, it.__cached__)'
    total, file, cached = root.run_as_user('python3', '-c', asked).split()
    assert total == '8' and file.startswith('/usr/lib/python3/dist-packages/steelyard/'), file
    assert (root.place / cached[1:]).exists(), f'{cached} was not compiled by the installation'


def check_purge(root):
    root.run('apt-get', '--yes', 'purge', 'steelyard', 'python3-steelyard')
    left = [it for it in root.run('find', '/', '-xdev', '-iname', '*steelyard*').split()
            if not it.startswith(('/proc/', '/var/tmp/', '/var/cache/apt/', '/srv/ada/'))]  # runs of the user stay
    assert not left, f'a purge leaves {left}'


def check_upgrade(root):
    names = ('steelyard', 'python3-steelyard')
    with tempfile.TemporaryDirectory() as folder:
        root.install(*(older(debs[it], folder) for it in names))
    said = root.run('dpkg-query', '--show', *names)
    assert said.count('0.0.9') == 2, said
    settings = root.place / 'etc/steelyard/worker.conf'
    settings.write_text('STEELYARD_SCHEDULER=10.0.0.1:7070\n')
    root.install(*(debs[it] for it in names))
    assert settings.read_text() == 'STEELYARD_SCHEDULER=10.0.0.1:7070\n', 'the upgrade replaced worker.conf'
    said = root.run('dpkg-query', '--show', *names)
    assert '0.0.9' not in said, said
    assert not (root.place / 'usr/share/doc/steelyard/former').exists(), 'a file of the older release is left'
    assert root.run_as_user('steelyard', '--version').startswith('steelyard ')


def check_development(folder):
    """Compiles the project of package_test.cmake with the files of the packages, with this machine's compiler."""
    for name in ('steelyard', 'libsteelyard-dev'):
        run('dpkg-deb', '--extract', debs[name], folder)
    project = pathlib.Path(folder, 'project')
    run('cp', '-r', pathlib.Path(source, 'tests/package/project'), project)
    run('cp', pathlib.Path(source, 'examples/own_model.cpp'), project)
    run('cmake', '-G', 'Ninja', '-S', project, '-B', project / 'build', f'-DCMAKE_PREFIX_PATH={folder}/usr')
    run('cmake', '--build', project / 'build')
    assert 'finished' in run(project / 'build/own_model', 'train', pathlib.Path(source, 'examples/jobs/own_model.toml'),
                             '--set', 'train.epochs=1', '--run-dir', project / 'run')


with Root() as root:
    check_program(root)
    check_python(root)
    check_purge(root)
    check_upgrade(root)
with tempfile.TemporaryDirectory(prefix='steelyard-deb-') as folder:
    check_development(folder)
