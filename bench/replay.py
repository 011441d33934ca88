"""Measures the accuracy of the predictions of `steelyard replay`.

    script/bench replay [--job examples/jobs/demo.toml] [--policies steelyard,equal] [--epochs 2] [--repeats 3]

The job is trained under each policy in turn. Then each run is replayed under all policies: under its own, to measure how
well the simulator reproduces the recording, and under the others, to predict their runs. Each error compares the
predicted seconds with those measured in the same repeat. The goals are 5 % and 10 %.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEELYARD = ROOT / 'build' / 'release' / 'bin' / 'steelyard'


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--job', default=ROOT / 'examples/jobs/demo.toml')
    parser.add_argument('--policies', default='steelyard,equal', type=lambda text: text.split(','))
    parser.add_argument('--epochs', default=2, type=int)
    parser.add_argument('--repeats', default=3, type=int)
    parser.add_argument('--steelyard', default=STEELYARD, help='path of the program (default: the one in build/release)')
    return parser.parse_args()


def trained(options, policy, folder):
    """Trains, and returns the number of recorded rounds."""
    subprocess.run([options.steelyard, 'train', options.job, '--set', f'cluster.policy={policy}', '--set',
                    f'train.epochs={options.epochs}', '--run-dir', folder, '--quiet'],
                   check=True, stdout=subprocess.DEVNULL)
    records = map(json.loads, (folder / 'rounds.jsonl').read_text().splitlines())
    return sum(1 for record in records if 'round' in record)


def replayed(options, folder):
    """Returns the seconds of the run, and the predicted seconds under each policy."""
    text = subprocess.run([options.steelyard, 'replay', folder, '--policies', ','.join(options.policies)],
                          check=True, capture_output=True, text=True).stdout
    took = re.search(r'took ([\d.]+) s', text)
    rows = {policy: re.search(rf'^ *{re.escape(policy)} \S+ +([\d.]+) ', text, re.M) for policy in options.policies}
    if took is None or None in rows.values():
        raise SystemExit(f'replay.py: unexpected output of `steelyard replay`:\n{text}')
    return float(took[1]), {policy: float(row[1]) for policy, row in rows.items()}


def main():
    options = arguments()
    errors = {}
    with tempfile.TemporaryDirectory() as place:
        for repeat in range(options.repeats):
            folders = {policy: pathlib.Path(place, f'{policy}-{repeat}') for policy in options.policies}
            rounds = {policy: trained(options, policy, folder) for policy, folder in folders.items()}
            if len(set(rounds.values())) > 1:
                raise SystemExit(f'replay.py: WRONG RESULT: the policies have different numbers of rounds: {rounds}')
            answers = {policy: replayed(options, folder) for policy, folder in folders.items()}
            for recorded, (_, predicted) in answers.items():
                for policy, seconds in predicted.items():
                    error = 100 * (seconds / answers[policy][0] - 1)
                    errors.setdefault((recorded, policy), []).append(error)
                    print(f'repeat {repeat + 1}: recorded under {recorded}, replayed under {policy}: {seconds:.2f} s, '
                          f'measured {answers[policy][0]:.2f} s, {error:+.1f} %', flush=True)
    print(f'\n{"recorded under":<16}{"replayed under":<16}{"error, median":>14}  range         goal')
    for (recorded, policy), all_of_them in errors.items():
        goal = 5 if recorded == policy else 10
        middle = statistics.median(all_of_them)
        print(f'{recorded:<16}{policy:<16}{middle:>+13.1f}%  [{min(all_of_them):+.1f}..{max(all_of_them):+.1f}]  '
              f'{goal} %{"" if abs(middle) <= goal else ": MISSED"}')


if __name__ == '__main__':
    main()
