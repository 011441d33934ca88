"""Checks manifests without a cluster: what an API server refuses, by its schemas and by its rules.

Schemas of Kubernetes' own objects come from the package kubernetes-validate; those of JobSet and Kubeflow Trainer from
their definitions in the folder that STEELYARD_CRDS names, made strict: a field that they do not have is an error. Rules
that no schema states are below, each a function that yields complaints.
"""
import copy
import functools
import json
import pathlib
import re

import jsonschema
import kubernetes_validate
import yaml

NAME = re.compile(r'[a-z]([-a-z0-9]{0,61}[a-z0-9])?')
VERSIONS = ('1.31', '1.34', '1.37')  # releases of Kubernetes
LONGEST_POD_NAME = 63
SECRET = re.compile(r'[0-9A-Za-z.:+=^!/*?&<>()\[\]{}@%$#-]{40}')


class Custom:
    """The schemas of custom objects, from a folder of definitions."""

    def __init__(self, folder):
        self.validators = {}
        for file in sorted(pathlib.Path(folder).glob('*.yaml')):
            for definition in yaml.load_all(file.read_text(), getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):
                self.add(definition['spec'])

    def add(self, spec):
        for version in spec['versions']:
            schema = strict(copy.deepcopy(version['schema']['openAPIV3Schema']))
            # The API server checks these fields itself; here they are checked as rules.
            schema['properties'].update(apiVersion={}, kind={}, metadata={})
            key = f'{spec["group"]}/{version["name"]}', spec['names']['kind']
            self.validators[key] = jsonschema.Draft202012Validator(schema)

    def complaints(self, document):
        validator = self.validators.get((document['apiVersion'], document['kind']))
        if validator is None:
            yield f'{document["apiVersion"]} has no {document["kind"]}'
            return
        for error in validator.iter_errors(document):
            yield f'{error.json_path}: {error.message}'


def strict(schema):
    """Refuses fields that the schema does not have; an "int or string" is either of these."""
    if schema.pop('x-kubernetes-int-or-string', False):
        schema.pop('anyOf', None)
        schema['type'] = ['integer', 'string']
    if 'properties' in schema and not schema.get('x-kubernetes-preserve-unknown-fields'):
        schema.setdefault('additionalProperties', False)
    for below in schema.get('properties', {}).values():
        strict(below)
    for key in ('items', 'additionalProperties'):
        if isinstance(schema.get(key), dict):
            strict(schema[key])
    return schema


def parts(documents):
    """By kind; the set of a runtime counts as a JobSet."""
    found = {}
    for it in documents:
        found.setdefault(it['kind'], []).append(it)
    sets = [(it['metadata']['name'], it['spec']) for it in found.get('JobSet', [])]
    sets += [(None, it['spec']['template']['spec']) for it in found.get('ClusterTrainingRuntime', [])]
    return found, sets


def own_objects(documents):
    """Kubernetes' own objects, those inside of custom objects included."""
    for it in documents:
        if '.' not in it['apiVersion'].split('/')[0]:
            yield it
    for _, spec in parts(documents)[1]:
        for group in spec['replicatedJobs']:
            template = group['template']
            yield {'apiVersion': 'batch/v1', 'kind': 'Job',
                   'metadata': {'name': group['name'], **template.get('metadata', {})}, 'spec': template['spec']}


@functools.lru_cache(None)
def own_complaint(text, version):
    """The first complaint about one of Kubernetes' own objects, which is given as JSON; empty if it is valid."""
    try:
        kubernetes_validate.validate(json.loads(text), version, strict=True)
        return ''
    except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
        return str(error).splitlines()[0]


def schema_complaints(documents, custom):
    for it in own_objects(documents):
        for version in VERSIONS:
            if what := own_complaint(json.dumps(it), version):
                yield f'{it["kind"]} {it["metadata"]["name"]}, Kubernetes {version}: {what}'
    if custom is not None:
        for it in documents:
            if '.' in it['apiVersion'].split('/')[0]:
                yield from custom.complaints(it)


def rule_complaints(documents):
    found, sets = parts(documents)
    for it in documents:
        name = it.get('metadata', {}).get('name', '')
        if not NAME.fullmatch(name):
            yield f'{it["kind"]}: {name!r} is not a name'
    if not sets:
        yield 'no JobSet and no runtime'
    for name, spec in sets:
        yield from set_complaints(name, spec)
        for group in spec['replicatedJobs']:
            for complaint in group_complaints(group, found):
                yield f'group {group["name"]}: {complaint}'
        yield from job_complaints(name, spec)
    runtimes = [it['metadata']['name'] for it in found.get('ClusterTrainingRuntime', [])]
    for it in found.get('TrainJob', []):
        if it['spec']['runtimeRef']['name'] not in runtimes:
            yield f'the TrainJob refers to the runtime {it["spec"]["runtimeRef"]["name"]!r}, which is not in the file'


def set_complaints(name, spec):
    groups = [it['name'] for it in spec['replicatedJobs']]
    if len(set(groups)) != len(groups):
        yield 'two groups have the same name'
    for it in groups:
        # TrainJobs have names of their own, which are no longer than that of a set may be.
        if not NAME.fullmatch(it) or len(f'{name or "x" * 25}-{it}-0-9999-abcde') > LONGEST_POD_NAME:
            yield f'{it!r} makes names of pods that are too long or wrong'
    network = spec.get('network', {})
    if not network.get('enableDNSHostnames'):
        yield 'pods have no names: network.enableDNSHostnames is missing'
    if not network.get('publishNotReadyAddresses', True):
        yield 'pods that wait for the scheduler would not find it: network.publishNotReadyAddresses is false'
    success = spec.get('successPolicy', {}).get('targetReplicatedJobs', [])
    rules = spec.get('failurePolicy', {}).get('rules', [])
    for it in success + [target for rule in rules for target in rule.get('targetReplicatedJobs', [])]:
        if it not in groups:
            yield f'a policy names the group {it!r}, which does not exist'
    for rule in rules:
        reasons = {'BackoffLimitExceeded', 'DeadlineExceeded', 'FailedIndexes', 'MaxFailedIndexesExceeded',
                   'PodFailurePolicy'}
        for reason in set(rule.get('onJobFailureReasons', [])) - reasons:
            yield f'{reason!r} is no reason for which a job fails'
        if not re.fullmatch(r'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?', rule.get('name', '')):
            yield f'{rule.get("name")!r} is no name of a rule'


def group_complaints(group, found):
    job = group['template']['spec']
    pod = job['template']['spec']
    if job.get('completionMode') != 'Indexed':
        yield 'pods have no host names: completionMode must be Indexed'
    if (job.get('completions'), job.get('parallelism')) != (1, 1):
        yield 'pods have the same number: completions and parallelism must be 1'
    if pod.get('restartPolicy') != 'Never':
        yield 'a podFailurePolicy needs restartPolicy Never'
    if job.get('podReplacementPolicy', 'Failed') != 'Failed':
        yield 'a podFailurePolicy needs podReplacementPolicy Failed'
    yield from failure_complaints(job, [it['name'] for it in pod['containers']])
    yield from volume_complaints(pod, found)
    for container in pod['containers']:
        yield from member_complaints(container, pod)


def failure_complaints(job, containers):
    for rule in job.get('podFailurePolicy', {}).get('rules', []):
        if rule['action'] not in ('FailJob', 'FailIndex', 'Ignore', 'Count'):
            yield f'{rule["action"]!r} is no action of a podFailurePolicy'
        codes = rule.get('onExitCodes')
        if (codes is None) == (rule.get('onPodConditions') is None):
            yield 'a rule has either exit codes or conditions'
        if codes is not None:
            if codes['operator'] not in ('In', 'NotIn'):
                yield f'{codes["operator"]!r} is no operator'
            if codes['values'] != sorted(set(codes['values'])) or 0 in codes['values']:
                yield f'exit codes {codes["values"]} must be in order, without 0 and repetition'
            if codes.get('containerName') not in containers:
                yield f'a rule names the container {codes.get("containerName")!r}, which does not exist'


def volume_complaints(pod, found):
    volumes = {it['name']: it for it in pod.get('volumes', [])}
    mounts = [it for container in pod['containers'] for it in container.get('volumeMounts', [])]
    for name in {it['name'] for it in mounts} - set(volumes):
        yield f'the volume {name!r} is mounted, and does not exist'
    for name in set(volumes) - {it['name'] for it in mounts}:
        yield f'the volume {name!r} is not mounted'
    paths = [it['mountPath'] for it in mounts]
    if len(set(paths)) != len(paths):
        yield 'two volumes are mounted at the same path'
    for name, it in volumes.items():
        if len(it) != 2:
            yield f'the volume {name!r} has not one source'
        maps = [one['metadata']['name'] for one in found.get('ConfigMap', [])]
        if 'configMap' in it and it['configMap'].get('name') not in maps:
            yield f'the volume {name!r} has a ConfigMap that is not in the file'
        if 'secret' in it and not it['secret'].get('secretName'):
            yield f'the volume {name!r} names no secret'


def options_of(container):
    """The options of `steelyard member`, each with the list of its values."""
    found = {}
    for word in container.get('args', []):
        if word.startswith('--') and '=' in word:
            name, _, value = word.partition('=')
            found.setdefault(name, []).append(value)
    return found


def member_complaints(container, pod):
    """What a member needs in its pod."""
    options = options_of(container)
    if container.get('args', [])[:1] != ['member']:
        yield 'the container does not run a member'
    secrets = {it['name']: {one['path'] for one in it['secret'].get('items', [])}
               for it in pod.get('volumes', []) if 'secret' in it}
    mounted = {it['mountPath'] for it in container.get('volumeMounts', [])
               if it.get('subPath') in secrets.get(it['name'], ())}
    for file in ('scheduler.key', 'server.key', 'worker.key'):
        for folder in options.get('--keys', ['']):
            if f'{folder}/{file}' not in mounted:
                yield f'{folder}/{file} is not mounted from a secret'
    for grace in options.get('--grace', []):
        if int(grace) > pod.get('terminationGracePeriodSeconds', 30):
            yield f'--grace {grace} is longer than the pod has'
    variables = {it['name'] for it in container.get('env', [])}
    for name in re.findall(r'\$\((\w+)\)', ' '.join(container.get('args', []))):
        if name not in variables:
            yield f'$({name}) is no variable of the container'


def job_complaints(name, spec):
    """Whether the pods make one job: numbers, sizes, one scheduler, at the address where all look for it."""
    pods, workers, leaders, wanted = 0, 0, [], set()
    for group in spec['replicatedJobs']:
        options = options_of(group['template']['spec']['template']['spec']['containers'][0])
        count = group.get('replicas', 1)
        if 'worker' in options['--role']:
            if pods != workers:
                yield 'groups with workers must be the first'
            workers += count
        pods += count
        if 'scheduler' in options['--role']:
            leaders += [group['name']] * count
        wanted.add((options['--size'][0], options['--workers'][0], options['--meet'][0].rpartition(':')[0]))
    set_name = name or '$(JOBSET)'
    if len(leaders) != 1:
        yield f'{len(leaders)} pods have the scheduler'
    elif wanted != {(str(pods), str(workers), f'{set_name}-{leaders[0]}-0-0.{set_name}')}:
        yield f'size, workers and address are {sorted(wanted)}; there are {pods} pods, and {workers} workers'


def complaints(documents, custom=None):
    """All complaints about the documents of a file. Without `custom`, custom objects are checked by rules only."""
    found = list(schema_complaints(documents, custom))
    try:
        found += rule_complaints(documents)
    except (KeyError, TypeError, AttributeError) as error:
        found.append(f'a field is missing or of another type: {error!r}')
    return found
