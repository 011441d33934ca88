"""Results of scripts as lines and as a table."""
import importlib.metadata

from registry import CONDITIONS, EXACT, FACTOR

PACKAGES = ('torch', 'lightning', 'transformers', 'accelerate', 'peft')
BETWEEN = ('Between the two workers; in parentheses, the difference from plain PyTorch. The samples of a lost worker come '
           'with later batches')

HALVES = '. Plain PyTorch differs from itself by {} if it accumulates the gradients of half batches'


def judged(script, condition, about):
    """The number that has a limit, and this limit. After a kill whose samples come with later batches, workers are
    compared with each other."""
    if condition == 'killed' and not script.repairs:
        return about['between'], EXACT
    return about['difference'], max(script.limit, FACTOR * about['rounding'])


def good(script, condition, about):
    if 'error' in about:
        return False
    found, limit = judged(script, condition, about)
    return found <= limit


def line(script, condition, about):
    """For the terminal."""
    begin = f'{script.name:24}{condition:8}'
    if 'error' in about:
        return f'{begin}ERROR {about["error"]}'
    _, limit = judged(script, condition, about)
    verdict = '' if good(script, condition, about) else '  ABOVE ITS LIMIT'
    text = f'{begin}{about["difference"]:.1e} in {about["parameter"]}, {about["rounds"]} rounds'
    if 'shares' in about:
        text += ', shares {} : {}, {:.1e} between workers'.format(*about['shares'], about['between'])
    return f'{text}, limit {limit:.0e}{verdict}'


def markdown(scripts, results):
    """The table of all results; reasons below it."""
    reasons, rows = [], []
    for it in scripts.values():
        cells = [_cell(it, condition, results.get(it.name, {}).get(condition), reasons) for condition in CONDITIONS]
        rows.append(f'| {it.title} | {it.way} | ' + ' | '.join(cells) + ' |')
    head = ['| script | way | ' + ' | '.join(CONDITIONS) + ' |', '| --- | --- |' + ' ---: |' * len(CONDITIONS)]
    notes = [f'{number}. {why}.' for number, why in enumerate(reasons, 1)]
    versions = ', '.join(f'{it} {importlib.metadata.version(it)}' for it in PACKAGES)
    return '\n'.join([f'{len(rows)} scripts; {versions}.', '', *head, *rows, '', *notes, ''])


def _cell(script, condition, about, reasons):
    if about is None or 'error' in about:
        return 'not run' if about is None else 'error'
    text = _short(judged(script, condition, about)[0])
    if condition == 'killed' and not script.repairs:
        text += f' ({_short(about["difference"])}){_reference(BETWEEN, reasons)}'
    elif script.why:
        halves = HALVES.format(_short(about['rounding'])) if about['rounding'] else ''
        text += _reference(script.why[0].upper() + script.why[1:] + halves, reasons)
    return text if good(script, condition, about) else f'**{text}**'


def _short(number):
    return f'{number:.0e}' if number else '0'


def _reference(why, reasons):
    if why not in reasons:
        reasons.append(why)
    return f' [{reasons.index(why) + 1}]'
