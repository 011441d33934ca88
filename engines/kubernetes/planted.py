"""Errors to plant into the manifests of engines/kubernetes/hosts.toml: what each is called, and how it is made.

A plant changes the documents of a file in place. `custom` plants are found only by the definitions of JobSet and
Kubeflow Trainer; all others are found everywhere.
"""
import collections

Plant = collections.namedtuple('Plant', 'title form make custom', defaults=(False,))


def by_kind(documents, kind):
    return next(it for it in documents if it['kind'] == kind)


def set_of(documents):
    for it in documents:
        if it['kind'] == 'JobSet':
            return it['spec']
        if it['kind'] == 'ClusterTrainingRuntime':
            return it['spec']['template']['spec']
    raise LookupError('no set')


def job_of(documents, group):
    return next(it for it in set_of(documents)['replicatedJobs'] if it['name'] == group)['template']['spec']


def pod_of(documents, group='card'):
    return job_of(documents, group)['template']['spec']


def container_of(documents, group='card'):
    return pod_of(documents, group)['containers'][0]


def rename(where, old, new):
    where[new] = where.pop(old)


def rules(documents):
    return job_of(documents, 'card')['podFailurePolicy']['rules']


def volume(documents, name):
    return next(it for it in pod_of(documents)['volumes'] if it['name'] == name)


def drop_volume(documents, name):
    pod_of(documents)['volumes'].remove(volume(documents, name))


def drop_keys(documents):
    drop_volume(documents, 'keys')
    container = container_of(documents)
    container['volumeMounts'] = [it for it in container['volumeMounts'] if it['name'] != 'keys']


def replace_word(container, old, new):
    words = container['args']
    words[words.index(old)] = new


def put(where, key, value):
    where[key] = value


PLANTS = [
    Plant('a misspelt field of a pod', 'jobset',
          lambda it: rename(pod_of(it), 'terminationGracePeriodSeconds', 'terminationGraceSeconds')),
    Plant('a misspelt field of a container', 'jobset', lambda it: rename(container_of(it), 'volumeMounts', 'mounts')),
    Plant('a misspelt field of a job', 'jobset',
          lambda it: rename(job_of(it, 'old'), 'podFailurePolicy', 'podFailPolicy')),
    Plant('a misspelt field of the security context', 'jobset',
          lambda it: rename(pod_of(it)['securityContext'], 'fsGroup', 'fsgroup')),
    Plant('a number in the place of a text', 'jobset', lambda it: put(by_kind(it, 'ConfigMap')['data'], 'job.toml', 7)),
    Plant('a text in the place of a number', 'jobset', lambda it: put(job_of(it, 'old'), 'parallelism', 'four')),
    Plant('a list in the place of labels', 'jobset', lambda it: put(pod_of(it), 'nodeSelector', ['pool=old'])),
    Plant('resources without requests or limits', 'jobset',
          lambda it: put(container_of(it), 'resources', {'memory': '1Gi'})),
    Plant('a misspelt field of the claim', 'jobset',
          lambda it: rename(by_kind(it, 'PersistentVolumeClaim')['spec'], 'accessModes', 'accessMode')),
    Plant('a pod that restarts its container', 'jobset', lambda it: put(pod_of(it), 'restartPolicy', 'OnFailure')),
    Plant('an action that pods do not have', 'jobset', lambda it: put(rules(it)[0], 'action', 'FailJobSet')),
    Plant('exit codes with 0', 'jobset', lambda it: rules(it)[0]['onExitCodes']['values'].insert(0, 0)),
    Plant('exit codes of another container', 'jobset',
          lambda it: put(rules(it)[0]['onExitCodes'], 'containerName', 'node')),
    Plant('a rule with codes and conditions', 'jobset',
          lambda it: put(rules(it)[0], 'onPodConditions', rules(it)[2]['onPodConditions'])),
    Plant('no secret', 'jobset', drop_keys),
    Plant('a secret without a name', 'jobset', lambda it: volume(it, 'keys')['secret'].pop('secretName')),
    Plant('a mount without a volume', 'jobset', lambda it: drop_volume(it, 'keys')),
    Plant('the ConfigMap of another job', 'jobset',
          lambda it: put(volume(it, 'job')['configMap'], 'name', 'other-job')),
    Plant('a member that has less time than it thinks', 'jobset',
          lambda it: put(pod_of(it), 'terminationGracePeriodSeconds', 5)),
    Plant('no names of pods', 'jobset', lambda it: set_of(it).pop('network')),
    Plant('success of a group that does not exist', 'jobset',
          lambda it: put(set_of(it)['successPolicy'], 'targetReplicatedJobs', ['leader'])),
    Plant('pods without host names', 'jobset', lambda it: put(job_of(it, 'old'), 'completionMode', 'NonIndexed')),
    Plant('a reason that jobs do not have', 'jobset',
          lambda it: put(set_of(it)['failurePolicy']['rules'][0], 'onJobFailureReasons', ['PodFailed'])),
    Plant('a group with capitals', 'jobset', lambda it: put(set_of(it)['replicatedJobs'][2], 'name', 'Card')),
    Plant('a variable that the container does not have', 'trainingruntime', lambda it: container_of(it).pop('env')),
    Plant('a TrainJob of another runtime', 'trainingruntime',
          lambda it: put(by_kind(it, 'TrainJob')['spec']['runtimeRef'], 'name', 'torch-distributed')),
    Plant('a number of pods that is not that of the members', 'jobset',
          lambda it: put(set_of(it)['replicatedJobs'][1], 'replicas', 5)),
    Plant('several pods of one number', 'jobset', lambda it: job_of(it, 'old').update(parallelism=4, completions=4)),
    Plant('two schedulers', 'jobset',
          lambda it: replace_word(container_of(it, 'store'), '--role=server', '--role=scheduler')),
    Plant('another address of the scheduler', 'jobset',
          lambda it: replace_word(container_of(it), '--meet=job-lead-0-0.job:7070', '--meet=job-lead-0-0:7070')),
    Plant('a server without its key', 'jobset', lambda it: container_of(it, 'store')['volumeMounts'].pop(1)),
    Plant('a misspelt field of the set', 'jobset',
          lambda it: rename(set_of(it)['replicatedJobs'][1], 'replicas', 'replica'), True),
    Plant('an action that sets do not have', 'jobset',
          lambda it: put(set_of(it)['failurePolicy']['rules'][0], 'action', 'FailJob'), True),
    Plant('a rule without a name', 'jobset', lambda it: set_of(it)['failurePolicy']['rules'][0].pop('name')),
    Plant('another version of the set', 'jobset',
          lambda it: put(by_kind(it, 'JobSet'), 'apiVersion', 'jobset.x-k8s.io/v1'), True),
    Plant('a misspelt policy of the runtime', 'trainingruntime',
          lambda it: put(by_kind(it, 'ClusterTrainingRuntime')['spec'], 'mlpolicy', {'numNodes': 2}), True),
    Plant('a misspelt field of the TrainJob', 'trainingruntime',
          lambda it: rename(by_kind(it, 'TrainJob')['spec'], 'runtimeRef', 'runtime')),
    Plant('a suspended set by a text', 'jobset', lambda it: put(set_of(it), 'suspend', 'no'), True),
]
