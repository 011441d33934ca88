# The manifests that `steelyard render` writes: valid for Kubernetes and by its rules, without secrets, and errors that
# are planted into them are found. With --definitions also for JobSet and Kubeflow Trainer, by the definitions in the
# folder that STEELYARD_CRDS names. No cluster runs them here.
#
#   kubernetes_test.py PROGRAM [--definitions]
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import tomllib

try:
    import yaml

    import manifests
except ImportError as missing:
    print(f'{missing}: script/setup --engines installs it')
    sys.exit(77)
from planted import PLANTS

program = os.environ['STEELYARD_PROGRAM']
here = pathlib.Path(__file__).parent
jobs = here.parent.parent / 'examples/jobs'


def render(form, *options, job=jobs / 'fashion_mnist.toml', hosts=here / 'hosts.toml'):
    done = subprocess.run([program, 'render', form, *options, hosts, job], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def documents_in(text):
    return list(yaml.safe_load_all(text))


def check_rendered(custom):
    with tempfile.TemporaryDirectory() as folder:
        hosts = pathlib.Path(folder, 'hosts.toml')
        hosts.write_text((here / 'hosts.toml').read_text().replace('threads = "auto"', ''))  # some jobs need one
        for form in ('jobset', 'trainingruntime'):
            for job in (*sorted(jobs.glob('*.toml')), pathlib.Path('/opt/app/train.py')):
                if job.stem.startswith('own_'):  # of programs with an engine, a model or a policy of their own
                    continue
                text = render(form, '--name', 'job', job=job, hosts=hosts)
                found = manifests.complaints(documents_in(text), custom)
                assert not found, f'{form} of {job}:\n' + '\n'.join(found)
    print('rendered manifests: no complaint')


def check_planted(custom):
    whole = {form: documents_in(render(form, '--name', 'job')) for form in ('jobset', 'trainingruntime')}
    missed, planted = [], 0
    for plant in PLANTS:
        if plant.custom and custom is None:
            continue
        planted += 1
        documents = copy.deepcopy(whole[plant.form])
        plant.make(documents)
        assert documents != whole[plant.form], f'{plant.title}: nothing was planted'
        found = manifests.complaints(documents, custom)
        print(f'{plant.title}: ' + (found[0].splitlines()[0][:150] if found else 'NOT FOUND'))
        if not found:
            missed.append(plant.title)
    assert not missed, missed
    assert planted >= 20, planted
    print(f'{planted} planted errors, all found')


def check_secrets():
    """No rendered file has a value that looks like a key, and keys beside the files do not get into them."""
    with tempfile.TemporaryDirectory() as folder:
        for role in ('scheduler', 'server', 'worker'):
            subprocess.run([program, 'keys', 'new', folder, role], check=True, capture_output=True)
        keys = [word for file in pathlib.Path(folder).iterdir() for word in file.read_text().split()
                if manifests.SECRET.fullmatch(word)]
        assert len(keys) >= 6, keys
        for form in ('jobset', 'trainingruntime', 'slurm'):
            text = render(form)
            assert 'kind: Secret' not in text and not any(it in text for it in keys)
            # The path of a file may have the length of a key.
            alike = [it for it in text.split() if manifests.SECRET.fullmatch(it) and not pathlib.Path(it).exists()]
            assert not alike, (form, alike)


def check_text():
    """A job comes back from the manifest with any characters in it."""
    draw = random.Random(7)
    odd = ' \t#:-"\'\\|>%@`{}[]&*!?,=~éß…\u2028\u0085\U0001F600yesno019.'
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'job.toml')
        for _ in range(40):
            place = '/' + ''.join(draw.choices(odd, k=draw.randrange(30)))
            quoted = json.dumps(place, ensure_ascii=False)
            file.write_text(f'[data]\nname = "fashion-mnist"\ndir = {quoted}\n', encoding='utf-8')
            documents = documents_in(render('jobset', '--name', 'job', job=file))
            assert tomllib.loads(documents[0]['data']['job.toml'])['data']['dir'] == place, repr(place)


definitions = os.environ.get('STEELYARD_CRDS')
if '--definitions' in sys.argv and not definitions:
    print('the definitions of JobSet and Kubeflow Trainer: skipped, STEELYARD_CRDS does not name their folder')
    sys.exit(77)
known = manifests.Custom(definitions) if '--definitions' in sys.argv else None
check_rendered(known)
check_planted(known)
if known is None:
    check_secrets()
    check_text()
