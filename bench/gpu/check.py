"""Checks and measures the CUDA backend within a limit of time: script/gpu-check and run.sh of the kit start it.

    check.py [PART...] [--until SECONDS] [--out DIR] [--bin DIR] [--device cuda:0|host-cuda] [--small]

Parts, in this order; a part that needs less than its share of the time leaves the rest to those behind it:

    env     card, driver, libraries, machine
    smoke   what networks rely on, one thing at a time
    limits  copies, launches, and products of cuBLASLt
    tests   the tests of the kernels, each suite in a process of its own
    models  gradients of all built-in models in three precisions, against the processor's
    ops     results of every op in three precisions, against the reference's
    steps   training steps of networks in tf32 and bf16, then in other sizes and in float32
    peers   the same steps in PyTorch, if it is installed
    jobs    `steelyard train` with one worker on the GPU, beside the steps
    steady  whether rounds allocate memory or wait
    times   the time of every op compared with its limit
    mixed   a cluster of the GPU, also slowed down, and the processor
    table   only prints the table of earlier measurements

Without PART, those from env to jobs. After each part it writes table.txt and result.json to --out; log.txt there has
every line with its second, sanitizer.txt what compute-sanitizer reports about failed cases.
"""
import argparse
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import cases
import environment
import jobs
import table

FOLDER = pathlib.Path(__file__).resolve().parent

# Seconds of each part, of 540 in all.
SHARES = {'env': 8, 'smoke': 20, 'limits': 20, 'tests': 130, 'models': 110, 'ops': 45, 'steps': 65, 'peers': 50, 'jobs': 85}
LATER = {'steady': 30, 'times': 120, 'mixed': 300}
SECTIONS = 'smoke', 'limits', 'models', 'ops', 'steps', 'steady', 'times'


class Check:
    """One call: its options, its results, and the files that it writes."""

    def __init__(self, it):
        self.it, self.begin = it, time.monotonic()
        self.out = pathlib.Path(it.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.log = open(self.out / 'log.txt', 'w', encoding='utf-8')
        (self.out / 'sanitizer.txt').unlink(missing_ok=True)
        self.sanitized = 0
        self.about = {'command': ' '.join(['check.py', *sys.argv[1:]]), 'date': time.strftime('%F %T'),
                      'card': environment.card('name') or it.device, 'driver': environment.card('driver_version')}
        self.parts = table.read(self.out)
        # Programs find the libraries of the kit last. Not Python: PyTorch needs those of the machine.
        self.env = dict(os.environ)
        kit = pathlib.Path(it.bin).parent / 'lib'
        if (kit / 'libzmq.so.5').exists():
            self.env['LD_LIBRARY_PATH'] = ':'.join(filter(None, [self.env.get('LD_LIBRARY_PATH'), str(kit.resolve())]))

    def show(self, rows, row):
        """Keeps and prints a row at once."""
        row = [text.replace('\t', ' ').replace('\n', ' ')[:300] for text in row]
        rows.append(row)
        line = f'{time.monotonic() - self.begin:5.0f} s  ' + '  '.join(text for text in row if text)
        print(line, flush=True)
        print(line, file=self.log, flush=True)

    def run(self, parts):
        shares = {**SHARES, **LATER}
        scale, planned = self.it.until / max(sum(shares[part] for part in parts), 1), 0
        for part in parts:
            planned += shares[part]
            end = self.begin + planned * scale
            rows, begin = [], time.monotonic()
            self.parts[part] = rows
            show = functools.partial(self.show, rows)
            print(f'== {part}: until second {end - self.begin:.0f}', flush=True)
            try:
                self.part(part, show, end)
            except cases.TooLate:
                pass
            except Exception as trouble:  # the other parts still tell something
                show([part, 'FAILED', '', f'{trouble}' or type(trouble).__name__])
            self.write({'part': part, 'seconds': round(time.monotonic() - begin, 1)})

    def part(self, part, show, end):
        program, left = os.path.join(self.it.bin, 'steelyard_gpu_check'), lambda: end - time.monotonic()
        small = ['--small'] if self.it.small else []
        if part == 'env':
            environment.show_all(show)
        elif part in SECTIONS:
            # Kernels report their errors at the launch where it costs little; networks need their graphs.
            env = {**self.env, 'CUDA_LAUNCH_BLOCKING': '1'} if part == 'ops' else self.env
            command = [program, part, *small]
            planted = [word for it in self.it.plant for kind, word in [it.split('=', 1)] if kind == part]
            command += [word for it in planted for word in ('--plant', it)]
            cases.run_cases(command, env, show, end, self.it.silence, functools.partial(self.sanitize, command, show, end))
        elif part == 'tests':
            tests = os.path.join(self.it.bin, 'test_nn_cuda')
            if not os.path.exists(tests):
                show(['tests', 'not measured (the tests were not built: GTest is missing)', '', ''])
                return
            cases.run_suites(tests, self.env, show, end, self.it.silence, self.it.tests)
        elif part == 'jobs':
            steelyard = os.path.join(self.it.bin, 'steelyard')
            if not os.path.exists(steelyard):
                show(['jobs', 'not measured (the full product was not built here)', '', ''])
                return
            jobs.measure(steelyard, self.env, show, left, self.it.device, self.it.small)
        else:
            self.python(part, show, end)

    def python(self, part, show, end):
        """The parts that are programs of their own."""
        if part == 'peers':
            if not environment.said('python3', '-c', 'import torch; print(torch.cuda.is_available())').startswith('True'):
                show(['PyTorch', 'not measured (python3 has no PyTorch that finds the device)', '', ''])
                return
            command, env = ['python3', '-B', FOLDER / 'torch_steps.py', '--first'], dict(os.environ)
        else:
            command, env = ['python3', '-B', FOLDER / 'mixed.py', os.path.join(self.it.bin, 'steelyard'),
                            '--device', self.it.device], self.env
        process, silent = cases.Process(list(map(str, command)), env), False
        for line in process.lines(120, end):
            silent = line is None
            if line:
                show((line.split('\t') + [''] * 4)[:4])
        code, why = process.end()
        if silent:
            show([f'{part}: further ones', 'not measured (the time was not enough)', '', ''])
        elif code != 0:
            show([part, 'FAILED', '', why])

    def sanitize(self, command, show, end, number, title):
        """Runs a case that failed once more under compute-sanitizer, at most three times in all."""
        limit = min(30, end - time.monotonic())
        if not shutil.which('compute-sanitizer') or limit < 5 or self.sanitized >= 3:
            return
        self.sanitized += 1
        try:
            result = subprocess.run(['compute-sanitizer', *command, '--from', str(number), '--end', str(number + 1)],
                                    env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    errors='replace', stdin=subprocess.DEVNULL, timeout=limit)
            said = result.stdout
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b'').decode(errors='replace') + f'\nnot finished within {limit:.0f} s'
        with open(self.out / 'sanitizer.txt', 'a', encoding='utf-8') as file:
            file.write(f'==== {title}\n{said[:20000]}\n')
        found = [line.strip('= ') for line in said.splitlines() if line.startswith('=========') and line.strip('= ')]
        show([f'sanitizer: {title}', found[-1] if found else 'nothing', '', (found[1:2] or [''])[0]])

    def write(self, took=None):
        """Writes the table and the results so far."""
        if took:
            self.about.setdefault('took', []).append(took)
        text = table.text(self.about, self.parts)
        (self.out / 'table.txt').write_text(text, encoding='utf-8')
        (self.out / 'result.json').write_text(json.dumps({'about': self.about, 'parts': self.parts}, indent=1),
                                              encoding='utf-8')
        return text


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('parts', nargs='*', metavar='PART', help=' '.join([*SHARES, *LATER, 'table']))
    options.add_argument('--until', type=float, default=540, help='seconds for all parts')
    options.add_argument('--out', default='gpu-check', help='folder for results: five small files')
    options.add_argument('--bin', default=str(FOLDER.parent.parent / 'bin'), help='folder of the programs')
    options.add_argument('--device', default='cuda:0', help='of jobs: cuda:0, or host-cuda in builds with tests')
    options.add_argument('--small', action='store_true', help='small models and samples, for the host executor')
    options.add_argument('--silence', type=float, default=60, help='seconds after which a case without result is ended')
    options.add_argument('--tests', default='', help='only tests that this filter of GTest accepts')
    options.add_argument('--plant', action='append', default=[], metavar='PART=FAULT:N', help=argparse.SUPPRESS)
    it = options.parse_args()
    known = [*SHARES, *LATER]
    unknown = [part for part in it.parts if part not in [*known, 'table']]
    if unknown:
        options.error(f'unknown part {unknown[0]}; valid: {" ".join([*known, "table"])}')
    check = Check(it)
    chosen = [part for part in known if part in (it.parts or SHARES)]
    check.run(chosen)
    print('\n' + check.write(), flush=True)
    wrong = [row for part in chosen for row in check.parts[part] if row[1] in ('WRONG', 'FAILED')]
    sys.exit(f'script/gpu-check: {len(wrong)} failures, the first: {": ".join(filter(None, wrong[0]))}' if wrong else 0)


if __name__ == '__main__':
    main()
