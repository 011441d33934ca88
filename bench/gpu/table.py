"""Makes one short table of the results of bench/gpu/check.py.

Every training step has a line, with PyTorch's fastest setting for comparison. Ops that are correct are counted; for their
times there are the median, and the three that are farthest from their limit. Failures have a line each, before all others.
"""
import json
import re
import statistics

PARTS = 'env', 'smoke', 'limits', 'tests', 'models', 'ops', 'steps', 'peers', 'jobs', 'steady', 'times', 'mixed'


def read(folder):
    """The parts measured by earlier calls with the same folder: names with lists of rows of four texts."""
    try:
        return json.loads((folder / 'result.json').read_text(encoding='utf-8'))['parts']
    except (OSError, ValueError, KeyError):
        return {}


def failed(row):
    return row[1] in ('WRONG', 'FAILED')


def counted(part, rows):
    """One line for all correct cases."""
    right = [row for row in rows if row[1] in ('correct', 'ok')]
    for row in rows:
        if row not in right and not failed(row):
            yield row
    if right or any(map(failed, rows)):
        yield [part, f'{len(right)} correct', f'{sum(map(failed, rows))} wrong', '']


def of_tests(rows):
    """One line for all suites."""
    found = [match for row in rows if (match := re.fullmatch(r'(\d+) of (\d+) passed', row[1]))]
    yield from (row for row in rows if 'not measured' in row[1])
    if found:
        yield ['tests of the kernels', f'{sum(int(it[1]) for it in found)} of {sum(int(it[2]) for it in found)} passed',
               f'{len(found)} suites', '']


def of_ops(rows):
    """Groups ops by their limit: copies, or cuBLASLt in one precision."""
    kinds = {}
    for what, figure, beside, note in rows:
        match = re.fullmatch(r'([\d.]+) % of (\w+)', beside)
        if not what.startswith('op ') or not match:
            yield what, figure, beside, note
            continue
        precision = re.search(r', (float32|tf32|bf16)$', what)
        kind = f'{match[2]}, {precision[1]}' if precision else match[2]
        kinds.setdefault(kind, []).append((float(match[1]), what.removeprefix('op ')))
    for kind, found in kinds.items():
        farthest = '; '.join(f'{what} {share:.0f} %' for share, what in sorted(found)[:3])
        yield (f'ops, share of {kind}', f'{statistics.median(share for share, _ in found):.0f} % (median)',
               f'{len(found)} cases', f'lowest: {farthest}')


def number(text):
    match = re.match(r'[\d.]+', text)
    return float(match[0]) if match else None


def beside_peers(steps, peers):
    """Adds PyTorch's fastest setting to each of our steps."""
    best, known = {}, {row[0] for row in steps}
    for what, setting, rate, _ in peers:
        if number(rate) and number(rate) > best.get(what, (0, ''))[0]:
            best[what] = number(rate), setting
    for what, figure, beside, note in steps:
        if what in best and number(figure):
            rate, setting = best[what]
            beside = f'{number(figure) / rate:.2f} times PyTorch: {rate:.0f} ({setting})'
        yield what, figure, beside, note
    for what, (rate, setting) in best.items():
        if what not in known:
            yield what, 'not measured (script/gpu-check steps)', f'PyTorch: {rate:.0f} ({setting})', ''
    if not best:  # the reason
        yield from ((what, setting if 'not measured' in setting or setting == 'FAILED' else rate, '', note)
                    for what, setting, rate, note in peers[-1:])


def beside_steps(jobs, steps):
    """Adds the rate of steps without servers to jobs: in tf32, of the size that a worker chooses, else of 256."""
    rates = {row[0].split()[1].rstrip(','): number(row[1])
             for size in (256, 'chosen') for row in steps if row[0].endswith(f', {size}, tf32')}
    for what, figure, beside, note in jobs:
        rate = rates.get(what.split()[1].rstrip(','))
        if rate and number(figure):
            beside = f'{number(figure) / rate:.2f} of its steps without servers; {beside}'
        yield what, figure, beside, note


def text(about, parts):
    """The table. Parts without rows are named."""
    found = {part: parts.get(part, []) for part in PARTS}
    wrong = [row for part in PARTS for row in found[part] if failed(row)]
    steps = [row for row in found['steps'] if not failed(row)]
    lines = [*wrong, *found['env'], *counted('smoke', found['smoke']), *found['limits'], *of_tests(found['tests']),
             *counted('models', found['models']), *counted('ops', found['ops']), *beside_peers(steps, found['peers']),
             *beside_steps([row for row in found['jobs'] if not failed(row)], steps), *found['steady'],
             *of_ops([row for row in found['times'] if not failed(row)]), *found['mixed']]
    missing = [part for part in PARTS if part not in parts]
    if missing:
        lines.append(['not measured', ', '.join(missing), '', ''])
    head = f"{about['date']}, {about['card']}, driver {about['driver'] or 'none'}: {about['command']}"
    widths = [max([len(line[i]) for line in lines if len(line[i]) < 50] or [0]) for i in range(3)]
    rows = ('  '.join(text.ljust(width) for text, width in zip(line, [*widths, 0])).rstrip() for line in lines)
    return '\n'.join([head, *rows]) + '\n'
