"""Measures how far two copies of a model drift apart on unlike processors, after 100, 1,000, 3,000 and 10,000 steps.

    script/bench drift [--steps 100,1000,3000,10000]

Two workers train a small MLP with AdamW and join(step='here'): both take every step, from the same gradients. PyTorch
uses AVX2 in one of them, and no vector instructions in the other (ATEN_CPU_CAPABILITY), as on two kinds of processors.
The distance is that of all parameters, relative to the norm of one copy.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = {'worker-0': 'default', 'worker-1': 'avx2'}
BATCH = 32


def work(folder, steps):
    name = os.environ['STEELYARD_NAME']
    os.environ['ATEN_CPU_CAPABILITY'] = KINDS[name]  # read by PyTorch when it is imported
    import torch

    import steelyard.torch
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs = torch.randn(4096, 64)
    data = torch.utils.data.TensorDataset(inputs, (inputs @ torch.randn(64, 10)).argmax(1))
    job = steelyard.torch.join(model, optimizer, data, batch=BATCH, rounds=steps[-1], step='here')
    for its in job.rounds():
        for x, y in its:
            its.backward(torch.nn.functional.cross_entropy(model(x), y))
        optimizer.step()
        if its.version + 1 in steps:
            torch.save(torch.nn.utils.parameters_to_vector(model.parameters()).detach(),
                       folder / f'{name}-{its.version + 1}.pt')


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--steps', default='100,1000,3000,10000')
    options.add_argument('--build', type=lambda text: pathlib.Path(text).resolve(), default=ROOT / 'build/release')
    options.add_argument('--worker', type=pathlib.Path, help=argparse.SUPPRESS)
    it = options.parse_args()
    steps = [int(number) for number in it.steps.split(',')]
    if it.worker:
        return work(it.worker, steps)
    try:
        import torch
    except ImportError as missing:
        print(f'drift: {missing}: script/setup --peers installs PyTorch, in build/peers')
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix='steelyard-drift-') as folder:
        environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'STEELYARD_PYTHON': sys.executable,
                       'PYTHONPATH': str(ROOT / 'bindings/python'), 'STEELYARD_PROGRAM': f'{it.build}/bin/steelyard',
                       'STEELYARD_LIBRARY': f'{it.build}/lib/libsteelyard.so'}
        run = subprocess.run([f'{it.build}/bin/steelyard', 'run', '-n', '2', '--run-dir', f'{folder}/run', __file__,
                              '--worker', folder, '--steps', it.steps], env=environment, cwd=folder,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0 or 'is replaced' in run.stdout:
            sys.exit(f'drift.py: the job failed, or a copy was replaced:\n{run.stdout}')
        print(f'PyTorch {torch.__version__}, {" beside ".join(KINDS.values())}')
        for step in steps:
            one, other = (torch.load(f'{folder}/{name}-{step}.pt').double() for name in KINDS)
            print(f'after {step:6,} steps: {float((one - other).norm() / one.norm()):.1e}')


if __name__ == '__main__':
    main()
