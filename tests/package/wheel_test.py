# Builds the wheel of the Python package, installs it into a fresh virtual environment outside the source tree, and
# uses it there: the program trains, the library divides a batch, and beside PyTorch nothing brings a second OpenMP.
# Exits with 77, "skipped", if pip, the network or the wheel builder is missing. Objects that the build has compiled
# come from ccache.
#
#   wheel_test.py SOURCE COMPILER PYTHON_WITH_TORCH
import os
import pathlib
import re
import subprocess
import sys
import tempfile

source, compiler, torch_python = sys.argv[1:]
project = pathlib.Path(source, 'bindings/python')

# Runs beside PyTorch, if available: compares the thread pools of the process before and after the library is loaded.
BESIDE_TORCH = r'''
try:
    import torch
except ImportError as missing:
    raise SystemExit(f'no PyTorch: {missing}')
import re

def pools():
    with open('/proc/self/maps') as maps:
        return set(re.findall(r'/.*/lib(?:[gi]?omp|tbb|dnnl)[^/]*\.so[^/\n]*', maps.read()))

torch.ones(300, 300) @ torch.ones(300, 300)
before = pools()
from steelyard.balance import Balancer
assert sum(Balancer(workers=3).plan(100)) == 100
after = pools()
assert 'libsteelyard.so' in open('/proc/self/maps').read(), 'the library is not loaded'
assert before == after, f'the library brought {after - before}'
assert sum('omp' in it for it in after) <= 1, f'more than one OpenMP: {after}'
print(f'beside PyTorch {torch.__version__}:', *after)
'''


def skip(why):
    print(f'skipped: {why}')
    sys.exit(77)


def call(*words, **more):
    words = [str(it) for it in words]
    return subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def run(*words, **more):
    done = call(*words, **more)
    if done.returncode != 0:
        sys.exit(f'{" ".join(map(str, words))} exited with {done.returncode}:\n{done.stdout}')
    return done.stdout


def run_or_skip(remedy, *words):
    done = call(*words)
    if done.returncode != 0:
        skip(f'{remedy}: {done.stdout.strip()[-300:]}')


try:
    import tomllib
except ImportError:
    skip('this Python is older than 3.11')

with tempfile.TemporaryDirectory(prefix='steelyard-wheel-') as name:
    place = pathlib.Path(name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(('STEELYARD', 'PYTHON'))}
    makers = tomllib.loads((project / 'pyproject.toml').read_text())['build-system']['requires']
    run_or_skip('no pip (script/setup --python installs it)', sys.executable, '-m', 'venv', place / 'make')
    run_or_skip('no network', place / 'make/bin/pip', 'install', '--quiet', '--retries', '1', *makers)
    # ccache has the objects of this build: same compiler and settings, and a build directory beside that of script/build.
    run(place / 'make/bin/pip', 'wheel', '--no-build-isolation', '--no-deps', '-w', place, project,
        f'--config-settings=build-dir={source}/build/wheel',
        env={**environment, 'CXX': compiler, 'CCACHE_BASEDIR': source, 'CCACHE_SLOPPINESS': 'pch_defines,time_macros'})
    wheel, = place.glob('*.whl')
    print(f'{wheel.name}: {wheel.stat().st_size >> 10} KiB')
    if not re.fullmatch(r'steelyard-[\d.]+-py3-none-linux_\w+\.whl', wheel.name):
        sys.exit(f'{wheel.name} is not for all Pythons')

    there = {'cwd': place, 'env': environment}
    run(sys.executable, '-m', 'venv', place / 'use')
    run(place / 'use/bin/pip', 'install', '--no-index', '--no-deps', wheel)
    program = run(place / 'use/bin/steelyard', '--version', **there)
    asked = 'import steelyard; print(steelyard.__version__, steelyard.__file__)'
    version, file = run(place / 'use/bin/python', '-c', asked, **there).split()
    if not program.startswith(f'steelyard {version},') or place not in pathlib.Path(file).parents:
        sys.exit(f'package {version} at {file}, and the program: {program}')
    job = pathlib.Path(source, 'examples/jobs/quick.toml')
    run(place / 'use/bin/steelyard', 'train', job, '--run-dir', 'run', **there)
    result = (place / 'run/result.json').read_text()
    if '"outcome": "finished"' not in result:
        sys.exit(result)
    shared = 'from steelyard.balance import Balancer; print(sum(Balancer(3).plan(8)))'
    if run(place / 'use/bin/python', '-c', shared, **there) != '8\n':
        sys.exit('the balancer does not divide')

    # One wheel for all Pythons, also for the one with PyTorch.
    run(place / 'use/bin/pip', 'install', '--no-index', '--no-deps', '--target', place / 'beside', wheel)
    beside = call(torch_python, '-c', BESIDE_TORCH, cwd=place, env={**environment, 'PYTHONPATH': str(place / 'beside')})
    if beside.stdout.startswith('no PyTorch'):
        skip(f'only the part beside PyTorch: {beside.stdout}')
    print(beside.stdout)
    sys.exit(beside.returncode)
