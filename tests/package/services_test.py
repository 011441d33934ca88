# The units of the package steelyard, under a real systemd in a container: systemd-analyze finds no fault, workers with
# keys train and are restarted, a standby leads after the scheduler was killed, and everything is in the journal
# (services_check.sh, which runs inside).
#
#   services_test.py SOURCE
import pathlib
import shutil
import sys

from debian_root import Root, packages, run

source, = sys.argv[1:]
UNITS = ('steelyard-worker@.service', 'steelyard-standby.service')
EXPOSURE = 20  # tenths; at most 30 are asked for

# Its verdict is the exit status of the container, its output a file.
CHECK = '''[Service]
Type=oneshot
ExecStart=/bin/sh -eux /var/tmp/services_check.sh
StandardOutput=file:/var/tmp/output
StandardError=file:/var/tmp/output
TimeoutStartSec=300
[Unit]
SuccessAction=exit
FailureAction=exit
'''

with Root() as root:
    root.run('apt-get', '--yes', '--no-install-recommends', 'install', 'systemd', 'man-db')
    root.install(packages(source)['steelyard'])
    owner = root.run('stat', '--format=%U %a', '/etc/steelyard/keys')
    assert owner == 'steelyard 700\n', f'the folder of keys belongs to {owner}'
    for unit in UNITS:
        said = root.run('systemd-analyze', 'verify', f'/usr/lib/systemd/system/{unit}')
        assert not said.strip(), said
        run('systemd-analyze', 'security', '--offline=true', f'--threshold={EXPOSURE}',
            root.place / 'usr/lib/systemd/system' / unit)

    shutil.copy(pathlib.Path(source, 'tests/package/services_check.sh'), root.place / 'var/tmp')
    (root.place / 'etc/systemd/system/check.service').write_text(CHECK)
    root.run('systemctl', 'add-wants', 'multi-user.target', 'check.service')
    booted = run(*root.container('--private-network', '--boot', '--console=pipe'), codes=range(256))
    output = root.place / 'var/tmp/output'
    said = output.read_text() if output.exists() else f'the container did not boot:\n{booted}'
    if not said.endswith('+ echo passed\npassed\n'):
        sys.exit(said)
    print(said)
