# The OCI image of script/package: it is small, root does not run it, the program is its entry point, and a job trains
# in it.
#
#   image_test.py SOURCE
import json
import pathlib
import subprocess
import sys
import tempfile

from debian_root import run, skip_without

source, = sys.argv[1:]
LARGEST = 100_000_000  # bytes, unpacked

skip_without('buildah', 'skopeo')
archive, = pathlib.Path(source, 'build/packages').glob('steelyard-*-image.tar')
image = json.loads(run('skopeo', 'inspect', '--config', f'oci-archive:{archive}'))['config']
assert image['Entrypoint'] == ['/usr/bin/steelyard'], image
assert image['User'].split(':')[0] not in ('', '0', 'root'), image

with tempfile.TemporaryDirectory(prefix='steelyard-image-') as folder:
    def buildah(*words):
        place = ('--root', f'{folder}/storage', '--runroot', f'{folder}/run', '--storage-driver', 'vfs')
        return run('buildah', *place, *words, stdin=subprocess.DEVNULL).strip()

    def steelyard(*words):
        return buildah('run', '--isolation', 'chroot', container, '--', *image['Entrypoint'], *words)

    container = buildah('from', '--quiet', buildah('pull', '--quiet', f'oci-archive:{archive}'))
    place = pathlib.Path(buildah('mount', container))
    size = sum(it.stat().st_size for it in place.rglob('*') if it.is_file() and not it.is_symlink())
    print(f'{archive.stat().st_size / 1e6:.1f} MB packed, {size / 1e6:.1f} MB unpacked')
    assert size < LARGEST, f'the image has {size} bytes'
    assert not any((place / it).exists() for it in ('bin/sh', 'usr/bin/sh', 'usr/bin/apt')), 'it has a shell'

    help_text = steelyard('--help')
    assert 'Trains neural networks' in help_text, help_text
    steelyard('train', '/usr/share/steelyard/jobs/quick.toml', '--run-dir', 'quick')
    run_directory = place / image['WorkingDir'].lstrip('/') / 'quick'
    assert json.loads((run_directory / 'result.json').read_text())['outcome'] == 'finished'
    assert run_directory.stat().st_uid == int(image['User'].split(':')[0]), 'another user trained'
    buildah('umount', container)
    buildah('rm', container)
