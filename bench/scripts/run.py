"""Trains a collection of scripts with steelyard and in plain PyTorch, and compares their parameters.

    script/bench scripts [--list] [--only NAME,...] [--conditions alone,two,slowed,killed]
                         [--results FILE] [--markdown FILE]

Each script (bench/scripts) is run in plain PyTorch, in one process and without steelyard, and under four conditions:

    alone    one process, with its private cluster
    two      two workers
    slowed   two workers, of which one needs four times as long for each sample
    killed   two workers, of which one is killed by kill -9 in the middle of the training and started again. It is an
             error if it has no share after its return

A cell is the largest difference over all parameters and workers, || w - plain || / || plain || with the Euclidean norm
of each parameter, summed in float64, after at least 24 rounds. Its limit is 2e-6. Where rounding is amplified, it is ten
times the difference between two runs in plain PyTorch, of which one accumulates the gradients of half batches.
After a kill with the loader or a trainer, the parameters of the two workers are compared with each other. Exits with 1 if a cell exceeds its limit or has no result.

Results are collected in a file, so that the table can be made in parts; --markdown writes all that is there. The Python
is that of `script/setup --python`, in build/python, or $PYTHON.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / 'build/release'
os.environ.setdefault('STEELYARD_PROGRAM', str(RELEASE / 'bin/steelyard'))
os.environ.setdefault('STEELYARD_LIBRARY', str(RELEASE / 'lib/libsteelyard.so'))
os.environ.update(OMP_NUM_THREADS='1', HF_HUB_OFFLINE='1', PYTHONPATH=os.pathsep.join(
    [str(ROOT / 'bindings/python'), *filter(None, [os.environ.get('PYTHONPATH')])]))
sys.path.insert(0, str(ROOT / 'bindings/python'))

try:
    import cell
    import registry
    import table
    SCRIPTS = registry.load()
except ImportError as missing:
    print(f'scripts: {missing}: script/setup --python installs what the scripts need, in build/python')
    sys.exit(77)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--list', action='store_true', help='prints the names of the scripts')
    parser.add_argument('--only', default=','.join(SCRIPTS), metavar='NAME,...', help='these scripts, or files of them')
    parser.add_argument('--conditions', default=','.join(registry.CONDITIONS), metavar='CONDITION,...')
    parser.add_argument('--results', metavar='FILE', type=pathlib.Path, default=ROOT / 'build/scripts/results.json')
    parser.add_argument('--markdown', metavar='FILE', help='writes the table of all results so far')
    given = parser.parse_args()
    names, given.conditions = set(given.only.split(',')), given.conditions.split(',')
    given.scripts = [it for it in SCRIPTS.values() if {it.name, it.run.__module__} & names]
    unknown = (names - {*SCRIPTS, *registry.FILES}) | (set(given.conditions) - set(registry.CONDITIONS))
    if unknown:
        parser.error(f'no script or condition has the name {", ".join(sorted(unknown))}: see --list and --help')
    return given


def kept(path):
    return json.loads(path.read_text()) if path.exists() else {}


def keep(path, script, condition, about):
    results = kept(path)
    results.setdefault(script.name, {})[condition] = about
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))


def compare(script, given):
    """Runs the cells of a script. Returns whether all are within their limits."""
    good, plain, rounding = True, None, 0.0
    with tempfile.TemporaryDirectory(prefix='steelyard-') as folder:
        for condition in given.conditions:
            try:
                if plain is None:
                    plain = cell.Cell(script, 'plain', f'{folder}/plain').run()[0]
                    if script.why and script.limit == registry.EXACT:
                        halves = cell.Cell(script, 'halves', f'{folder}/halves').run()[0]
                        rounding, _ = cell.difference(halves, plain)
                about = cell.compare(script, condition, f'{folder}/{condition}', plain, rounding)
            except cell.CellError as why:
                about = {'error': str(why)}
            keep(given.results, script, condition, about)
            print(table.line(script, condition, about), flush=True)
            good &= table.good(script, condition, about)
    return good


def main():
    given = arguments()
    if given.list:
        print('\n'.join(f'{it.name:24}{it.way:12}{it.title}' for it in SCRIPTS.values()))
        return 0
    imports = {name for it in given.scripts for name in it.imports}
    cell.PROCESSES.set_forkserver_preload(['process', 'torch._dynamo', 'steelyard.torch', *sorted(imports)])
    results = [compare(it, given) for it in given.scripts]
    if given.markdown:
        pathlib.Path(given.markdown).write_text(table.markdown(SCRIPTS, kept(given.results)))
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
