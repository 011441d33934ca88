# Builds the wheel of the Python package, installs it into a fresh virtual environment outside the source tree, and
# uses it there: the program trains, the library divides a batch, and beside PyTorch nothing brings a second OpenMP.
# Objects that the build has compiled come from ccache. pip gets the wheel builder from PyPI into build/wheel-builder;
# afterwards the test needs no network. Exits with 77, "skipped", only if that first download is impossible.
#
#   wheel_test.py SOURCE COMPILER [PYTHON...]     beside the PyTorch of this Python, and of these
#   wheel_test.py SDIST COMPILER [PYTHON...]      the same from build/packages/steelyard-N.N.N.tar.gz
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

source, compiler, *pythons = sys.argv[1:]
project = pathlib.Path(source)
build = (project.parents[1] if project.is_file() else project / 'build').resolve()

# Runs beside PyTorch: compares the thread pools of the process before and after the library is loaded.
BESIDE_TORCH = r'''
import re
import torch

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


def run(*words, **more):
    words = [str(it) for it in words]
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit(f'{" ".join(words)} exited with {done.returncode}:\n{done.stdout}')
    return done.stdout


with tempfile.TemporaryDirectory(prefix='steelyard-wheel-') as name:
    place = pathlib.Path(name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(('STEELYARD', 'PYTHON'))}
    if project.is_file():
        run('tar', '-xzf', project, '-C', place)
        project = place / project.name.removesuffix('.tar.gz')
    makers = tomllib.loads((project / 'pyproject.toml').read_text())['build-system']['requires']
    builder = build / 'wheel-builder'
    run(sys.executable, '-m', 'venv', builder)
    got = subprocess.run([builder / 'bin/pip', 'install', '--quiet', '--retries', '1', *makers], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if got.returncode != 0:
        print(f'skipped: PyPI cannot be reached for the wheel builder: {got.stdout.strip()[-300:]}')
        sys.exit(77)
    # ccache has the objects of this build: same compiler and settings, and a build directory beside that of
    # script/build.
    run(builder / 'bin/pip', 'wheel', '--no-build-isolation', '--no-deps', '-w', place, project,
        f'--config-settings=build-dir={project}/build/wheel',
        env={**environment, 'CXX': compiler, 'CCACHE_BASEDIR': str(project),
             'CCACHE_SLOPPINESS': 'pch_defines,time_macros'})
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
    run(place / 'use/bin/steelyard', 'demo', '--set', 'train.epochs=2', **there)
    result = (place / 'runs/demo-1/equal-bsp-1/result.json').read_text()
    if '"outcome": "finished"' not in result or not (place / 'runs/demo-1/compare.html').exists():
        sys.exit(result)
    shared = 'from steelyard.balance import Balancer; print(sum(Balancer(3).plan(8)))'
    if run(place / 'use/bin/python', '-c', shared, **there) != '8\n':
        sys.exit('the balancer does not divide')

    # One wheel for all Pythons, also for the one with PyTorch.
    run(place / 'use/bin/pip', 'install', '--no-index', '--no-deps', '--target', place / 'beside', wheel)
    for python in (sys.executable, *pythons):
        print(run(python, '-c', BESIDE_TORCH, cwd=place, env={**environment, 'PYTHONPATH': str(place / 'beside')}))
