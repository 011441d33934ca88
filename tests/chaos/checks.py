"""The conditions that a disturbed run must meet, compared with an undisturbed one."""
import struct

from chaos_run import WrongResult


def counted_once(run, epochs):
    """Every position of every epoch counts once, in consecutive versions."""
    ends, last = {}, -1
    for record in run.rounds():
        if record['round'] != last + 1 or record['begin'] != ends.get(record['epoch'], 0):
            number, begin = record['round'], record['begin']
            raise WrongResult(f'round {number} at {begin} follows {last}: see {run.folder}')
        last = record['round']
        ends[record['epoch']] = record['end']
    if len(ends) != epochs or len(set(ends.values())) != 1:
        raise WrongResult(f'positions are missing: see {run.folder}')


def parameters(run):
    newest = max((run.results / 'checkpoints').iterdir(), key=lambda it: int(it.name))
    data = (newest / 'model.safetensors').read_bytes()
    size = struct.unpack('<Q', data[:8])[0]
    return data[8 + size:]


def difference(a, b):
    if len(a) != len(b):
        raise WrongResult('models of different sizes')
    if a == b:
        return 0.0
    floats = zip(struct.iter_unpack('<f', a), struct.iter_unpack('<f', b))
    return max(abs(x[0] - y[0]) for x, y in floats)


def same_parameters(quiet, run, tolerance):
    apart = difference(parameters(quiet), parameters(run))
    if not apart <= tolerance:
        raise WrongResult(f'parameters differ by {apart:g} from the undisturbed ones: see {run.folder}')
    return apart


def bounded_memory(quiet, run, factor):
    for name, peak in run.peaks.items():
        if peak > factor * quiet.peaks[name]:
            raise WrongResult(f'{name} took {peak:.0f} MB of memory, and {quiet.peaks[name]:.0f} undisturbed')
