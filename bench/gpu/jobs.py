"""Jobs with one worker on the GPU, beside rounds without servers: the difference is the exchange.

A job is `steelyard train` with processes of their own for servers and worker, on synthetic samples.
"""
import json
import os
import pathlib
import signal
import subprocess
import tempfile

# Model, its samples, and the batch of a round.
JOBS = (('resnet18', (3, 32, 32), 2048), ('resnet20', (3, 32, 32), 2048), ('mlp', (1, 28, 28), 2048))
SMALL = (('mlp', (1, 4, 4), 16),)


def job(model, sample, batch, device, precision, servers, seconds):
    channels, height, width = sample
    exact = f'precision = "{precision}"\n' if device.startswith('cuda') else ''
    return (f'[model]\nname = "{model}"\n[data]\nname = "synthetic"\nchannels = {channels}\nheight = {height}\n'
            f'width = {width}\n[train]\nbatch = {batch}\nlr = 0.01\nseconds = {seconds}\nevaluate_every = 0\n'
            f'checkpoint_every = 0\n[cluster]\nservers = {servers}\n'
            f'[[worker]]\nname = "gpu"\ndevice = "{device}"\n{exact}')


def trained(steelyard, env, path, run, limit):
    """Trains. Returns the reason of a failure, or an empty string. Nothing that it started is left."""
    with tempfile.TemporaryFile('w+') as said:
        process = subprocess.Popen([steelyard, 'train', path, '--quiet', '--run-dir', run], stdout=said, stderr=said,
                                   stdin=subprocess.DEVNULL, env=env, start_new_session=True)
        try:
            code = process.wait(max(limit, 1))
        except subprocess.TimeoutExpired as late:
            process.terminate()  # it stops its workers
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                pass
            return f'not finished within {late.timeout:.0f} s'
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        said.seek(0)
        return '' if code == 0 else (said.read().strip().splitlines() or ['no output'])[-1]


def measure(steelyard, env, show, left, device, small, seconds=8):
    """Shows a row for each job, until `left()` seconds are too few for another."""
    every = [(*it, servers) for servers in ((1,) if small else (1, 2, 8)) for it in (SMALL if small else JOBS)]
    if small:
        seconds = 1
    for model, sample, batch, servers in every:
        what = f'job {model}, {device}, {servers} server' + ('s' if servers > 1 else '')
        if left() < seconds + 4:
            show([what, 'not measured (the time was not enough)', '', ''])
            continue
        with tempfile.TemporaryDirectory() as directory:
            path, run = pathlib.Path(directory) / 'job.toml', pathlib.Path(directory) / 'run'
            path.write_text(job(model, sample, batch, device, 'tf32', servers, seconds), encoding='utf-8')
            why = trained(steelyard, env, path, run, min(left(), 30 + 3 * seconds))
            if why:
                show([what, 'FAILED', '', why])
                continue
            result = json.loads((run / 'result.json').read_text(encoding='utf-8'))
        rate = result['steady_samples_per_second']
        show([what, f'{rate:.0f} samples/s' if rate else 'finished', f'batch {batch}',
              '' if rate else 'too few rounds for a steady rate'])
