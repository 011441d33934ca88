"""Results of scripts as lines and as a table."""
import importlib.metadata

from registry import CONDITIONS, EXACT

PACKAGES = {'lightning.pytorch': 'lightning', 'transformers': 'transformers', 'steelyard.accelerate': 'accelerate',
            'peft': 'peft'}


def versions(script):
    names = ['torch', *(PACKAGES[it] for it in script.imports if it in PACKAGES)]
    return {it: importlib.metadata.version(it) for it in names}


def good(script, condition, about):
    return 'error' not in about and about['difference'] <= script.limit(condition)[0]


def line(script, condition, about):
    """For the terminal."""
    begin = f'{script.name:24}{condition:8}'
    if 'error' in about:
        return f'{begin}ERROR {about["error"]}'
    limit, _ = script.limit(condition)
    shares = 'shares {} : {}'.format(*about['shares']) if 'shares' in about else ''
    if condition == 'killed':
        shares += f', killed after round {about["killed_after_round"]}, back by round {about["back_by_round"]}'
    verdict = '' if good(script, condition, about) else ' ABOVE ITS LIMIT'
    return (f'{begin}{about["difference"]:.1e} of {limit:.0e}{verdict}  {about["rounds"]} rounds  {shares}  '
            f'{about["parameter"]}')


def markdown(scripts, results):
    """The table of all results; reasons below it."""
    reasons, rows = {}, []
    for script in scripts.values():
        cells = [_cell(script, it, results.get(script.name, {}).get(it), reasons) for it in CONDITIONS]
        title = f'{script.title} ({script.note})' if script.note else script.title
        rows.append(f'| {title} | {script.way} | ' + ' | '.join(cells) + ' |')
    found = {}
    for cells in results.values():
        for about in cells.values():
            found.update(about['versions'])
    head = ['| script | way | ' + ' | '.join(CONDITIONS) + ' |', '| --- | --- |' + ' ---: |' * len(CONDITIONS)]
    notes = [f'{number}. {why[0].upper()}{why[1:]}: at most {limit:.0e}.' for (limit, why), number in reasons.items()]
    text = ', '.join(f'{name} {its}' for name, its in sorted(found.items()))
    return '\n'.join([f'{len(rows)} scripts; {text}.', '', *head, *rows, '', *notes, ''])


def _cell(script, condition, about, reasons):
    if about is None:
        return 'not run'
    if 'error' in about:
        return 'error'
    text = f'{about["difference"]:.0e}' if about['difference'] else '0'
    limit, why = script.limit(condition)
    if limit != EXACT:
        text += f' [{reasons.setdefault((limit, why), len(reasons) + 1)}]'
    return text if good(script, condition, about) else f'**{text}**'
