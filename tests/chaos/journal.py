"""When a scheduler heard that a connection was lost, from its journal (protocol/journal.h)."""
import struct

START = struct.Struct('<IQBq')  # length of the rest behind the checksum, checksum, kind, nanoseconds
DISCONNECTED = 2


def losses(path):
    """Seconds on the clock of time.monotonic(). What was written when it began anew is not there any more."""
    try:
        journal = path.read_bytes()
    except FileNotFoundError:
        return set()
    times, at = set(), 0
    while at + START.size <= len(journal):
        length, _, kind, nanoseconds = START.unpack_from(journal, at)
        if kind == DISCONNECTED:
            times.add(nanoseconds / 1e9)
        at += length + 12
    return times
