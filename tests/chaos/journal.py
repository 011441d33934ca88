"""The times at which a scheduler noticed lost connections, from its journal (protocol/journal.h)."""
import struct

START = struct.Struct('<IQBq')  # length of the rest after the checksum, checksum, kind, nanoseconds
DISCONNECTED = 2


def losses(path):
    """Seconds on the clock of time.monotonic(). Without records from before the journal was condensed."""
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
