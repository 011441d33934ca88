# Run directories of former releases, one archive each in tests/package/runs: this release shows them and resumes them.
# Each is of a job that was killed, with its journal; the journal is read by the build that wrote it, and refused by
# another with the names of both.
#
#   former_release_test.py PROGRAM            tests all archives
#   former_release_test.py PROGRAM --keep     writes the archive of this release, before it is published
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

program, *options = sys.argv[1:]
archives = pathlib.Path(__file__).resolve().parent / 'runs'

JOB = '''[job]
name = "former"

[model]
name = "softmax"

[data]
name = "synthetic"
train = 2048
test = 256
height = 8
width = 8

[train]
batch = 256
epochs = 1000
checkpoint_every = 20
optimizer = "momentum"
lr = 0.05

[cluster]
servers = 2
policy = "steelyard"

[[worker]]
name = "fast"

[[worker]]
name = "slow"
simulate_slowdown = 50
'''


def run(*words, code=0):
    done = subprocess.run([program, *map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == code, f'{" ".join(map(str, words))} exited with {done.returncode}:\n{done.stdout}'
    return done.stdout


def checkpoints(kept):
    """The rounds of the complete checkpoints, in order."""
    names = [it.parent.name for it in kept.glob('checkpoints/*/MANIFEST.json')]
    return sorted(int(it) for it in names if it.isdecimal())  # others are being written


def rounds(kept):
    return [json.loads(it) for it in (kept / 'rounds.jsonl').read_text().splitlines() if it.endswith('}')]


def session(leader):
    """The processes of the leader's session."""
    found = []
    for it in pathlib.Path('/proc').glob('[0-9]*/stat'):
        fields = it.read_text().rpartition(')')[2].split()
        if int(fields[3]) == leader:
            found.append(int(it.parent.name))
    return found


def keep(place):
    """Kills a job after its second checkpoint, and packs its directory."""
    release = run('--version').split()[1].rstrip(',')
    kept = place / 'former'
    (place / 'former.toml').write_text(JOB)
    job = subprocess.Popen([program, 'train', place / 'former.toml', '--run-dir', kept], start_new_session=True)
    try:
        while len(checkpoints(kept)) < 2 or len(rounds(kept)) <= checkpoints(kept)[-1]:
            assert job.poll() is None, 'the job ended before it was killed'
            time.sleep(0.01)
    finally:
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first: survivors would save a checkpoint
            for process in session(job.pid):
                os.kill(process, number)
        job.wait()
    archives.mkdir(exist_ok=True)
    with tarfile.open(archives / f'{release}.tar.xz', 'w:xz') as archive:
        archive.add(kept, 'former', filter=lambda it: None if it.name.startswith('former/log/') else it)
    print(f'{release}: {len(rounds(kept))} rounds, checkpoints {checkpoints(kept)}')


def check(release, kept):
    newest = checkpoints(kept)[-1]
    before = rounds(kept)
    assert len(before) > newest, 'the kept run has no round after its checkpoint'
    assert 'interrupted' in run('status', kept)
    assert f'train {kept}/job.toml --run-dir {kept} --resume' in run('runs', kept.parent)
    assert f'{newest}' in run('inspect', kept)
    run('report', kept)
    assert '</html>' in (kept / 'report.html').read_text()
    assert 'equal' in run('replay', kept, '--policies', 'equal')
    own = run('--version').strip()
    if own.encode() in (kept / 'journal').read_bytes():
        assert 'former' in run('journal', kept)
    else:
        said = run('journal', kept, code=78)
        assert f"'steelyard {release}," in said and f"this is '{own}'" in said and '--resume' in said, said

    epochs = newest // 8 + 2  # 8 rounds each
    run('train', kept / 'job.toml', '--run-dir', kept, '--resume', '--set', f'train.epochs={epochs}')
    assert json.loads((kept / 'result.json').read_text())['outcome'] == 'finished'
    after = rounds(kept)
    assert after[:len(before)] == before, 'the former rounds have changed'
    numbers = [it['round'] for it in after[len(before):] if it['purpose'] == 'train']
    assert numbers == list(range(newest, epochs * 8)), f'rounds {numbers} after the checkpoint of round {newest}'
    assert 'accuracy' in run('eval', kept)
    print(f'{release}: resumed at round {newest}, finished after {epochs * 8}')


with tempfile.TemporaryDirectory(prefix='steelyard-former-') as folder:
    place = pathlib.Path(folder)
    if options == ['--keep']:
        keep(place)
        sys.exit()
    found = sorted(archives.glob('*.tar.xz'))
    assert found, f'{archives} has no run directory'
    for archive in found:
        release = archive.name.removesuffix('.tar.xz')
        with tarfile.open(archive) as packed:
            packed.extractall(place / release)
        check(release, place / release / 'former')
