"""The scripts of `script/bench scripts`: what is known of each, and the list of all.

A script is a function of `plain`: 0 with steelyard, 1 in plain PyTorch; 2 if it divides each batch into halves and
accumulates their gradients, which scripts with a `why` support. It returns what is compared, a module or several.
"""
import dataclasses
import importlib
from typing import Callable

EXACT = 2e-6  # the limit where nothing amplifies the rounding of float32
FACTOR = 10
BATCH, EPOCHS = 24, 4
LEAST_ROUNDS = 24
CONDITIONS = ('alone', 'two', 'slowed', 'killed')
FILES = ('servers', 'own', 'data', 'parallel', 'trainers')


@dataclasses.dataclass
class Script:
    """`way`: servers, here, parallel, or a trainer. `why`: the difference may be larger than EXACT; at most
    `limit` if the method differs, otherwise FACTOR times that between two plain forms. `imports`: modules besides
    steelyard.torch."""

    name: str
    title: str
    way: str
    run: Callable[[bool], object]
    why: str = ''
    limit: float = EXACT
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
