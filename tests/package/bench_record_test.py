"""The page of recorded benchmarks: ratios by figure, a line for each machine, and nothing of rows without a limit."""
import importlib.util
import pathlib
import sys

source = pathlib.Path(sys.argv[1]) / 'bench/record.py'
spec = importlib.util.spec_from_file_location('record', source)
record = importlib.util.module_from_spec(spec)
spec.loader.exec_module(record)


def expect(found, wanted, what):
    if found != wanted:
        sys.exit(f'{what}: {found!r} instead of {wanted!r}')


compared = record.row('nn', 'mlp <32>', 'samples/s', 300.0, 'FMA peak', 400.0, '>=0.5')
expect(compared['ratio'], 0.75, 'the ratio to the limit')
expect(record.row('nn', 'alone', 'us', 3.0, '', 0.0), {'section': 'nn', 'figure': 'alone', 'unit': 'us', 'ours': 3.0},
       'a row without a limit')
expect(record.row('nn', 'broken', 'us', 3.0, 'none', 0.0)['ratio'], None, 'the ratio to a limit of 0')

faster = record.row('nn', 'mlp <32>', 'samples/s', 360.0, 'FMA peak', 400.0)
page = record.page([
    {'at': '2026-01-01', 'commit': 'aaa', 'machine': 'old', 'rows': [compared, record.row('nn', 'alone', 'us', 3.0, '', 0.0)]},
    {'at': '2026-01-02', 'commit': 'bbb', 'machine': 'old', 'rows': [faster]},
    {'at': '2026-01-03', 'commit': 'ccc', 'machine': 'new', 'rows': [faster]},
])
expect(page.count('<figure>'), 1, 'the number of charts')
expect(page.count('<polyline'), 2, 'a line for each machine')
expect(page.count('<circle'), 3, 'a point for each record')
expect('mlp &lt;32&gt;' in page and '<32>' not in page, True, 'names are escaped')
expect('0.9 of FMA peak' in page, True, 'the newest ratio')
expect('alone' in page, False, 'a row without a limit')
expect(all(it in page for it in ('aaa', 'bbb', 'ccc')), True, 'the commits of all records')
