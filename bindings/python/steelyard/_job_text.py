"""The text of a job file, from Python values."""

from __future__ import annotations

import json
import math
from typing import Any, Mapping

from steelyard._errors import refuse
from steelyard._job_keys import CLUSTER_KEYS


def place_of(key: str) -> str:
    """ "section.key" for a key without section: one of [cluster], or of [train]."""
    return key if '.' in key else f'{"cluster" if key in CLUSTER_KEYS else "train"}.{key}'


def job_text(keys: Mapping[str, Any]) -> str:
    """TOML for {"section.key": value}. Values of None are left out; the name of a section may
    contain dots ("policy.lb-bsp.momentum")."""
    sections: dict[str, list[str]] = {}
    for place, value in keys.items():
        section, _, key = place.rpartition('.')
        if not section:
            raise refuse(f'{place} has no section: give section.key, as in train.lr')
        if value is not None:
            sections.setdefault(section, []).append(f'{key} = {toml_value(place, value)}')
    return '\n'.join(f'[{name}]\n' + '\n'.join(lines) + '\n' for name, lines in sections.items())


def toml_value(place: str, value: Any) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise refuse(f'{place} = {value}: give a finite number')
        text = repr(value)
        return text if any(it in text for it in '.e') else text + '.0'
    if isinstance(value, str):
        return json.dumps(value)  # escapes of JSON strings are valid in TOML
    if isinstance(value, (list, tuple)):
        return '[' + ', '.join(toml_value(place, it) for it in value) + ']'
    if hasattr(value, 'item'):  # a scalar of NumPy or of a tensor
        return toml_value(place, value.item())
    raise refuse(f'{place} = {value!r}: give a number, a string, a boolean, or a list of these')
