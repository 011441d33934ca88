"""Results of scripts as lines and as a table."""
import importlib.metadata

from registry import CONDITIONS, EXACT, FACTOR

PACKAGES = ('torch', 'lightning', 'transformers', 'accelerate', 'peft')
BETWEEN = ('The parameters of the two workers, compared with each other; in parentheses, compared with plain PyTorch. A '
           'round is closed without the samples of a lost worker, and the other workers add them to later batches')

OTHER_ORDER = '{}. Plain PyTorch differs from itself by {} if the samples of each batch are in reverse order'


def judged(script, condition, about):
    """The number that has a limit: after a kill whose samples come with later batches, that between workers."""
    return about['between' if condition == 'killed' and not script.repairs else 'difference']


def limit(about):
    return max(EXACT, FACTOR * about['rounding'])


def good(script, condition, about):
    return 'error' not in about and judged(script, condition, about) <= limit(about)


def line(script, condition, about):
    """For the terminal."""
    begin = f'{script.name:24}{condition:8}'
    if 'error' in about:
        return f'{begin}ERROR {about["error"]}'
    verdict = '' if good(script, condition, about) else ' ABOVE ITS LIMIT'
    between = 'shares {} : {}, between them {:.1e}'.format(*about['shares'], about['between']) if 'shares' in about else ''
    return (f'{begin}{about["difference"]:.1e} of {limit(about):.0e}{verdict}  {about["rounds"]} rounds  {between}  '
            f'{about["parameter"]}')


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
    text = _short(judged(script, condition, about))
    if condition == 'killed' and not script.repairs:
        text += f' ({_short(about["difference"])}){_reference(BETWEEN, reasons)}'
    elif script.why:
        text += _reference(OTHER_ORDER.format(script.why, _short(about['rounding'])), reasons)
    return text if good(script, condition, about) else f'**{text}**'


def _short(number):
    return f'{number:.0e}' if number else '0'


def _reference(why, reasons):
    if why not in reasons:
        reasons.append(why)
    return f' [{reasons.index(why) + 1}]'
