"""Keeps figures of benchmarks from commit to commit, as ratios to a limit or a peer of the same run.

    script/bench record [quick|full] [--seed N] [--only SECTION]    steelyard_bench, beside limits of the machine
    script/bench record peers [OPTION...]                           script/bench peers, beside PyTorch
    script/bench record page                                        only makes the page of all records

Appends one line to bench/history.jsonl: time, commit, machine and rows. Each row has the median, its limit or peer, and
the ratio of the two; only ratios of the same machine may be compared. Then makes build/bench_history.html: a chart for
each figure, a line for each kind of machine. A wrong result is an error, and nothing is appended; a slow one is not.
A tree with changes is recorded as COMMIT+changes.
"""
import datetime
import html
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HISTORY = ROOT / 'bench/history.jsonl'
PAGE = ROOT / 'build/bench_history.html'
COLOURS = ('#2b6cb0', '#c05621', '#2f855a', '#805ad5', '#b83280', '#4a5568')
WIDTH, HEIGHT, EDGE = 460, 150, 34


def git(*words):
    done = subprocess.run(['git', '-C', ROOT, *words], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def commit():
    changed = git('status', '--porcelain', '--untracked-files=no')
    return git('rev-parse', '--short=12', 'HEAD') + ('+changes' if changed else '')


def row(section, figure, unit, ours, limit, other, target=''):
    it = {'section': section, 'figure': figure, 'unit': unit, 'ours': ours}
    if limit:
        it.update(limit=limit, other=other, ratio=round(ours / other, 4) if other else None)
    if target:
        it['target'] = target
    return it


def native(words):
    """Runs steelyard_bench; returns the machine and its rows."""
    with tempfile.NamedTemporaryFile('r', suffix='.tsv') as file:
        done = subprocess.run([ROOT / 'build/release/bin/steelyard_bench', *words, '--rows', file.name],
                              stdout=subprocess.PIPE, text=True)
        print(done.stdout, end='')
        if done.returncode != 0:
            sys.exit(done.returncode)
        rows = []
        for line in file:
            section, figure, unit, ours, limit, other, target = line.rstrip('\n').split('\t')
            rows.append(row(section, figure, unit, float(ours), limit, float(other or 0), target))
    return done.stdout.split(';')[0].split(', Linux')[0], rows


def peers(words):
    """Runs the comparison with PyTorch; returns the machine and its rows."""
    with tempfile.NamedTemporaryFile('r', suffix='.json') as file:
        done = subprocess.run([sys.executable, '-B', ROOT / 'bench/peers/run.py', *words, '--json', file.name])
        if done.returncode != 0:
            sys.exit(done.returncode)
        results = json.load(file)
    machine = next(line.split(':')[1].strip() for line in open('/proc/cpuinfo') if line.startswith('model name'))
    names = [f"{it['model']}, batch {it['batch']}, threads {it.get('threads', '2x1')}" for it in results]
    return machine, [row('peers', name, 'samples/s', it['ours']['median'], 'PyTorch', it['pytorch']['median'])
                     for name, it in zip(names, results)]


def chart(points, machines):
    """An SVG of (record, machine, ratio); records are numbered from 0."""
    most = max(max(ratio for _, _, ratio in points) * 1.1, 1e-9)
    last = max(max(number for number, _, _ in points), 1)
    x = lambda number: EDGE + number * (WIDTH - 2 * EDGE) / last
    y = lambda ratio: HEIGHT - EDGE + (2 * EDGE - HEIGHT) * ratio / most
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
             f'<text x="2" y="{y(most / 1.1) + 4:.0f}">{most / 1.1:.3g}</text><text x="2" y="{y(0):.0f}">0</text>',
             f'<line x1="{EDGE}" x2="{WIDTH - EDGE}" y1="{y(0):.1f}" y2="{y(0):.1f}" stroke="#aaa"/>']
    for number, machine in enumerate(machines):
        its = [(at, ratio) for at, where, ratio in points if where == machine]
        colour = COLOURS[number % len(COLOURS)]
        line = ' '.join(f'{x(at):.1f},{y(ratio):.1f}' for at, ratio in its)
        parts.append(f'<polyline points="{line}" fill="transparent" stroke="{colour}"/>')
        parts += [f'<circle cx="{x(at):.1f}" cy="{y(ratio):.1f}" r="3" fill="{colour}">'
                  f'<title>{ratio:.3g}</title></circle>' for at, ratio in its]
    return '\n'.join(parts) + '</svg>'


def page(records):
    machines = sorted({it['machine'] for it in records})
    figures = {}
    for number, record in enumerate(records):
        for it in record['rows']:
            if it.get('ratio') is not None:
                figures.setdefault((it['section'], it['figure']), []).append((number, record['machine'], it))
    parts = ['<!doctype html><html lang="en"><meta charset="utf-8"><title>Benchmarks by commit</title><style>',
             'body{font:15px sans-serif;max-width:1000px;margin:2em auto;padding:0 1em}svg{width:460px;max-width:100%}',
             'svg text{font-size:11px}.all{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}</style>',
             '<h1>Benchmarks by commit</h1><p>Ratios to a limit or a peer of the same run, from left to right in order of',
             f'the {len(records)} records. Only points of one colour may be compared:</p><ul>']
    parts += [f'<li style="color:{COLOURS[number % len(COLOURS)]}">{html.escape(machine)}</li>'
              for number, machine in enumerate(machines)]
    parts.append('</ul>')
    section = None
    for (its, figure), points in figures.items():
        if its != section:
            parts.append(('</div>' if section is not None else '') + f'<h2>{html.escape(its)}</h2><div class="all">')
            section = its
        newest = points[-1][2]
        target = f' (target {newest["target"]})' if 'target' in newest else ''
        text = html.escape(f'{newest["ratio"]:.3g} of {newest["limit"]}{target}')
        drawn = chart([(at, machine, it['ratio']) for at, machine, it in points], machines)
        parts.append(f'<figure><figcaption><b>{html.escape(figure)}</b>: {text}</figcaption>{drawn}</figure>')
    parts.append(('</div>' if section is not None else '') + '<h2>Records</h2><ol start="1">')
    parts += [f'<li>{html.escape(", ".join((it["at"], it["commit"], it["machine"])))}</li>' for it in records]
    return '\n'.join(parts) + '</ol></html>\n'


def main(words):
    if words[:1] == ['--help'] or words[:1] == ['-h']:
        print(__doc__)
        return
    if words[:1] != ['page']:
        machine, rows = peers(words[1:]) if words[:1] == ['peers'] else native(words)
        record = {'at': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC'), 'commit': commit(),
                  'machine': machine, 'rows': rows}
        with HISTORY.open('a') as file:
            file.write(json.dumps(record) + '\n')
        print(f'{len(rows)} rows appended to {HISTORY.relative_to(ROOT)}')
    records = [json.loads(line) for line in HISTORY.read_text().splitlines()] if HISTORY.exists() else []
    if not records:
        sys.exit('bench/history.jsonl has no record yet: script/bench record makes one')
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(records))
    print(f'{PAGE.relative_to(ROOT)}: {len(records)} records')


if __name__ == '__main__':
    main(sys.argv[1:])
