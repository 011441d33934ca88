"""Workers of unequal speed: Steelyard's PyTorch module and DistributedDataParallel, alternating in one run.

    script/bench unequal [--with steelyard,ddp,ddp-hand] [--models mlp,resnet20] [--unequal sleep:2,4,8]
                         [--scenario steady,changing,equal,killed,joining] [--micro-batch N] [--repeats 5] [--quick]
                         [--json FILE]

- ddp: equal batches.
- ddp-hand: batches in proportion to manually set speeds, with rescaled losses, so that the averaged gradient is that of
  the global batch. This is possible while speeds are known and do not change.
- steelyard: steelyard.torch.join, under `steelyard run`.

All use single-threaded processes and the same model, initial weights, data (random tensors in classes), global batch,
optimizer, loader and number of epochs. --micro-batch sets Steelyard's; shares are multiples of it. --unequal sets the
method and the factors of the slowdown: sleep, quota or busy (unequal_speed.py). Scenarios: steady; changing: the
factors are reversed halfway; equal: no slowdown, at most as many workers as cores; killed: the last worker is killed
halfway (torchrun restarts from the last epoch's checkpoint); joining: the last worker joins halfway (Steelyard only:
DDP has a fixed number of processes).

First, the losses of the first rounds must equal those of one plain process to 1e-3; otherwise no speed is reported.
Rates are samples per second after the tenth round, medians of the repeats with their range. The ideal is the rate of
one plain process without slowdown, measured in the same turns, times the sum of 1 / factor, or times the number of
cores if that is less.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import torch
    from models import PEERS
except ImportError as missing:
    print(f'unequal: {missing}: script/setup --peers installs PyTorch and what it needs, in build/peers')
    sys.exit(77)
from run import by_turns, shown, spread
from side import Broken
from unequal_speed import cores, remove_groups, why_not

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KINDS = 'steelyard', 'ddp', 'ddp-hand'
SCENARIOS = 'steady', 'changing', 'equal', 'killed', 'joining'
# The samples of an epoch are a multiple of the batch. With batch norm shares are whole micro-batches, which must
# be small for a good division; without it Steelyard chooses their size.
SIZES = {'mlp': {'batch': 512, 'samples': 40 * 512, 'epochs': 8, 'rate': 0.02, 'contrast': 0.1, 'micro_batch': None},
         'resnet20': {'batch': 384, 'samples': 8 * 384, 'epochs': 6, 'rate': 0.02, 'contrast': 1.0, 'micro_batch': 16}}
QUICK = {'mlp': {**SIZES['mlp'], 'batch': 256, 'samples': 10 * 256, 'epochs': 4},
         'resnet20': {**SIZES['resnet20'], 'batch': 48, 'samples': 6 * 48, 'epochs': 4, 'micro_batch': 8}}
LIMIT = 1200  # seconds of one training


def setting(it, model, scenario, **changes):
    """Returns the settings of one training for unequal_train.py."""
    workers = len(it.factors)
    if scenario == 'equal':
        workers = min(workers, len(cores()))
    return {'with': 'alone', 'model': model, 'scenario': scenario, 'workers': workers, 'tests': 1000, 'seed': 1,
            'slowed_by': 'sleep' if scenario == 'equal' else it.slowed_by, 'by_hand': None, 'check': False,
            'factors': [1] * workers if scenario == 'equal' else it.factors, 'keep': int(scenario == 'killed'),
            **(QUICK if it.quick else SIZES)[model], **it.micro_batch, **changes}


class Training:
    """One training of several processes, from start to end, and their notes."""

    def __init__(self, it, setting):
        self.it, self.setting = it, setting

    def command(self):
        train = [HERE / 'unequal_train.py', self.directory / 'setup.json']
        if self.setting['with'] == 'alone':
            return [sys.executable, *train]
        workers = self.setting['workers']
        if self.setting['with'] != 'steelyard':
            return [sys.executable, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', workers,
                    '--max-restarts', 1 if self.setting['scenario'] == 'killed' else 0, *train]
        first = workers - (self.setting['scenario'] == 'joining')
        return [self.it.build / 'bin/steelyard', 'run', '-n', first, '--sockets', self.directory / 'sockets',
                '--set', 'cluster.servers=1', *train]

    def environment(self, **more):
        there = [str(ROOT / 'bindings/python')] + [it for it in [os.environ.get('PYTHONPATH')] if it]
        # Restarted processes that share torchrun's store find old addresses there, and wait forever.
        return {**os.environ, 'TORCH_DISABLE_SHARE_RDZV_TCP_STORE': '1',
                'OMP_NUM_THREADS': '1', 'PYTHONPATH': ':'.join(there), 'STEELYARD_DEVICE': 'cpu',
                'STEELYARD_PYTHON': sys.executable, 'STEELYARD_PROGRAM': str(self.it.build / 'bin/steelyard'),
                'STEELYARD_LIBRARY': str(self.it.build / 'lib/libsteelyard.so'), **more}

    def start(self, command, **more):
        return subprocess.Popen([str(word) for word in command], cwd=self.directory, stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=self.log, env=self.environment(**more),
                                start_new_session=True)

    def notes(self):
        lines = []
        for path in self.directory.glob('notes-*.jsonl'):
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith('\n'):
                    lines.append(json.loads(line))
        return sorted(lines, key=lambda line: line['at'])

    def run(self):
        """Runs the training and returns all notes, sorted by time."""
        with tempfile.TemporaryDirectory() as directory:
            self.directory = pathlib.Path(directory)
            (self.directory / 'sockets').mkdir()
            (self.directory / 'setup.json').write_text(json.dumps({**self.setting, 'directory': directory}))
            with open(self.directory / 'log', 'w+') as self.log:
                running = [self.start(self.command())]
                try:
                    self.wait(running)
                finally:
                    for process in running:
                        end(process)
                    if self.setting['slowed_by'] == 'quota':
                        remove_groups()
                return self.notes()

    def wait(self, running):
        until = time.monotonic() + LIMIT
        late = self.setting['scenario'] == 'joining'
        if late:  # it loads PyTorch now, and joins once the file `join` exists
            running.append(self.start([sys.executable, *self.command()[-2:]],
                                      STEELYARD=f'ipc://{self.directory}/sockets/scheduler',
                                      STEELYARD_NAME=f"worker-{self.setting['workers'] - 1}"))
        while running[0].poll() is None:
            if time.monotonic() > until:
                raise Broken(f'not finished after {LIMIT} s')
            time.sleep(0.05)
            if late and any(note.get('epoch', 0) >= self.setting['epochs'] // 2 for note in self.notes()):
                late = False
                (self.directory / 'join').touch()
        if running[0].returncode != 0:
            self.log.seek(0)
            last = [line.strip() for line in self.log if line.strip()][-3:]
            raise Broken(f'exit code {running[0].returncode}: ' + ' / '.join(last))


def end(process):
    """Terminates a launcher, which stops its processes. Kills them if it does not exit."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def pieces_of(notes):
    return [note for note in notes if note['kind'] == 'piece']


def rate(pieces, skipped, wanted):
    """Returns samples per second after the first `skipped` samples. Raises Broken unless `wanted` were trained."""
    done, begin = 0, None
    for piece in pieces:
        done += piece['count']
        if begin is None and done >= skipped:
            begin, before = piece['at'], done
    if begin is None or done < wanted:
        raise Broken(f'{done} samples of {wanted} were trained')
    return (wanted - before) / (pieces[-1]['at'] - begin)


def losses(notes):
    """Returns the mean loss of each epoch."""
    sums = {}
    for piece in pieces_of(notes):
        total = sums.setdefault(piece['epoch'], [0, 0])
        total[0] += piece['loss']
        total[1] += piece['count']
    return [total / count for _, (total, count) in sorted(sums.items())]


def found(notes, setting):
    """Returns the results of one training, by name."""
    pieces, batch = pieces_of(notes), setting['batch']
    result = {'accuracy': next((note['value'] for note in notes if note['kind'] == 'accuracy'), float('nan'))}
    if setting['scenario'] == 'killed':
        killed = next(note for note in notes if note['kind'] == 'killed')
        later = [piece for piece in pieces if piece['begin'] > killed['at']]
        result['flows'] = later[0]['at'] - killed['at']
        # A piece of a later round: all progress made before the kill has been regained.
        result['back'] = next(piece['at'] for piece in later if piece['place'] > killed['place']) - killed['at']
    elif setting['scenario'] == 'joining':
        late = [note for note in notes if note['kind'] == 'ready'][-1]['at']
        first = next((piece['at'] for piece in pieces if piece['worker'] == setting['workers'] - 1), None)
        if first is None:
            raise Broken('the late worker joined after the end of the training')
        result['joined'] = first - late
        before, after = ([piece for piece in pieces if (piece['at'] < first) == sooner] for sooner in (True, False))
        result['before'], result['rate'] = (rate(part, 3 * batch, sum(piece['count'] for piece in part))
                                            for part in (before, after))
    else:
        result['rate'] = rate(pieces, 10 * batch, setting['samples'] * setting['epochs'])
    return result


class Comparison:
    """One model in one scenario."""

    def __init__(self, it, model, scenario):
        self.it, self.model, self.scenario = it, model, scenario
        self.base = setting(it, model, scenario)

    def by(self, kind, **changes):
        hand = [1 / factor for factor in self.base['factors']] if kind == 'ddp-hand' else None
        made = {**self.base, 'with': kind, 'by_hand': hand, **changes}
        return Training(self.it, made)

    def alone(self, **changes):
        return self.by('alone', **{'workers': 1, 'factors': [1], 'slowed_by': 'sleep', 'keep': 0,
                                   'scenario': 'steady', **changes})

    def check(self):
        """Raises Broken unless all have the losses of a plain process. A round is the whole data set, because the ways
        of training order samples differently."""
        few = {'samples': self.base['batch'], 'epochs': 4, 'tests': 100, 'check': True, 'keep': 0, 'rate': 0.01,
               'scenario': 'steady', 'slowed_by': 'sleep'}
        wanted = losses(self.alone(**few).run())
        for kind in self.it.kinds:
            got = losses(self.by(kind, **few).run())
            if len(got) != 4 or not all(abs(a - b) <= 1e-3 * max(1, abs(a)) for a, b in zip(wanted, got)):
                raise Broken(f'WRONG RESULT: {kind} has losses {got}, but a plain process has {wanted}')

    def one(self, kind):
        if kind == 'alone':
            batch = max(1, self.base['batch'] // self.base['workers'])
            training = self.alone(batch=batch, samples=(15 if self.it.quick else 40) * batch, epochs=1, tests=100)
        else:
            training = self.by(kind)
        return found(training.run(), training.setting)

    def ideal(self, factors):
        return min(sum(1 / factor for factor in factors), len(cores()))

    def run(self):
        kinds = [kind for kind in self.it.kinds if self.scenario != 'joining' or kind == 'steelyard']
        readings = by_turns(self.it.repeats, [lambda kind=kind: self.one(kind) for kind in [*kinds, 'alone']])
        *rest, alone = readings
        result = {'model': self.model, 'scenario': self.scenario, 'slowed_by': self.base['slowed_by'],
                  'factors': self.base['factors'], 'batch': self.base['batch'],
                  'alone': spread([reading['rate'] for reading in alone]), 'with': {}}
        for kind, each in zip(kinds, rest):
            result['with'][kind] = {name: spread([reading[name] for reading in each]) for name in each[0]}
        ideal = result['alone']['median'] * self.ideal(self.base['factors'])
        for it in result['with'].values():
            if 'rate' in it:
                it['of_ideal'] = it['rate']['median'] / ideal
            if 'before' in it:
                fewer = result['alone']['median'] * self.ideal(self.base['factors'][:-1])
                it['before_of_ideal'] = it['before']['median'] / fewer
        return result


def heading(it):
    factors = ', '.join(f'{factor:g}' for factor in it['factors'])
    how = '' if it['scenario'] == 'equal' else f" slowed down by {it['slowed_by']}, factors {factors};"
    print(f"{it['model']}, {it['scenario']}: {len(it['factors'])} workers,{how} batch {it['batch']}; "
          f"one plain process {shown(it['alone'])} samples/s")


def columns(it, kind):
    """Yields the columns of one row: name and figure."""
    own = it['with'][kind]
    seconds = lambda name: f"{own[name]['median']:.2f} [{own[name]['least']:.2f}..{own[name]['most']:.2f}]"
    if it['scenario'] == 'killed':
        yield 'training resumes after s', seconds('flows')
        yield 'progress regained after s', seconds('back')
    else:
        if 'before' in own:
            yield 'samples/s before', shown(own['before'])
            yield 'of ideal', f"{100 * own['before_of_ideal']:.0f}%"
            yield 'first samples after s', seconds('joined')
        yield 'samples/s', shown(own['rate'])
        for other in ('ddp', 'ddp-hand'):
            if other in it['with']:
                yield f'of {other}', f"{own['rate']['median'] / it['with'][other]['rate']['median']:.2f}"
        yield 'of ideal', f"{100 * own['of_ideal']:.0f}%"
    accuracy = own['accuracy']
    yield 'accuracy', f"{100 * accuracy['median']:.1f}% [{100 * accuracy['least']:.1f}..{100 * accuracy['most']:.1f}]"


def show(it):
    heading(it)
    for row, kind in enumerate(it['with']):
        its = list(columns(it, kind))
        if row == 0:
            print(f"  {'':10}", *(f'{name:>28}' if '/s' in name or ' s' in name or name == 'accuracy' else f'{name:>12}'
                                  for name, _ in its))
        print(f'  {kind:10}', *(f'{text:>28}' if '/s' in name or ' s' in name or name == 'accuracy' else f'{text:>12}'
                                for name, text in its), flush=True)
    if it['scenario'] == 'joining':
        print('  not for DDP: its number of processes is fixed')


def arguments():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: [word for word in text.split(',') if word]
    options.add_argument('--with', dest='kinds', type=words, default=list(KINDS))
    options.add_argument('--models', type=words)
    options.add_argument('--unequal', default='sleep:2,4,8', help='method (sleep, quota or busy) and the factor of each worker')
    options.add_argument('--scenario', dest='scenarios', type=words, default=['steady'])
    options.add_argument('--micro-batch', type=int, help='instead of 16 with batch norm, and a measured one without')
    options.add_argument('--repeats', type=int)
    options.add_argument('--quick', action='store_true', help='a short test: the MLP, few rounds, once')
    options.add_argument('--no-check', action='store_true', help='skip the check of losses')
    options.add_argument('--json', type=pathlib.Path, help='write all results as JSON')
    options.add_argument('--build', type=pathlib.Path, default=ROOT / 'build/release')
    it = options.parse_args()
    it.models = it.models or (['mlp'] if it.quick else list(SIZES))
    for name, given, there in (('--with', it.kinds, KINDS), ('--models', it.models, SIZES),
                               ('--scenario', it.scenarios, SCENARIOS)):
        for word in given:
            if word not in there:
                options.error(f'{name} {word}: one of {", ".join(there)}')
    it.slowed_by, _, factors = it.unequal.partition(':')
    try:
        it.factors = [float(factor) for factor in words(factors)]
    except ValueError:
        it.factors = []
    if it.slowed_by not in ('sleep', 'quota', 'busy') or len(it.factors) < 2 or min(it.factors) < 1:
        options.error(f'--unequal {it.unequal}: as in sleep:2,4,8, with a factor of at least 1 for each worker')
    it.repeats = it.repeats or (1 if it.quick else 5)
    it.micro_batch = {'micro_batch': it.micro_batch} if it.micro_batch else {}
    it.build = it.build.resolve()
    return it


def main():
    it = arguments()
    if why := why_not(it.slowed_by, it.factors):
        print(f'--unequal {it.unequal}: not possible on this machine: {why}')
        return 77
    print(f'PyTorch {torch.__version__}; medians of {it.repeats} [least..most]; {len(cores())} cores')
    results, wrong = [], False
    for model in it.models:
        for scenario in ([] if it.no_check else ['check']) + it.scenarios:
            try:
                if scenario == 'check':
                    Comparison(it, model, 'steady').check()
                    print(f'{model}: the losses of the first rounds equal those of a plain process', flush=True)
                else:
                    results.append(Comparison(it, model, scenario).run())
                    show(results[-1])
            except Broken as why:
                wrong = True
                print(f'{model}, {scenario}: {why}', flush=True)
                if scenario == 'check':
                    break
    if it.json:
        it.json.write_text(json.dumps(results, indent=1))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
