"""The files of a record that is continued in a new file from time to time: rounds.1.jsonl is the oldest."""

from __future__ import annotations

import pathlib


def closed_parts(path: pathlib.Path) -> list[int]:
    """The numbers of the parts before `path`, which is the one that is written."""
    start, end = path.stem + '.', path.suffix
    names = (it.name for it in path.parent.glob(f'{path.stem}.*{path.suffix}'))
    numbers = (it[len(start) : -len(end)] for it in names)
    return sorted(int(it) for it in numbers if it.isdecimal() and int(it) > 0)


def part_of(path: pathlib.Path, number: int) -> pathlib.Path:
    return path.with_name(f'{path.stem}.{number}{path.suffix}')


def parts_of(path: pathlib.Path) -> list[pathlib.Path]:
    """All of them, in order."""
    return [*(part_of(path, it) for it in closed_parts(path)), path]
