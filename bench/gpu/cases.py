"""Runs programs case by case within a limit of time: what one case breaks does not hide the cases behind it.

steelyard_gpu_check announces each case by a line "@case<tab>number<tab>title". If the device is lost (exit code 3), the
program crashes, or a case takes too long, the next case runs in a new process. test_nn_cuda (GTest) runs one process per
suite, and each failed test once more alone.
"""
import os
import re
import selectors
import signal
import subprocess
import tempfile
import time

LOST = 3  # exit code of steelyard_gpu_check: the device does not work any more


class TooLate(Exception):
    """The limit of the part is reached."""


class Process:
    """A program whose lines are read as they come; its own process group, so that nothing of it is left."""

    def __init__(self, command, env):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=self.errors,
                                        stdin=subprocess.DEVNULL, start_new_session=True)
        self.selector, self.rest = selectors.DefaultSelector(), b''
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def lines(self, silence, end):
        """Yields lines; None, and nothing more, if there is none for `silence` seconds or until `end`."""
        said = time.monotonic()
        while True:
            left = min(said + silence, end) - time.monotonic()
            if left <= 0 or not self.selector.select(left):
                yield None
                return
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return
            said = time.monotonic()
            *whole, self.rest = (self.rest + data).split(b'\n')
            yield from (line.decode(errors='replace') for line in whole)

    def end(self):
        """Ends it. Returns its exit code and the last line of its standard error."""
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.selector.close()
        self.errors.seek(0)
        text = self.errors.read().decode(errors='replace').strip().splitlines()
        self.errors.close()
        return code, text[-1] if text else ''


def ending(code, silent, silence):
    """Why a process did not finish its case, in words."""
    if silent:
        return f'no result within {silence:.0f} s'
    if code == LOST:
        return 'the device is lost; the next case runs in a new process'
    if code is not None and code < 0:
        return f'crash: {signal.Signals(-code).name}'
    return f'exit code {code}'


def run_cases(command, env, show, end, silence, sanitize):
    """Runs all cases of a section. `show` gets each row, a list of four texts. `sanitize(number, title)` is called for
    each case that failed. Raises TooLate at `end`, after showing how many cases were left."""
    cases = listed(command, env)
    current, begun = 0, False
    while current < len(cases):
        process, silent, failed, begun = Process([*command, '--from', str(current)], env), False, set(), False
        for line in process.lines(silence, end):
            if line is None:
                silent = True
            elif line.startswith('@case\t'):
                current, begun = int(line.split('\t')[1]), True
            elif line:
                row = (line.split('\t') + [''] * 4)[:4]
                if row[1] == 'WRONG':
                    failed.add(current)
                show(row)
        code, why = process.end()
        finished = not silent and code in (0, 1) and begun
        if silent and time.monotonic() >= end:
            show([f'{command[1]}: {len(cases) - current} cases', 'not measured (the time was not enough)', '', ''])
            raise TooLate
        if not finished:
            if not begun:
                raise RuntimeError(why or ending(code, silent, silence))
            show([cases[current], 'FAILED', '', '; '.join(filter(None, [ending(code, silent, silence), why]))])
            failed.add(current)
        for number in sorted(failed):
            sanitize(number, cases[number])
        current = len(cases) if finished else current + 1


def listed(command, env):
    """The titles of the cases."""
    result = subprocess.run([*command, '--list'], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors='replace', stdin=subprocess.DEVNULL, timeout=60)
    titles = [line.split('\t')[2] for line in result.stdout.splitlines() if line.startswith('@case\t')]
    if not titles:
        said = result.stderr.strip().splitlines() or [f'{command[0]} lists no cases']
        raise RuntimeError(said[-1])
    return titles


def run_suites(program, env, show, end, silence, only=''):
    """Runs the tests of a GTest program, its suites in separate processes, and each test that failed, or that a crash
    hid, once more alone."""
    result = subprocess.run([program, '--gtest_list_tests', *([f'--gtest_filter={only}'] if only else [])], env=env,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, timeout=60)
    suites = {}
    for line in result.stdout.splitlines():
        if re.match(r'\S+\.(\s|$)', line):
            suite = line.split()[0]
            suites[suite] = []
        elif line.startswith('  ') and suites:
            suites[suite].append(line.split()[0])
    if not suites:
        raise RuntimeError((result.stderr.strip().splitlines() or ['it lists no tests'])[-1])
    for suite, tests in suites.items():
        passed, why = run_tests(program, f'{suite}*' if not only else only, env, end, silence)
        bad = [test for test in tests if suite + test not in passed]
        if time.monotonic() >= end:
            show([f'tests {suite[:-1]} and later ones', 'not measured (the time was not enough)', '', ''])
            raise TooLate
        alone = [test for test in bad if suite + test not in run_tests(program, suite + test, env, end, silence)[0]]
        for test in alone:
            show([f'test {suite}{test}', 'FAILED', '', why])
        beside = f'{len(bad) - len(alone)} of them only alone' if len(bad) > len(alone) else ''
        show([f'tests {suite[:-1]}', f'{len(tests) - len(alone)} of {len(tests)} passed', beside, ''])


def run_tests(program, chosen, env, end, silence):
    """Returns the names of the tests that passed or were skipped, and the first failure or how the process ended."""
    passed, trouble, silent = set(), '', False
    process = Process([program, f'--gtest_filter={chosen}', '--gtest_color=no'], env)
    for line in process.lines(silence, end):
        silent = line is None
        match = re.match(r'\[ +(OK|SKIPPED) +\] (\S+)', line or '')
        if match:
            passed.add(match[2])
        elif line and re.search(r': Failure$|Failure: |exception', line) and not trouble:
            trouble = line.strip()
    code, why = process.end()
    if code not in (0, 1) or silent:
        trouble = '; '.join(filter(None, [ending(code, silent, silence), why, trouble]))
    return passed, trouble
