"""Says why loader processes cannot get a data set or a function of the script."""

from __future__ import annotations

import inspect
import os
import sys
from multiprocessing.reduction import ForkingPickler
from typing import Any, Optional

from steelyard._errors import Failure, refuse


def refuse_interactive(objects: dict[str, Any], method: str) -> None:
    """Raises Failure if one of these objects is defined in a notebook or on standard input, from where
    processes cannot import it. `objects`: by the name of the argument. `method`: that starts them."""
    main = sys.modules['__main__']
    if os.path.exists(getattr(main, '__file__', '')) or getattr(main, '__spec__', None) is not None:
        return
    for name, it in objects.items():
        if getattr(_definition(it), '__module__', '') == '__main__':
            raise _refusal(name, it, 'is defined in a notebook or an interactive session', method)


def unpicklable(objects: dict[str, Any], method: str) -> Optional[Failure]:
    """The error for the first object that cannot be pickled; None without one."""
    for name, it in objects.items():
        try:
            ForkingPickler.dumps(it)
        except Exception as why:  # what pickling raises depends on the object
            return _refusal(name, it, f'cannot be pickled ({why})', method)
    return None


def _definition(it: Any) -> Any:
    """The function or class by whose name pickle stores the object."""
    return it if inspect.isfunction(it) or inspect.isclass(it) else type(it)


def _refusal(name: str, it: Any, why: str, method: str) -> Failure:
    what = getattr(_definition(it), '__qualname__', type(it).__name__)
    return refuse(
        f'{name} ({what}) {why}, so loader processes cannot get it; they are started by {method}: '
        'use a class or function at the top level of a file that the script imports; or give '
        "multiprocessing_context='fork' if this process does not use CUDA; or workers=0"
    )
