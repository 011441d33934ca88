"""The wall clock that the processes of a run see: libfaketime (Debian package faketime) adds to it what a file
says. Clocks that only count on from when a machine started stay as they are, as if somebody had set the time."""
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
    """Read within a second by whoever looks at the clock; whole, for the new file takes the other's place."""
    new = pathlib.Path(f'{file}.new')
    new.write_text(f'{seconds:+d}\n')
    new.rename(file)


def lacking(file):
    move(file, 10**8)
    told = subprocess.run(['date', '+%s'], check=True, capture_output=True, text=True, env=environment(file))
    file.unlink()
    return None if int(told.stdout) > time.time() + 10**7 else 'no libfaketime (Debian package faketime)'
