"""Finds and loads libsteelyard.so, the C interface of include/steelyard/steelyard.h, and declares its
functions.

The library is $STEELYARD_LIBRARY; otherwise lib/libsteelyard.so inside the package, where the wheel
puts it; otherwise the one in ../lib or in the folder of the program `steelyard` on PATH. The program
is $STEELYARD_PROGRAM; otherwise bin/steelyard inside the package; otherwise the one on PATH.
STEELYARD_PROGRAM alone does not determine the library.

Calls release the GIL. An error becomes a Failure with the library's text.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import shutil

from steelyard._errors import CONFIGURATION, Failure, refuse

API = 2
PACKAGE = pathlib.Path(__file__).resolve().parent


class CTask(ctypes.Structure):
    """steelyard_task."""

    _fields_ = [
        ('kind', ctypes.c_int32),
        ('code', ctypes.c_int32),
        ('parameters', ctypes.c_void_p),
        ('gradient', ctypes.c_void_p),
        ('samples', ctypes.c_void_p),
        ('count', ctypes.c_uint64),
        ('epoch', ctypes.c_uint64),
        ('position', ctypes.c_uint64),
        ('main', ctypes.c_int32),
        ('version', ctypes.c_uint64),
        ('path', ctypes.c_char_p),
    ]


_U64 = ctypes.c_uint64
_POINTER = ctypes.c_void_p
_TEXT = ctypes.c_char_p
_INT = ctypes.c_int

# Return type and argument types of each function.
_PROTOTYPES = {
    'steelyard_api': (_INT, []),
    'steelyard_version': (_TEXT, []),
    'steelyard_error': (_TEXT, []),
    'steelyard_join': (_POINTER, [_TEXT, _POINTER]),
    'steelyard_next': (_INT, [_POINTER, ctypes.c_double, ctypes.POINTER(CTask)]),
    'steelyard_job': (_TEXT, [_POINTER]),
    'steelyard_samples': (_INT, [_POINTER, _U64, _U64, _U64, _POINTER]),
    'steelyard_weigh': (_INT, [_POINTER, ctypes.c_double]),
    'steelyard_final': (_INT, [_POINTER, _U64, _U64]),
    'steelyard_wanted': (_INT, [_POINTER]),
    'steelyard_done': (_INT, [_POINTER, ctypes.c_double, _U64]),
    'steelyard_lose_state': (None, [_POINTER]),
    'steelyard_stop': (None, [_POINTER, _INT]),
    'steelyard_leave': (None, [_POINTER, _TEXT]),
    'steelyard_free': (None, [_POINTER]),
    'steelyard_policy_new': (_POINTER, [_TEXT]),
    'steelyard_policy_plan': (_INT, [_POINTER, _U64, ctypes.POINTER(_U64)]),
    'steelyard_policy_join': (ctypes.c_int64, [_POINTER, _TEXT]),
    'steelyard_policy_leave': (_INT, [_POINTER, ctypes.c_uint32]),
    'steelyard_policy_epoch': (_INT, [_POINTER]),
    'steelyard_policy_sample': (
        _INT,
        [_POINTER, ctypes.c_uint32, _U64, ctypes.c_double, ctypes.c_double, ctypes.c_double],
    ),
    'steelyard_policy_save': (_TEXT, [_POINTER]),
    'steelyard_policy_restore': (_INT, [_POINTER, _TEXT]),
    'steelyard_policy_observe': (_INT, [_POINTER, ctypes.POINTER(ctypes.c_double)]),
    'steelyard_policy_free': (None, [_POINTER]),
}


def program() -> str:
    """The path of the program `steelyard`."""
    given = os.environ.get('STEELYARD_PROGRAM')
    if given:
        if shutil.which(given) is None:
            raise refuse(
                f'STEELYARD_PROGRAM = {given}: there is no such program: correct or unset it'
            )
        return given
    own = PACKAGE / 'bin' / 'steelyard'
    if os.access(own, os.X_OK):
        return str(own)
    found = shutil.which('steelyard')
    if found is None:
        raise refuse(
            'the program `steelyard` is neither in the package nor on PATH: install the '
            'package with pip, or set STEELYARD_PROGRAM to its path'
        )
    return found


def library_path() -> pathlib.Path:
    """The path of libsteelyard.so."""
    given = os.environ.get('STEELYARD_LIBRARY')
    if given:
        if not os.path.exists(given):
            raise refuse(f'STEELYARD_LIBRARY = {given}: there is no such file: correct or unset it')
        return pathlib.Path(given)
    places = [PACKAGE / 'lib']
    on_path = shutil.which('steelyard')
    if on_path is not None:
        folder = pathlib.Path(on_path).resolve().parent
        places += [folder.parent / 'lib', folder]
    for place in places:
        if (place / 'libsteelyard.so').exists():
            return place / 'libsteelyard.so'
    raise refuse(
        'libsteelyard.so is neither in the package nor beside the program `steelyard`: install '
        'the package with pip, or set STEELYARD_LIBRARY to its path'
    )


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, loaded on first use."""
    path = library_path()
    try:
        loaded = ctypes.CDLL(str(path))
        for name, (gives, takes) in _PROTOTYPES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = gives, takes
    except (OSError, AttributeError) as why:
        raise refuse(
            f'{path} is no library of steelyard that this machine can load: {why}'
        ) from why
    found = loaded.steelyard_api()
    if found != API:
        raise refuse(
            f'{path} has interface {found}, and this package needs {API}: install library and '
            'package of the same release'
        )
    return loaded


def error_text() -> str:
    """The error text of this thread's last call."""
    return (library().steelyard_error() or b'').decode(errors='replace')


def check(code: int) -> None:
    """Raises Failure with the library's error text if `code` is not 0."""
    if code != 0:
        raise Failure(error_text() or f'steelyard failed with code {code}', code)


def check_pointer(pointer: int | None) -> int:
    """Returns `pointer`; raises Failure with the library's error text if it is null."""
    if not pointer:
        raise Failure(error_text() or 'steelyard failed', CONFIGURATION)
    return pointer
