"""Writes and reads the state of a worker whose optimizer steps in the script: for a checkpoint, and for
workers that join late.

The file is one that torch.save() writes: {'model': {name: tensor}, 'tensors': [...], 'rest': '...'}. `rest`
is JSON: the state of the kept objects, in which a tensor is a number in `tensors`. So reading it cannot
run code, and every release of PyTorch from 1.13 can read it with weights_only=True.
"""

from __future__ import annotations

import json
import pickle
import random
import sys
from typing import Any, Mapping

import torch

from steelyard._errors import refuse


class Kept:
    """The objects of the script whose state belongs to the job, by name."""

    def __init__(self) -> None:
        self._objects: dict[str, Any] = {}

    def add(self, objects: Mapping[str, Any]) -> None:
        for name, it in objects.items():
            if not (hasattr(it, 'state_dict') and hasattr(it, 'load_state_dict')):
                raise refuse(
                    f'job.keep({name}=...) got a {type(it).__name__}: give objects with state_dict() '
                    'and load_state_dict(), as optimizers and schedulers have'
                )
            self._objects[name] = it

    def write(self, model: torch.nn.Module, path: str) -> None:
        """Writes the present state to an existing file."""
        its = model.state_dict()
        tensors: list[torch.Tensor] = []
        rest = {
            'model': {name: it for name, it in its.items() if not isinstance(it, torch.Tensor)},
            'kept': {name: _state_of(it) for name, it in self._objects.items()},
            'random': _random_state(),
        }
        text = json.dumps(_packed(rest, tensors, 'the state'))
        weights = {name: it for name, it in its.items() if isinstance(it, torch.Tensor)}
        # Not as an archive, whose checksums take several times as long as writing: checkpoints have their own.
        whole = {'model': weights, 'tensors': tensors, 'rest': text}
        torch.save(whole, path, _use_new_zipfile_serialization=False)

    def read(self, model: torch.nn.Module, path: str) -> None:
        """Replaces the present state. Raises Failure if the file is of another script."""
        try:
            state = torch.load(path, map_location='cpu', weights_only=True)
        except (pickle.UnpicklingError, EOFError, RuntimeError) as why:
            cause = str(why).partition('\n')[0] or 'it ends early'
            raise refuse(
                f'the state of another worker cannot be read ({cause}): install the '
                'same releases of PyTorch and steelyard on all machines'
            ) from why
        # Each part is released once it is copied: together they are larger than the model.
        rest = _unpacked(json.loads(state['rest']), state.pop('tensors'))
        model.load_state_dict({**state.pop('model'), **rest['model']})
        kept = rest['kept']
        if set(kept) != set(self._objects):
            raise refuse(
                f'this worker keeps {_listed(self._objects)}, and the state that it loads has '
                f'{_listed(kept)}: run the same script on all machines, and call job.keep() before '
                'job.rounds()'
            )
        for name in list(kept):
            self._objects[name].load_state_dict(kept.pop(name))
        _set_random_state(rest['random'])


def _state_of(it: Any) -> Any:
    """The state of an object, without its own methods, which OneCycleLR of PyTorch 1.13 adds."""
    state = it.state_dict()
    if not isinstance(state, dict):
        return state
    return {
        name: value
        for name, value in state.items()
        if not (callable(value) and value == getattr(it, str(name), None))
    }


def _listed(names: Any) -> str:
    return ', '.join(sorted(names)) or 'nothing'


def _packed(it: Any, tensors: list[torch.Tensor], place: str) -> Any:
    """`it` as JSON: a dictionary is {"dict": pairs}, a tuple {"tuple": items}, a tensor {"tensor":
    number}."""
    if isinstance(it, torch.Tensor):
        tensors.append(it.detach())
        return {'tensor': len(tensors) - 1}
    if it is None or isinstance(it, (bool, int, float, str)):
        return it
    if hasattr(it, 'item') and getattr(it, 'shape', None) == ():  # a scalar of NumPy
        return it.item()
    if isinstance(it, Mapping):
        pairs = [
            [_packed(key, tensors, place), _packed(value, tensors, f'{place}[{key!r}]')]
            for key, value in it.items()
        ]
        return {'dict': pairs}
    if isinstance(it, (list, tuple)):
        items = [_packed(value, tensors, f'{place}[{at}]') for at, value in enumerate(it)]
        return items if isinstance(it, list) else {'tuple': items}
    raise refuse(
        f'{place} is a {type(it).__name__}, which a checkpoint or another worker cannot receive: give '
        'job.keep() objects whose state_dict() has only tensors, numbers, strings, lists and dictionaries'
    )


def _unpacked(it: Any, tensors: list[torch.Tensor]) -> Any:
    if isinstance(it, list):
        return [_unpacked(value, tensors) for value in it]
    if not isinstance(it, dict):
        return it
    ((kind, inside),) = it.items()
    if kind == 'tensor':
        return tensors[inside]
    if kind == 'tuple':
        return tuple(_unpacked(value, tensors) for value in inside)
    return {_unpacked(key, tensors): _unpacked(value, tensors) for key, value in inside}


def _random_state() -> dict[str, Any]:
    state: dict[str, Any] = {'torch': torch.get_rng_state(), 'python': random.getstate()}
    if 'numpy' in sys.modules:
        name, keys, *numbers = sys.modules['numpy'].random.get_state()
        state['numpy'] = (name, keys.tolist(), *numbers)
    return state


def _set_random_state(state: Mapping[str, Any]) -> None:
    torch.set_rng_state(state['torch'])
    random.setstate(state['python'])
    if 'numpy' in state and 'numpy' in sys.modules:
        sys.modules['numpy'].random.set_state(state['numpy'])
