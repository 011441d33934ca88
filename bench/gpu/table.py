"""Prints a short table of the results of script/gpu-check: table.py ROWS DATE CARD DRIVER COMMAND.

ROWS is a folder with one file per part, NAME.tsv, with tab-separated fields. Every training step has a line, with
PyTorch's fastest setting for comparison. For ops there are the median, and the three that are farthest from their limit.
"""
import pathlib
import re
import statistics
import sys

PARTS = 'tests', 'ops', 'steady', 'steps', 'peers', 'mixed'


def rows_of(folder, part):
    path = folder / f'{part}.tsv'
    if not path.exists():
        return [[part, f'not measured (script/gpu-check {part})', '', '']]
    return [(line.split('\t') + [''] * 4)[:4] for line in path.read_text().splitlines() if line]


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


def main():
    folder, date, card, driver, command = pathlib.Path(sys.argv[1]), *sys.argv[2:]
    found = {part: rows_of(folder, part) for part in PARTS}
    lines = [*found['tests'], *of_ops(found['ops']), *found['steady'], *beside_peers(found['steps'], found['peers']),
             *found['mixed']]
    print(f'\n{date}, {card or "no card"}, driver {driver or "unknown"}: {command.strip()}')
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    for line in lines:
        print('  '.join(text.ljust(width) for text, width in zip(line, [*widths, 0])).rstrip())


if __name__ == '__main__':
    main()
