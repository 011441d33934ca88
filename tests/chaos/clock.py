"""The wall clock of the processes of a run: libfaketime (Debian package faketime) adds an offset that it reads from
a file. Monotonic clocks do not change, as if the administrator had set the time."""
import glob
import os
import pathlib
import subprocess
import time


def environment(file):
    library = next(iter(glob.glob('/usr/lib/*/faketime/libfaketimeMT.so.1')), '')
    own = {'LD_PRELOAD': library, 'FAKETIME_TIMESTAMP_FILE': str(file), 'FAKETIME_CACHE_DURATION': '1',
           'FAKETIME_DONT_FAKE_MONOTONIC': '1'}
    return {**os.environ, **own}


def move(file, seconds):
    """Sets the offset, which processes read within a second. The file is replaced atomically."""
    new = pathlib.Path(f'{file}.new')
    new.write_text(f'{seconds:+d}\n')
    new.rename(file)


def lacking(file):
    move(file, 10**8)
    date = subprocess.run(['date', '+%s'], check=True, capture_output=True, text=True, env=environment(file))
    file.unlink()
    return None if int(date.stdout) > time.time() + 10**7 else 'no libfaketime (Debian package faketime)'
