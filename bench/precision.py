"""Trains the same jobs in float32 and in bf16 to their end, and compares loss and accuracy on the test set.

    script/bench precision [--jobs resnet20,gpt] [--seeds 1,2] [--rounds 700] [--every 1]

Both precisions have the same first weights and the same order of samples. One server and one worker with one thread, so
that only the precision differs. `resnet20` trains on Fashion-MNIST padded to 32 x 32, `gpt` on the bytes of Perl's
manual (apt install perl-doc). The rate falls to zero over the rounds (cosine). The table has a line for each
evaluation: the means of the seeds, and the difference of bf16.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

JOBS = {
    'resnet20': '[model]\nname = "resnet20"\n'
                '[data]\nname = "fashion-mnist"\npad = 32\ncrop = 4\nflip = true\n'
                '[train]\nbatch = 256\noptimizer = "nesterov"\nmomentum = 0.9\nweight_decay = 0.0005\nlr = 0.2\n',
    'gpt': '[model]\nname = "gpt"\nwidth = 128\nlayers = 4\nheads = 4\n'
           '[data]\nname = "bytes"\npath = "/usr/share/perl/5.36.0/pod"\ncontext = 128\n'
           '[train]\nbatch = 32\noptimizer = "adamw"\nweight_decay = 0.1\nclip_norm = 1\nlr = 0.003\n',
}


PRECISIONS = 'float32', 'bf16'


def trained(it, job, precision, seed, folder):
    """Returns the evaluations of a run, as (round, loss, accuracy), and its samples per second."""
    path, run = folder / 'job.toml', folder / f'{job}-{precision}-{seed}'
    path.write_text(f'[job]\nname = "{job}"\nseed = {seed}\n{JOBS[job]}schedule = "cosine"\nwarmup = 0.05\n'
                    f'rounds = {it.rounds}\nevaluate_every = {it.every}\ncheckpoint_every = 0\n'
                    f'[cluster]\nservers = 1\npolicy = "equal"\n[[worker]]\nprecision = "{precision}"\n')
    done = subprocess.run([it.build / 'bin/steelyard', 'train', path, '--quiet', '--run-dir', run], text=True,
                          capture_output=True)
    if done.returncode != 0:
        sys.exit(f'precision.py: {job} in {precision}: {done.stderr.strip()}')
    lines = [json.loads(line) for line in (run / 'rounds.jsonl').read_text().splitlines()]
    result = json.loads((run / 'result.json').read_text())
    return ([(line['round'], line['loss'], 100 * line['accuracy']) for line in lines if line['purpose'] == 'evaluate'],
            result['steady_samples_per_second'])


def compare(it, job, folder):
    runs = {precision: [] for precision in PRECISIONS}
    for number, seed in enumerate(it.seeds):
        for precision in PRECISIONS if number % 2 == 0 else PRECISIONS[::-1]:
            runs[precision].append(trained(it, job, precision, seed, folder))
    print(f"{job:10} {'loss':>9} {'in bf16':>9} {'change':>8}   {'accuracy':>8} {'in bf16':>8} {'points':>6}")
    for at in range(len(runs['float32'][0][0])):
        loss, accuracy = ({precision: statistics.mean(run[at][column] for run, _ in of)
                           for precision, of in runs.items()} for column in (1, 2))
        print(f"round {runs['float32'][0][0][at][0]:4} {loss['float32']:9.4f} {loss['bf16']:9.4f} "
              f"{100 * (loss['bf16'] / loss['float32'] - 1):+7.2f}%   {accuracy['float32']:7.2f}% "
              f"{accuracy['bf16']:7.2f}% {accuracy['bf16'] - accuracy['float32']:+6.2f}")
    rates = {precision: statistics.median(rate for _, rate in of) for precision, of in runs.items()}
    print(f"{'':10} {rates['bf16'] / rates['float32']:.2f} times as many samples per second", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(',')
    options.add_argument('--jobs', type=words, default=list(JOBS))
    options.add_argument('--seeds', type=words, default=['1'])
    options.add_argument('--rounds', type=int, default=700)
    options.add_argument('--every', type=int, default=1, help='epochs between two evaluations')
    options.add_argument('--build', type=lambda text: pathlib.Path(text).resolve(), default=ROOT / 'build/release')
    it = options.parse_args()
    with tempfile.TemporaryDirectory(prefix='steelyard-precision-') as folder:
        for job in it.jobs:
            compare(it, job, pathlib.Path(folder))


if __name__ == '__main__':
    main()
