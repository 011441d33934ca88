"""An extension of griffe, which reads the docstrings for the reference: they become Markdown.

In a docstring, a row of two columns explains a name; two or more blanks separate the columns, and further lines of the
explanation are indented. Such rows become a table. Words that are code get the font of code.
"""
import re

import griffe

ROW = re.compile(r'(\S(?:.*?\S)?) {2,}(\S.*)')
NAMES = re.compile(r'\w+(?:, \w+)+')  # whose explanation begins on the next line
# Code already, or a name with an underscore, an environment variable, a call, or a member of the usual variables.
CODE = re.compile(r'`[^`]*`|[\w$./]*[A-Za-z]_\w(?:[\w.]*\w)?(?:\([^()]*\))?|__\w+__|\$[A-Z]+'
                  r'|[A-Za-z][\w.]*\([^()\s]*\)|\b(?:job|loader|model|trainer|accelerator)\.\w+|(?<=\s)\.grad\b')
PAGE = re.compile(r'docs/(\w+\.md)')


def with_code(text):
    return PAGE.sub(r'[\1](../\1)', CODE.sub(lambda it: f'`{it[0].strip("`")}`', text))


def table(rows):
    lines = ['', '| name | meaning |', '| --- | --- |']
    for names, meaning in rows:
        lines.append(f'| {", ".join(f"`{it}`" for it in names.split(", "))} | {with_code(meaning)} |')
    return [*lines, '']


def to_markdown(text):
    lines, rows = [], []
    for line in text.split('\n'):
        row = ROW.fullmatch(line)
        if row and not line.startswith(' '):
            rows.append([row[1], row[2]])
        elif rows and NAMES.fullmatch(line):
            rows.append([line, ''])
        elif rows and line.startswith('      '):
            rows[-1][1] += ' ' + line.strip()
        else:
            if rows:
                lines += table(rows)
                rows = []
            lines.append(line if line.startswith('    ') else with_code(line))
    return '\n'.join(lines + (table(rows) if rows else []))


class Docstrings(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)

    def on_class(self, *, cls, **_):
        """The constructors of jobs are internal: functions such as join() make them."""
        if cls.name.endswith('Job') or cls.module.name.startswith('_'):
            cls.members.pop('__init__', None)

    def on_package(self, *, pkg, **_):
        """Classes of jobs that refer to their base class, which has no entry of its own, get its text."""
        base = pkg['_push_job.PushJob'].docstring.value
        for name in ('arrays.ArraysJob', 'jax.JaxJob', 'keras.KerasJob'):
            pkg[name].docstring.value = pkg[name].docstring.value.replace('; see PushJob', '') + '\n\n' + base
