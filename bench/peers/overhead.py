"""Measures the cost of a round besides the user's own forward and backward pass, with one worker of steelyard.torch.

    script/bench overhead [--models resnet20] [--batch 128] [--rounds 30] [--repeats 3] [--trace FILE]

A bare loop (forward, backward, no step), a usual one (DataLoader, forward, backward, optimizer.step()) and a job with
the same model and batches alternate in one single-threaded process; scheduler and server use the machine's other cores.
A round is the time from one iteration of the job's loop to the next: samples, parameters, forward, backward, exchange,
the server's step and the scheduler's messages. Figures are medians.

Also measures the fraction of the gradient that is announced before backward returns, and the fraction of the server's
processor time that overlaps with the worker's backward pass. --trace writes a timeline for ui.perfetto.dev and
chrome://tracing.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ['OMP_NUM_THREADS'] = '1'
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
try:
    import torch
    from models import PEERS

    sys.path.insert(0, str(ROOT / 'bindings/python'))
    import steelyard.torch
except ImportError as missing:
    print(f'overhead: {missing}: script/setup --peers installs PyTorch and what it needs, in build/peers')
    sys.exit(77)
FIRST = 6  # rounds that are not measured: PyTorch's warm-up, and sending ahead, which begins with the second


def children():
    """Returns pid and command line of all descendants of this process."""
    parents, commands = {}, {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            stat = pathlib.Path('/proc', pid, 'stat').read_text()
            commands[pid] = pathlib.Path('/proc', pid, 'cmdline').read_text().split('\0')
        except OSError:
            continue
        parents[pid] = stat.rsplit(')', 1)[1].split()[1]
    own = [str(os.getpid())]
    for pid in own:
        own += [child for child, parent in parents.items() if parent == pid]
    return {pid: commands[pid] for pid in own[1:]}


class Watch:
    """Processor time of the cluster's servers."""

    def __init__(self):
        servers = [pid for pid, command in children().items() if 'server' in command[1:2]]
        self.file = tempfile.TemporaryFile('w+')
        self.process = subprocess.Popen([sys.executable, '-B', HERE / 'busy_times.py', *servers], text=True,
                                        stdin=subprocess.PIPE, stdout=self.file)

    def end(self):
        """Returns triples: end of an interval, number of the thread, and its processor seconds in the interval."""
        self.process.stdin.close()
        self.process.wait()
        self.file.seek(0)
        lines = [line.split() for line in self.file]
        return [(int(at) / 1e9, int(thread), int(passed) / 1e9) for at, _, thread, passed in lines]


class Case:
    """One model with its data."""

    def __init__(self, it, name):
        torch.manual_seed(1)
        self.it, self.name = it, name
        self.model = PEERS[name].make()
        samples = (FIRST + it.rounds) * it.batch
        self.x, self.y = torch.randn(samples, *PEERS[name].sample), torch.randint(0, 10, (samples,))

    def loss(self, x, y):
        return torch.nn.functional.cross_entropy(self.model(x), y)

    def usual(self):
        """Returns the median seconds of an iteration of a usual loop."""
        data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(self.x, self.y), self.it.batch, shuffle=True)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9)
        times = [time.monotonic()]
        for x, y in data:
            optimizer.zero_grad()
            self.loss(x, y).backward()
            optimizer.step()
            times.append(time.monotonic())
        return statistics.median(end - begin for begin, end in zip(times[FIRST:], times[FIRST + 1:]))

    def bare(self):
        """Returns the median seconds of a forward and a backward pass."""
        times = []
        for turn in range(FIRST + self.it.rounds // 2):
            batch = slice(turn * self.it.batch, (turn + 1) * self.it.batch)
            begin = time.monotonic()
            self.model.zero_grad(set_to_none=True)
            self.loss(self.x[batch], self.y[batch]).backward()
            times.append(time.monotonic() - begin)
        return statistics.median(times[FIRST:])

    def job(self):
        """Runs a job. Returns times of iterations, backward passes and announced ranges, and the servers' times."""
        noted = {'begin': [], 'backward': [], 'told': []}
        worker, tell = steelyard._worker.Worker, steelyard._worker.Worker.final

        def final(self, begin, end):
            noted['told'].append((time.monotonic(), end - begin))
            tell(self, begin, end)

        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9)
        worker.final = final
        with tempfile.TemporaryDirectory() as directory:
            job = steelyard.torch.join(self.model, optimizer, torch.utils.data.TensorDataset(self.x, self.y),
                                       batch=self.it.batch, micro_batch=self.it.batch, run_dir=f'{directory}/run',
                                       verbose=False)
            watch = None
            for x, y in job:
                watch = watch or Watch()  # the servers run by now
                begin = time.monotonic()
                loss = self.loss(x, y)
                backward = time.monotonic()
                job.backward(loss)
                noted['begin'].append(begin)
                noted['backward'].append((backward, time.monotonic()))
            noted['server'] = watch.end()
        worker.final = tell
        return {name: rows if name in ('told', 'server') else rows[FIRST:] for name, rows in noted.items()}


def rounds_of(noted):
    """Yields for each measured round except the last: its seconds, those until backward returned, the floats announced
    in it and before backward returned, and the servers' seconds in it and during backward."""
    for begin, end, (backward, done) in zip(noted['begin'], noted['begin'][1:], noted['backward']):
        told = [(at < done, floats) for at, floats in noted['told'] if begin <= at < end]
        busy = [(backward < at < done, passed) for at, _, passed in noted['server'] if begin <= at < end]
        yield {'round': end - begin, 'body': done - begin,
               'told': sum(floats for _, floats in told), 'told_early': sum(floats for early, floats in told if early),
               'busy': sum(passed for _, passed in busy), 'busy_under': sum(passed for under, passed in busy if under)}


def timeline(noted):
    """Trace events, in microseconds."""
    event = lambda lane, name, begin, end: {'name': name, 'ph': 'X', 'pid': 1, 'tid': lane, 'ts': begin * 1e6,
                                            'dur': (end - begin) * 1e6}
    named = lambda lane, name: {'name': 'thread_name', 'ph': 'M', 'pid': 1, 'tid': lane, 'args': {'name': name}}
    yield named(1, 'the script')
    yield named(2, 'announced ranges of the gradient')
    for begin, (backward, done) in zip(noted['begin'], noted['backward']):
        yield event(1, 'forward', begin, backward)
        yield event(1, 'backward', backward, done)
    for at, floats in noted['told']:
        yield event(2, f'{floats} floats', at, at + 1e-5)
    for thread in sorted({thread for _, thread, _ in noted['server']}):
        yield named(thread, f'server, thread {thread}')
    for at, thread, passed in noted['server']:
        yield event(thread, 'busy', at - passed, at)


def compare(it, name):
    case, rounds = Case(it, name), []
    bare, usual = [case.bare()], [case.usual()]
    for _ in range(it.repeats):
        noted = case.job()
        bare.append(case.bare())
        usual.append(case.usual())
        rounds.append(list(rounds_of(noted)))
    if it.trace:
        it.trace.write_text(json.dumps({'traceEvents': list(timeline(noted))}))
    everything = [each for repeat in rounds for each in repeat]
    whole = [statistics.median(each['round'] for each in repeat) for repeat in rounds]
    # Each job runs between two loops of each kind, so other load on the machine affects all.
    beside = lambda plain: [seconds - (before + after) / 2 for seconds, before, after in zip(whole, plain, plain[1:])]
    share = lambda part, of: 100 * sum(each[part] for each in everything) / sum(each[of] for each in everything)
    milli = lambda values: f'{1e3 * statistics.median(values):.1f} [{1e3 * min(values):.1f}..{1e3 * max(values):.1f}]'
    print(f'{name}, batch {it.batch}: one round {milli(whole)} ms\n'
          f'  forward and backward {milli(bare)} ms, so the rest of the round is {milli(beside(bare))} ms\n'
          f'  a usual loop {milli(usual)} ms, so a round is {milli(beside(usual))} ms longer')
    print(f"  announced before backward returned: {share('told_early', 'told'):.0f} % of the gradient; of the server's "
          f"{1e3 * statistics.median(each['busy'] for each in everything):.1f} ms per round "
          f"{share('busy_under', 'busy'):.0f} % overlap with backward", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--models', type=lambda text: text.split(','), default=['resnet20'])
    options.add_argument('--batch', type=int, default=128)
    options.add_argument('--rounds', type=int, default=30, help='measured rounds per job')
    options.add_argument('--repeats', type=int, default=3)
    options.add_argument('--trace', type=pathlib.Path, help='the last job as a timeline (JSON)')
    options.add_argument('--build', type=pathlib.Path, default=ROOT / 'build/release')
    it = options.parse_args()
    for name in it.models:
        if name not in PEERS:
            options.error(f'--models {name}: one of {", ".join(PEERS)}')
    os.environ.update(STEELYARD_PROGRAM=str(it.build.resolve() / 'bin/steelyard'), STEELYARD_DEVICE='cpu',
                      STEELYARD_LIBRARY=str(it.build.resolve() / 'lib/libsteelyard.so'))
    torch.set_num_threads(1)
    print(f'PyTorch {torch.__version__}; medians [least..most] of {it.repeats}; one thread, {os.cpu_count()} cores')
    for name in it.models:
        compare(it, name)


if __name__ == '__main__':
    main()
