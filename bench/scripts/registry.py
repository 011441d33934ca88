"""The scripts of `script/bench scripts`: what is known of each, and the list of all.

A script is a function of `plain`: whether it trains by plain PyTorch instead of steelyard. It returns what is compared,
a module or several.
"""
import dataclasses
import importlib
from typing import Callable

EXACT = 2e-6  # the limit where rounding of float32 is not amplified
FACTOR = 10   # elsewhere the limit is this number of times the difference between two plain forms
BATCH, EPOCHS = 24, 4
LEAST_ROUNDS = 24
CONDITIONS = ('alone', 'two', 'slowed', 'killed')
FILES = ('servers', 'own', 'data', 'parallel', 'trainers')


@dataclasses.dataclass
class Script:
    """`way`: servers, here, parallel, or a trainer. `why`: rounding makes a larger difference than
    EXACT. `imports`: modules besides steelyard.torch."""

    name: str
    title: str
    way: str
    run: Callable[[bool], object]
    why: str = ''
    imports: tuple = ()

    @property
    def repairs(self):
        """Whether the samples of a lost worker are computed in the same round, by others."""
        return self.way in ('servers', 'here')


SCRIPTS = {}


def script(title, way, **more):
    def add(function):
        SCRIPTS[function.__name__] = Script(function.__name__, title, way, function, **more)
        return function

    return add


def load():
    """All scripts, in the order of the table."""
    for file in FILES:
        importlib.import_module(file)
    return SCRIPTS
