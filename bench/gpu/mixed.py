"""Measures a cluster with one worker on a GPU and others on the processor, with the GPU at full speed and slowed down.

    mixed.py STEELYARD [--device cuda:0] [--workers 2] [--seconds 20] [--model resnet20]

Prints one line per slowdown factor: name, samples per second in steady state, and percent of ideal. Uses the default
policy.
"""
import argparse
import json
import pathlib
import tempfile

from jobs import trained


def job(it, slow):
    worker = f'[[worker]]\nname = "gpu"\ndevice = "{it.device}"\nsimulate_slowdown = "{slow}"\n'
    worker += ''.join(f'[[worker]]\nname = "cpu-{i}"\n' for i in range(it.workers))
    return (f'[model]\nname = "{it.model}"\n[data]\nname = "synthetic"\nchannels = 3\nheight = 32\nwidth = 32\n'
            f'[train]\nbatch = {it.batch}\nlr = 0.01\nseconds = {it.seconds}\nevaluate_every = 0\ncheckpoint_every = 0\n'
            f'[cluster]\nservers = 1\n{worker}')


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('steelyard')
    options.add_argument('--device', default='cuda:0')
    options.add_argument('--workers', type=int, default=2)
    options.add_argument('--seconds', type=int, default=20)
    options.add_argument('--model', default='resnet20')
    options.add_argument('--batch', type=int, default=1024)
    it = options.parse_args()
    for slow in (1, 20, 100):
        what = f'mixed {it.model}, {it.device} at slow = {slow} and {it.workers} CPUs'
        with tempfile.TemporaryDirectory() as directory:
            path, run = pathlib.Path(directory) / 'job.toml', pathlib.Path(directory) / 'run'
            path.write_text(job(it, slow))
            if why := trained(it.steelyard, None, path, run, 60 + 3 * it.seconds):
                print(what, f'not measured ({why})', '', '', sep='\t', flush=True)
                continue
            result = json.loads((run / 'result.json').read_text())
        rate, ideal = result['steady_samples_per_second'], result['percent_of_ideal']
        shown = f'{rate:.0f} samples/s' if rate is not None else 'not measured (too few rounds for a steady state)'
        print(what, shown, f'{ideal:.0f} % of the ideal' if ideal is not None else '', '', sep='\t', flush=True)


if __name__ == '__main__':
    main()
