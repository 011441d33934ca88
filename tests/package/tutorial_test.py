"""Runs the commands of a tutorial in order, and compares their output with the document.

    tutorial_test.py SOURCE BUILD DIRECTORY DOCUMENT
    tutorial_test.py --self-test

A block that is indented by four spaces holds commands; the fenced block after it holds their output. Numbers may
differ, except below `<!-- exact -->`; `[...]` stands for anything. A fenced block below a sentence that ends with
`NAME`: becomes the file NAME. Other comments before a block:

    <!-- not run: REASON -->       commands that a test cannot run
    <!-- run: COMMAND -->          what runs in place of the commands, or for an output without commands
    <!-- not compared -->          an output that differs from run to run
    <!-- run -->                   a block of Python that runs, too
"""
import os
import re
import subprocess
import sys

NUMBER = r'\d+(?:[.,:]\d+)*(?: ±[\d.]+%?)?'  # 0:05, 1,024, 3.91 ±5%


def blocks_of(text):
    """Yields (kind, lines, mark, first line): commands, output, file. `mark` is the comment before the block."""
    lines, i, mark, before = text.split('\n'), 0, '', ''
    while i < len(lines):
        line, first = lines[i], i + 1
        if line.startswith('```'):
            language, i = line[3:], i + 1
            start = i
            while not lines[i].startswith('```'):
                i += 1
            named = re.search(r'`([\w.]+)`[^`]*:$', before)
            if language == 'toml' and named:
                yield 'file ' + named.group(1), lines[start:i], mark, first
            elif language == 'python' and mark == 'run':
                yield 'commands', ["python3 - <<'END'", *lines[start:i], 'END'], mark, first
            elif not language:
                yield 'output', lines[start:i], mark, first
            mark = ''
        elif line.startswith('    ') and not before.startswith(('-', '    -')):
            start = i
            while i < len(lines) and (lines[i].startswith('    ') or not lines[i].strip()):
                i += 1
            yield 'commands', [it[4:] for it in lines[start:i] if it.strip()], mark, first
            mark = ''
            continue
        elif line.startswith('<!--'):
            mark = line[4:].split('-->')[0].strip()
        elif line.strip():
            before = line
        i += 1


def pattern_of(line, exact):
    """A regular expression for a line of the document. Names that the program draws, and shares, may differ."""
    line = re.sub(r'sockets-\w+', 'sockets-[...]', ' '.join(line.split()))
    line = re.sub(r'shares [\w-]+ \d+(?: \+ [\w-]+ \d+)*', 'shares [...]', line) if not exact else line
    parts = []
    for part in re.split(r'(\[\.\.\.\])', line):
        if part == '[...]':
            parts.append('.*')
        elif exact:
            parts.append(re.escape(part))
        else:
            parts.append(NUMBER.join(re.escape(it) for it in re.split(NUMBER, part)))
    return ''.join(parts)


def missing_lines(expected, actual, exact):
    """The lines of the document that the output does not have; with `exact` also those in another order."""
    rest = [' '.join(it.split()) for it in actual]
    missing = []
    for line in expected:
        if not line.strip() or line.strip() == '[...]':
            continue
        pattern = re.compile(pattern_of(line, exact))
        at = next((k for k, it in enumerate(rest) if pattern.fullmatch(it)), None)
        if at is None:
            missing.append(line)
        else:
            rest = rest[at + 1:] if exact else rest[:at] + rest[at + 1:]
    return missing


def run(commands, environment):
    """Their output, both streams together."""
    script = '\n'.join(commands).replace('\n  ', ' \\\n  ')  # a line that is indented continues the one before
    result = subprocess.run(['bash', '-c', script], env=environment, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return result.stdout.split('\n')


def section_of(text, title):
    """The lines of one section, with its place in the document; empty lines stand for the others."""
    inside, kept = False, []
    for line in text.split('\n'):
        inside = line == '## ' + title if line.startswith('## ') else inside
        kept.append(line if inside else '')
    return '\n'.join(kept)


def compare(document, environment, section=None):
    """The number of outputs compared, and the findings; of one section, or of all."""
    with open(document, encoding='utf-8') as file:
        text = file.read()
    blocks = list(blocks_of(section_of(text, section) if section else text))
    output, compared, findings = None, 0, []
    for kind, lines, mark, first in blocks:
        instead = mark[len('run: '):] if mark.startswith('run: ') else ''
        if kind.startswith('file '):
            with open(kind[len('file '):], 'w', encoding='utf-8') as file:
                file.write('\n'.join(lines) + '\n')
        elif kind == 'commands':
            output = None if mark.startswith('not run: ') else run([instead] if instead else lines, environment)
        else:
            if instead:
                output = run([instead], environment)
            if output is None or mark == 'not compared':
                continue
            compared += 1
            missing = missing_lines(lines, output, mark == 'exact')
            if missing:
                findings.append(f'{document}:{first}: the program does not print\n  ' + '\n  '.join(missing) +
                                '\nbut\n  ' + '\n  '.join(output))
    return compared, findings


def self_test():
    text = 'Put this into `a.toml`:\n\n```toml\nx = 1\n```\n\n    echo 7 apples\n\n<!-- exact -->\n```\n7 apples\n```\n'
    assert [it[0] for it in blocks_of(text)] == ['file a.toml', 'commands', 'output']
    assert [it[2] for it in blocks_of(text)] == ['', '', 'exact']
    assert missing_lines(['7 apples'], ['9.5 apples'], False) == []
    assert missing_lines(['7 apples'], ['9.5 apples'], True) == ['7 apples']
    assert missing_lines(['7 apples'], ['7 pears'], False) == ['7 apples']
    assert missing_lines(['a [...] c', '[...]'], ['a b c'], True) == []
    assert missing_lines(['a', 'b'], ['b', 'a'], False) == []
    assert missing_lines(['a', 'b'], ['b', 'a'], True) == ['b']
    assert missing_lines(['a', 'a'], ['a'], False) == ['a']
    assert run(['echo a', '  b'], os.environ) == ['a b', '']
    assert section_of('a\n## B\nc\n## D', 'B') == '\n## B\nc\n'


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    source, build, directory, document = (os.path.abspath(it) for it in sys.argv[1:])
    subprocess.run(['rm', '-rf', directory], check=True)
    os.makedirs(os.path.join(directory, 'build'))
    os.chdir(directory)
    for name in ('examples', 'bench', 'script'):
        os.symlink(os.path.join(source, name), name)
    os.symlink(build, os.path.join('build', 'release'))
    # As on a terminal: lines of files have dates.
    environment = dict(os.environ, PATH=os.path.join(build, 'bin') + ':' + os.environ['PATH'], STEELYARD_LOG='plain')
    compared, findings = compare(document, environment)
    print('\n'.join(findings))
    print(f'{compared} outputs compared, {len(findings)} differ')
    sys.exit(1 if findings or compared == 0 else 0)


if __name__ == '__main__':
    main()
