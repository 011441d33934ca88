# `pip install -U` with the wheel of script/package over an older release: the files of the older one are gone, and
# program, library and Python package are those of the new one.
#
#   pip_upgrade_test.py SOURCE
import base64
import hashlib
import pathlib
import re
import sys
import tempfile
import zipfile

from debian_root import run

source, = sys.argv[1:]
OLDER = '0.0.9'


def older(wheel, into):
    """The wheel as an older release would be: with its version, and with a module that the new one has no more."""
    version = wheel.name.split('-')[1]
    made = pathlib.Path(into, wheel.name.replace(f'-{version}-', f'-{OLDER}-'))
    record = []
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, 'w', zipfile.ZIP_STORED) as new:
        def add(entry, name, content):
            entry = zipfile.ZipInfo(name) if entry is None else entry
            entry.filename = name
            new.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
            record.append(f'{name},sha256={digest},{len(content)}')

        for entry in old.infolist():
            name = entry.filename.replace(f'steelyard-{version}.', f'steelyard-{OLDER}.', 1)
            content = old.read(entry)
            if name.endswith('.dist-info/RECORD'):
                continue
            if name.endswith('.dist-info/METADATA'):
                content = re.sub(rb'(?m)^Version: .*$', b'Version: ' + OLDER.encode(), content, count=1)
            add(entry, name, content)
        add(None, 'steelyard/former.py', b'')
        record.append(f'steelyard-{OLDER}.dist-info/RECORD,,')
        new.writestr(f'steelyard-{OLDER}.dist-info/RECORD', '\n'.join(record) + '\n')
    return made


wheel, = pathlib.Path(source, 'build/packages').glob('steelyard-*-manylinux_*.whl')
with tempfile.TemporaryDirectory(prefix='steelyard-upgrade-') as folder:
    place = pathlib.Path(folder)
    former = older(wheel, place)
    run(sys.executable, '-m', 'venv', place / 'use')
    python, pip = place / 'use/bin/python', [place / 'use/bin/pip', 'install', '--no-index', '--no-deps']
    run(*pip, former)
    asked = 'import steelyard.former; print(steelyard.__version__)'
    assert run(python, '-c', asked) == f'{OLDER}\n', 'the older release was not installed'

    run(*pip, '--upgrade', wheel)
    version = run(python, '-c', 'import steelyard; print(steelyard.__version__)').strip()
    assert version == wheel.name.split('-')[1], f'{version} is installed'
    assert run(place / 'use/bin/steelyard', '--version').startswith(f'steelyard {version}, protocol ')
    asked = 'import importlib.util; print(importlib.util.find_spec("steelyard.former"))'
    assert run(python, '-c', asked) == 'None\n', 'a module of the older release is left'
    left = [it for it in place.glob(f'use/lib/*/site-packages/*{OLDER}*')]
    assert not left, f'the upgrade left {left}'
    asked = 'from steelyard.balance import Balancer; print(sum(Balancer(3).plan(8)))'
    assert run(python, '-c', asked) == '8\n'
    print(f'pip upgraded {OLDER} to {version}')
