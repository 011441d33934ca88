"""The cost of the disturbances in a run, and the notes shown to its user."""
import collections
import dataclasses
import re
import statistics


@dataclasses.dataclass
class Loss:
    fault: str
    name: str
    rounds: int  # before the loss
    noticed: float | None  # by the scheduler, seconds later


def walls(run):
    return [record['round_ms'] / 1000 for record in run.rounds()]


def delays(done, rounds):
    """By fault and process: how much longer than usual the longest round after each loss took."""
    of, usual = {}, statistics.median(rounds)
    for it in done:
        after_loss = rounds[max(0, it.rounds - 1):it.rounds + 40]
        if after_loss:
            of.setdefault((it.fault, it.name), []).append(max(after_loss) - usual)
    return of


def usual(text):
    return text == 'finished' or text.startswith('checkpoint of')


def write_notes(run, most=12):
    """Prints unusual notes with their counts; notes that differ only in numbers count as equal."""
    kinds = collections.Counter(re.sub(r'\d+(\.\d+)*', 'N', text) for text in run.notes() if not usual(text))
    for text, times in kinds.most_common(most):
        print(f'  noted {times} times: {text[:150]}')
    if len(kinds) > most:
        print(f'  and {len(kinds) - most} more')


def write(quiet, run, done):
    before, after = walls(quiet), walls(run)
    share = 100 * sum(before) / sum(after)
    print(f'rounds took {sum(before):.1f} s undisturbed, {sum(after):.1f} s disturbed: '
          f'{share:.1f} % of the throughput')
    print(f'median round {statistics.median(before):.4f} s and {statistics.median(after):.4f} s, longest '
          f'{max(before):.2f} s and {max(after):.2f} s')
    for (fault, name), seconds in sorted(delays(done, after).items()):
        middle = statistics.median(seconds)
        print(f'  {fault} {name}, {len(seconds)} times: delayed a round by {middle:.3f} s, '
              f'at most {max(seconds):.3f} s')
    noticed = [1000 * it.noticed for it in done
               if it.fault == 'kill' and it.name != 'scheduler' and it.noticed is not None]
    if noticed:
        print(f'the scheduler noticed {len(noticed)} kills after {statistics.median(noticed):.1f} ms, '
              f'at most {max(noticed):.1f} ms')
    print('memory in MB, undisturbed and disturbed: ' +
          ', '.join(f'{name} {quiet.peaks[name]:.0f} {peak:.0f}' for name, peak in sorted(run.peaks.items())))
    write_notes(run)
