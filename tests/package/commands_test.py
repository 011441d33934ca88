"""Checks every command line in the documents without running it: the command and its options are in the help of the
program or in the text of the script, keys of `--set` in the program's lists of keys, and paths in the sources.

    commands_test.py PROGRAM
    commands_test.py --self-test

Command lines are those of blocks, of code within sentences, of docstrings of the Python package, of the gallery of
script/site, and of comments in the examples of files. tutorial_test.py also runs those of the tutorials.
"""
import ast
import functools
import glob
import os
import re
import shlex
import subprocess
import sys

from tutorial_test import blocks_of

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../site'))
from gallery import EXAMPLES, EXHIBITS  # noqa: E402

PROGRAMS = ('steelyard', 'own_model', 'own_engine', 'write_a_policy')  # the last three add to the first
START = re.compile(r'(?:(?:[A-Z_]+=\S* )*(?:[\w./]*bin/)?(?:' + '|'.join(PROGRAMS) + r')|(?:[A-Z_]+=\S* )*script/[\w-]+)(?: |$)')
SOURCE_PATH = re.compile(r'(?:examples|bench|engines|script|tests|docs|bindings)/[\w./*-]+')
FENCED, SPAN = re.compile(r'^```.*?^```', re.DOTALL | re.MULTILINE), re.compile(r'`([^`]+)`')


def without_continuations(lines):
    """A line that is indented, or follows a backslash, continues the one before."""
    whole = []
    for line in lines:
        if whole and (line.startswith('  ') or whole[-1].endswith('\\')):
            whole[-1] = whole[-1].rstrip('\\ ') + ' ' + line.strip()
        else:
            whole.append(line.rstrip())
    return whole


def lines_of_document(text):
    """Yields (line, certain): lines of outputs may also be something else that begins with the program's name."""
    for kind, lines, _, _ in blocks_of(text):
        for line in without_continuations(lines) if kind == 'commands' else lines:
            yield line.strip(), kind == 'commands'
    for paragraph in re.split(r'\n\s*\n', FENCED.sub('', text)):
        if not paragraph.startswith('    '):
            for span in SPAN.findall(paragraph):
                yield ' '.join(span.split()), True


def lines_of_example(text):
    comments = [it[1:].removeprefix('   ') for it in text.split('\n') if it.startswith('#')]
    for line in without_continuations(comments):
        yield line, START.match(line) and line.startswith('steelyard ')


def lines_of_package(text):
    for it in ast.walk(ast.parse(text)):
        if isinstance(it, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield from lines_of_document(ast.get_docstring(it) or '')


def lines_of_gallery(_):
    shown = [command for it in EXAMPLES for command in (*it.commands, *it.elsewhere)]
    return [(command, True) for command in (*shown, *(command for it in EXHIBITS for command in it.commands))]


def words_of(line):
    """The words of the first command of a line, without variables in front."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars='|&;<>')
    lexer.whitespace_split, words = True, []
    try:
        for word in lexer:
            if word[0] in '|&;<>':
                break
            words.append(word)
    except ValueError:  # an apostrophe of a sentence
        words = line.split()
    while words and re.match(r'[A-Z_]+=', words[0]):
        words.pop(0)
    return words


class Program:
    def __init__(self, path):
        self.path = path

    @functools.lru_cache(maxsize=None)
    def output(self, *words):
        """What it prints; empty if it refuses these words."""
        result = subprocess.run([self.path, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                stdin=subprocess.DEVNULL, timeout=60)
        return result.stdout if result.returncode == 0 else ''

    def has_command(self, command):
        return self.output(command, '--help') not in ('', self.output('--help'))  # it ignores words that it does not know

    def options(self, *command):
        help_text = self.output(*command, '--help')
        return set(re.findall(r'(?<![\w-])--?\w[\w-]*', '\n'.join(re.findall(r'^  (-\S+)', help_text, re.MULTILINE))))

    def has_key(self, key):
        topics = ('job', 'scenario', 'model', 'data', 'policy')
        name = re.escape(key.split('.')[-1])
        return any(re.search(rf'^ +{name} = ', self.output('help', it), re.MULTILINE) for it in topics)


def trouble_of_program(words, program):
    """Nothing if the program accepts the words."""
    command = words[1] if len(words) > 1 and not words[1].startswith('-') else None
    if command and not program.has_command(command):
        return f'there is no command {command}'
    options = program.options(*([command] if command else []))
    rest = words[2 if command else 1:]
    for before, word in zip([None, *rest], rest):
        if command in ('run', 'launch') and re.search(r'\.py$|^\./', word):
            break  # further words are for the script
        if command == 'help' and before is None and not word.startswith('-') and not program.output('help', word):
            return f'there is no help on {word}'
        if word.startswith('-') and word != '-' and word.split('=')[0] not in options:
            return f'{command or "the program"} has no option {word}'
        if before == '--set' and words[0].endswith('steelyard') and not program.has_key(word.split('=')[0]):
            return f'there is no key {word}'
    return ''


@functools.lru_cache(maxsize=None)
def text_of_script(path):
    """Its text, with that of the Python programs that it starts."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    programs = {it for name in re.findall(r'\b(?:tests|bench)/\w+|\w+/\w+\.py|\w+\.py', text)
                for folder in ('', 'bench/') for it in (folder + name, folder + name + '/__main__.py')}
    for program in sorted(it for it in programs if it.endswith('.py') and os.path.isfile(it)):
        with open(program, encoding='utf-8') as file:
            text += file.read()
    return text


def trouble_of_script(words):
    if not os.path.isfile(words[0]):
        return f'{words[0]} does not exist'
    known = text_of_script(words[0])
    for at, word in enumerate(words[1:]):
        option = word.split('=')[0]
        if (word.startswith('-') or at == 0 and re.fullmatch(r'[a-z-]+', word)) and \
                not re.search(rf'(?<![\w-]){re.escape(option)}(?![\w-])', known):
            return f'{words[0]} has no {option}'
    return ''


def trouble_of(line, certain, program):
    words = words_of(line)
    if not START.match(line) or not words:
        missing = [it for it in SOURCE_PATH.findall(line) if certain and not glob.glob(it.rstrip('.'))]
        return f'{missing[0]} does not exist' if missing and re.match(r'(python3?|pip|sh|cat) ', line) else ''
    if words[0].startswith('script/'):
        return trouble_of_script(words)
    if not certain and not (len(words) > 1 and re.fullmatch('[a-z]+', words[1]) and program.has_command(words[1])):
        return ''
    missing = [it for it in words if re.match('(examples|bench)/', it) and not glob.glob(it)]
    return trouble_of_program(words, program) or (f'{missing[0]} does not exist' if missing else '')


class MadeProgram(Program):
    """A program with one command, one topic and one key."""

    def __init__(self):
        super().__init__('')

    def output(self, *words):
        whole = '  --version  print it'
        return {('train', '--help'): '  -q,--quiet   no progress\n  --set KEY=VALUE ...  -x', ('help', '--help'): '  -h,--help',
                ('help', 'job'): '  epochs = 10   stop then'}.get(words, whole if words[-1] == '--help' else '')


def self_test():
    text = 'Use `steelyard\ntrain` so:\n\n    a=1 b\n      c  # d\n\n```\nsteelyard\n```\n\n```python\nx = 1\n```\n'
    assert list(lines_of_document(text)) == [('a=1 b c  # d', True), ('steelyard', False), ('steelyard train', True)]
    assert list(lines_of_example('# Use\n#   steelyard a \\\n#       --b\nx = 1 # steelyard c'))[1] == ('steelyard a --b', True)
    assert list(lines_of_package('"""A.\n\n    steelyard b  # c\n\nD.\n"""\n\ndef f():\n    "`steelyard d`"')) == \
        [('steelyard b  # c', True), ('steelyard d', True)]
    assert words_of("A=1 steelyard run -n 2 a.py --b='c d' | tee e  # f") == ['steelyard', 'run', '-n', '2', 'a.py', '--b=c d']
    program = MadeProgram()
    for line in ('steelyard --version', 'steelyard train a.toml --quiet --set train.epochs=2', 'x/bin/steelyard train -q | tee -x',
                 'steelyard help job', 'A=1 steelyard train --set epochs=1', 'script/setup --list'):
        assert trouble_of(line, True, program) == '', (line, trouble_of(line, True, program))
    for line in ('steelyard --quiet', 'steelyard trains', 'steelyard train --loud', 'steelyard train -x', 'steelyard help jobs',
                 'steelyard train --set train.epoch=2', 'A=1 steelyard train --loud', 'x/bin/own_model train --loud',
                 'steelyard train examples/jobs/none.toml', 'script/none', 'script/setup --none', 'script/bench none',
                 'python3 examples/python/none.py'):
        assert trouble_of(line, True, program), line
    assert not trouble_of('steelyard  98.9 of the ideal', False, program)
    assert trouble_of('steelyard train --loud', False, program)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    program = Program(sys.argv[1])
    checked, findings = 0, []
    for pattern, lines in (('*.md', lines_of_document), ('docs/**/*.md', lines_of_document),
                           ('.github/**/*.md', lines_of_document), ('engines/**/*.md', lines_of_document),
                           ('examples/**/*.toml', lines_of_example),
                           ('bindings/python/steelyard/*.py', lines_of_package), ('site/gallery.py', lines_of_gallery)):
        of_pattern = 0
        for path in sorted(glob.glob(pattern, recursive=True)):
            with open(path, encoding='utf-8') as file:
                text = file.read()
            for line, certain in lines(text):
                of_pattern += bool(START.match(line))
                trouble = trouble_of(line, certain, program)
                if trouble:
                    findings.append(f'{path}: {trouble}: {line}')
        if of_pattern == 0:
            findings.append(f'{pattern}: no command lines were found')
        checked += of_pattern
    print('\n'.join(findings))
    print(f'{checked} command lines, {len(findings)} are wrong')
    sys.exit(1 if findings else 0)


if __name__ == '__main__':
    main()
