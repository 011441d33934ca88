"""What a disturbed run cost, and what it told its user."""
import collections
import dataclasses
import re
import statistics


@dataclasses.dataclass
class Loss:
    fault: str
    name: str
    rounds: int  # before it
    heard: float | None  # by the scheduler, seconds later


def walls(run):
    return [record['round_ms'] / 1000 for record in run.rounds()]


def delays(done, rounds):
    """Of each process, what the longest round of those behind its loss took more than usual."""
    of, usual = {}, statistics.median(rounds)
    for it in done:
        behind = rounds[max(0, it.rounds - 1):it.rounds + 40]
        if behind:
            of.setdefault((it.fault, it.name), []).append(max(behind) - usual)
    return of


def usual(text):
    return text == 'finished' or text.startswith('checkpoint of')


def told(run, most=12):
    """What was told beyond the usual: how often, with numbers left out."""
    kinds = collections.Counter(re.sub(r'\d+(\.\d+)*', 'N', text) for text in run.told() if not usual(text))
    for text, times in kinds.most_common(most):
        print(f'  told {times} times: {text[:150]}')
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
        print(f'  {fault} {name}, {len(seconds)} times: held up a round by {middle:.3f} s, '
              f'at most {max(seconds):.3f} s')
    heard = [1000 * it.heard for it in done
             if it.fault == 'kill' and it.name != 'scheduler' and it.heard is not None]
    if heard:
        print(f'{len(heard)} kills were heard of by the scheduler after {statistics.median(heard):.1f} ms, '
              f'at most {max(heard):.1f} ms')
    print('memory in MB, undisturbed and disturbed: ' +
          ', '.join(f'{name} {quiet.peaks[name]:.0f} {peak:.0f}' for name, peak in sorted(run.peaks.items())))
    told(run)
