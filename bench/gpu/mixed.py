"""Measures a cluster with one worker on a GPU and others on the processor, beside the GPU alone.

    mixed.py STEELYARD [--device cuda:0] [--workers 2] [--seconds 15] [--model resnet20] [--batches 1024,16384]

For each batch, with the GPU at full speed and slowed down: samples per second in steady state with and without the
processor, percent of ideal, the processor's shares of the last round, and how often it was tried while it had none, with
the median time of such a trial. Uses the default policy.
"""
import argparse
import json
import pathlib
import statistics
import tempfile

from jobs import trained

SLOWER = (1, 20, 100)


def job(it, batch, slow, workers):
    text = f'[[worker]]\nname = "gpu"\ndevice = "{it.device}"\nsimulate_slowdown = "{slow}"\n'
    threads = f'threads = "{it.threads}"\n' if it.threads else ''
    text += ''.join(f'[[worker]]\nname = "cpu-{i}"\n{threads}' for i in range(workers))
    channels, height, width = it.sample
    return (f'[model]\nname = "{it.model}"\n[data]\nname = "synthetic"\nchannels = {channels}\nheight = {height}\n'
            f'width = {width}\n[train]\nbatch = {batch}\nlr = 0.01\nseconds = {it.seconds}\nevaluate_every = 0\n'
            f'checkpoint_every = 0\n[cluster]\nservers = 1\n{text}')


def run(it, batch, slow, workers):
    """Trains. Returns (result, rounds), or the reason of a failure."""
    with tempfile.TemporaryDirectory() as directory:
        path, folder = pathlib.Path(directory) / 'job.toml', pathlib.Path(directory) / 'run'
        path.write_text(job(it, batch, slow, workers))
        if why := trained(it.steelyard, None, path, folder, 60 + 3 * it.seconds):
            return why
        rounds = [json.loads(line) for line in (folder / 'rounds.jsonl').read_text().splitlines()]
        return json.loads((folder / 'result.json').read_text()), rounds


def shares_text(rounds):
    """The processor's shares of the last round: 'shares 32 and 0'."""
    last = [it for it in rounds if it['purpose'] == 'train'][-1:]
    shares = dict(zip(last[0]['workers'], last[0]['shares'])) if last else {}
    cpus = {name for it in rounds for name in it['workers'] if name.startswith('cpu-')}
    return 'shares ' + ' and '.join(str(shares.get(name, 0)) for name in sorted(cpus)) if cpus else 'shares none'


def trials_text(rounds):
    """Trials beside rounds (docs/policies.md), in which workers without a share are measured."""
    times = [trial['compute_ms'] for it in rounds for trial in it.get('trials', [])]
    return f'{len(times)} trials' + (f' of {statistics.median(times):.0f} ms' if times else '')


def rate_text(rate):
    return f'{rate:.0f} samples/s' if rate is not None else 'not measured (too few rounds for a steady state)'


def rows(it, batch, slow):
    """The rows of a batch and a slowdown factor: the GPU alone, then with the processor."""
    name = f'{it.model}, batch {batch}, {it.device} at slow = {slow}'
    alone = run(it, batch, slow, 0)
    if isinstance(alone, str):
        yield f'mixed {name}', f'not measured ({alone})', '', ''
        return
    before = alone[0]['steady_samples_per_second']
    yield f'mixed {name}, alone', rate_text(before), '', ''
    both = run(it, batch, slow, it.workers)
    if isinstance(both, str):
        yield f'mixed {name} and {it.workers} CPUs', f'not measured ({both})', '', ''
        return
    result, rounds = both
    rate, ideal = result['steady_samples_per_second'], result['percent_of_ideal']
    gain = f'{rate / before:.3f} times alone' if rate and before else ''
    told = [f'{ideal:.0f} % of the ideal' if ideal is not None else '', shares_text(rounds), trials_text(rounds)]
    yield f'mixed {name} and {it.workers} CPUs', rate_text(rate), gain, ', '.join(text for text in told if text)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('steelyard')
    options.add_argument('--device', default='cuda:0')
    options.add_argument('--workers', type=int, default=2)
    options.add_argument('--threads', default='', help='of each worker on the processor; by default one')
    options.add_argument('--seconds', type=int, default=15)
    options.add_argument('--model', default='resnet20')
    options.add_argument('--sample', type=lambda text: [int(it) for it in text.split('x')], default=[3, 32, 32])
    options.add_argument('--batches', type=lambda text: [int(it) for it in text.split(',')], default=[1024, 16384])
    it = options.parse_args()
    for batch in it.batches:
        for slow in SLOWER:
            for row in rows(it, batch, slow):
                print(*row, sep='\t', flush=True)


if __name__ == '__main__':
    main()
