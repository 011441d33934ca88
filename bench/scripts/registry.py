"""The scripts of `script/bench scripts`: what is known of each, and the list of all.

A script is a function with both forms of one training: plain PyTorch if run.plain, otherwise with steelyard. It returns
what is compared: a module, or several.
"""
import dataclasses
import importlib
from typing import Callable

EXACT = 2e-6  # the limit of cells where the method is exact: rounding of float32
BATCH, EPOCHS = 24, 4
LEAST_ROUNDS = 24
CONDITIONS = ('alone', 'two', 'slowed', 'killed')
FILES = ('steps', 'own', 'data', 'parallel', 'trainers')

AFTER_A_KILL = (
    0.5, 'after a kill: the round is closed without the samples of the lost worker, which come with later batches')


@dataclasses.dataclass
class Run:
    """What a process is told. `rounds`: for the plain form of a script that ends its job early: rounds of the job."""

    plain: bool
    rounds: int = 0


@dataclasses.dataclass
class Script:
    """`way`: servers, here, parallel, or a trainer. `limits`: condition to (limit, reason), where the method is not
    exact. `stops`: it ends its job early, at a round that the plain form is told. `jobs`: that it trains one after
    another. `backwards`: rounds of the job for each step. `imports`: modules besides steelyard.torch."""

    name: str
    title: str
    way: str
    run: Callable[[Run], object]
    limits: dict
    note: str = ''
    stops: bool = False
    jobs: int = 1
    backwards: int = 1
    imports: tuple = ()

    def limit(self, condition):
        """The largest difference that is no error, and the reason if that is not EXACT."""
        return self.limits.get(condition, (EXACT, ''))


SCRIPTS = {}


def script(title, way, limit=None, why='', **more):
    """Registers a function. `limit` and `why`: of all conditions, if the method is never exact."""

    def add(function):
        limits = {it: (limit, why) for it in CONDITIONS} if limit else {}
        if way not in ('servers', 'here') and not limit:
            limits = {'killed': AFTER_A_KILL}
        SCRIPTS[function.__name__] = Script(function.__name__, title, way, function, limits, **more)
        return function

    return add


def load():
    """All scripts, in the order of the table."""
    for file in FILES:
        importlib.import_module(file)
    return SCRIPTS
