"""Checks the tables of the documents: each row has as many cells as the first, and the percentages of docs/benchmarks.md
in virtual time are those that `steelyard compare` prints.

    tables_test.py PROGRAM
    tables_test.py --self-test
"""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

FENCED = re.compile(r'^```.*?^```', re.DOTALL | re.MULTILINE)


def tables_of(text):
    """Yields each table: its rows, as lists of cells."""
    text = FENCED.sub('', text)
    for block in re.findall(r'(?:^ *\|.*\|[ \t]*\n)+', text + '\n', re.MULTILINE):
        yield [[cell.strip() for cell in re.split(r'(?<!\\)\|', row.strip())[1:-1]] for row in block.splitlines()]


def ragged_rows(text):
    return [row for table in tables_of(text) for row in table if len(row) != len(table[0])]


def table_after(text, heading):
    return next(tables_of(text[text.index(heading):]))


def row_of(program, scenario, policies):
    """What `compare` measures: percent of ideal under each policy, and the two gains of the last one."""
    printed = subprocess.run([program, 'compare', f'examples/scenarios/{scenario}.toml', '--policies', ','.join(policies),
                              '--json', '-'], stdout=subprocess.PIPE, check=True, text=True).stdout
    methods = {it['policy']: it for it in json.loads(printed[printed.index('{'):])['comparisons'][0]['methods']
               if it['alone'] is None}
    last = methods[policies[-1]]
    return [*(f"{methods[it]['percent_of_ideal']['median']:.1f}" for it in policies),
            *(f"{last[it]['median']:.2f}" for it in ('gain_on_equal', 'gain_on_alone'))]


def differences(program, table):
    policies, rows = table[0][1:-2], table[2:]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        measured = threads.map(lambda row: row_of(program, row[0], policies), rows)
        return [f'{row[0]}: the document has {row[1:]}, the program {now}' for row, now in zip(rows, measured) if row[1:] != now]


def self_test():
    text = '| a | b |\n| --- | --- |\n| 1 | 2 |\n\nText | text.\n\n| c |\n| --- |\n| `x \\| y` |\n\n```\n| d |\n| 1 | 2 |\n```\n'
    assert [len(it) for it in tables_of(text)] == [3, 3] and ragged_rows(text) == []
    assert ragged_rows(text.replace('| 2 |', '| 2 | 3 |')) == [['1', '2', '3']]
    assert table_after('# One\n| a |\n# Two\n| b |\n', '# Two') == [['b']]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    findings = []
    for path in sorted(glob.glob('*.md') + glob.glob('docs/**/*.md', recursive=True)):
        with open(path, encoding='utf-8') as file:
            text = file.read()
        findings += [f'{path}: {row} has not as many cells as its table' for row in ragged_rows(text)]
        if path == 'docs/benchmarks.md':
            findings += differences(sys.argv[1], table_after(text, '## Results in virtual time'))
    print('\n'.join(findings))
    sys.exit(1 if findings else 0)


if __name__ == '__main__':
    main()
