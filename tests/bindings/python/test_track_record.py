"""The numbers of a run: their names, and the parts of the record that were written again."""
import json
import struct
import unittest

from steelyard import Failure
from steelyard._track_record import Record, end_of, is_running, parameters
from track_case import TrackCase, line


class Reading(TrackCase):
    def test_the_numbers_of_a_round_and_of_an_evaluation(self):
        rows = Record(self.made(line(0), line(1, 'evaluate'))).new()
        self.assertEqual([it.step for it in rows], [0, 1])
        self.assertEqual(rows[0].values, {
            'train/loss': 1.0, 'train/accuracy': 0.5, 'train/learning_rate': 0.1, 'speed/samples_per_second': 20000.0,
            'speed/percent_of_ideal': 90.0, 'speed/efficiency': 0.7, 'share/a': 60.0, 'compute_ms/a': 3.0,
            'share/b': 40.0, 'compute_ms/b': 4.0})
        self.assertEqual(rows[1].values, {'test/loss': 0.5, 'test/accuracy': 0.5})
        self.assertAlmostEqual(rows[1].time - rows[0].time, 0.01, 5)
        self.assertEqual(rows[0].time, 1767225600.01)  # 2026 began, and 10 ms

    def test_only_what_is_new_and_whole(self):
        record = Record(self.made(line(0)))
        whole = json.dumps(line(1))
        self.assertEqual([it.step for it in record.new()], [0])
        self.add(text=whole[:40])
        self.assertEqual(record.new(), [])
        self.add(text=whole[40:] + '\n')
        self.assertEqual([it.step for it in record.new()], [1])
        self.assertEqual(record.new(), [])

    def test_unknown_numbers_are_left_out(self):
        lost = line(0, workers=[], shares=[], compute_ms=[], loss=None, accuracy=None, percent_of_ideal=None,
                    efficiency=None)
        self.assertEqual(Record(self.made(lost)).new()[0].values, {'train/learning_rate': 0.1})

    def test_a_round_that_a_resumed_job_repeats_counts_once(self):
        record = Record(self.made(*(line(it) for it in range(5)), line(5, 'evaluate')))
        first = record.new()
        with open(self.run_directory / 'events.jsonl', 'a') as events:
            events.write('{"began":"2026-01-02T00:00:00Z"}\n')
        self.add(*(line(it, at=it) for it in range(3, 8)), line(5, 'evaluate', at=9.0))
        more = record.new()
        self.assertEqual(([it.step for it in first], [it.step for it in more]), ([0, 1, 2, 3, 4, 5], [5, 6, 7]))
        self.assertAlmostEqual(more[0].time, 1767312000.005)  # since the second process began

    def test_a_record_that_was_cut_and_written_again(self):
        record = Record(self.made(*(line(it) for it in range(6))))
        record.new()
        (self.run_directory / 'rounds.jsonl').write_text('')
        self.add(*(line(it) for it in range(4)))
        self.assertEqual(record.new(), [])
        self.add(*(line(it) for it in range(4, 8)))
        self.assertEqual([it.step for it in record.new()], [6, 7])
        (self.run_directory / 'rounds.jsonl').write_text('')
        self.add(*(line(it, loss=0.123456789) for it in range(10)))  # longer than before, with other line ends
        self.assertEqual([it.step for it in record.new()], [8, 9])

    def test_a_record_in_parts(self):
        record = Record(self.made(*(line(it) for it in range(3))))
        self.assertEqual([it.step for it in record.new()], [0, 1, 2])
        rounds = self.run_directory / 'rounds.jsonl'
        self.add(line(3))
        rounds.rename(self.run_directory / 'rounds.1.jsonl')
        self.add(line(4))
        rounds.rename(self.run_directory / 'rounds.2.jsonl')
        self.add(line(5))
        self.assertEqual([it.step for it in record.new()], [3, 4, 5])
        self.assertEqual([it.step for it in Record(self.run_directory).new()], [0, 1, 2, 3, 4, 5])
        (self.run_directory / 'rounds.2.jsonl').unlink()  # a scheduler recovered
        rounds.write_text('')
        self.add(line(4), line(5), line(6))
        self.assertEqual([it.step for it in record.new()], [6])

    def test_every(self):
        record = Record(self.made(*(line(it) for it in range(7)), line(7, 'evaluate')), every=3)
        self.assertEqual([it.step for it in record.new()], [0, 3, 6, 7])

    def test_what_is_no_run_is_refused(self):
        with self.assertRaisesRegex(Failure, 'is not the directory of a run: give one'):
            Record(self.folder)
        self.made()
        self.add(text='no json\n')
        with self.assertRaisesRegex(Failure, 'rounds.jsonl is not a record'):
            Record(self.run_directory).new()


class Described(TrackCase):
    def test_parameters_have_the_names_of_set(self):
        run = self.made()
        (run / 'job.toml').write_text('# comment\n\n[job]\nname = "x"\n\n[train]\nlr = 1e-05\nrates = [0.1, 0.2]\n'
                                      'reproducible = false\n\n[policy.lb-bsp]\nwarmup = 3\n\n'
                                      '[[worker]]\nname = "a"\nthreads = 2\n\n[[worker]]\nthreads = 1\n')
        self.assertEqual(parameters(run), {
            'job.name': 'x', 'train.lr': 1e-05, 'train.rates': [0.1, 0.2], 'train.reproducible': False,
            'policy.lb-bsp.warmup': 3, 'worker.a.threads': 2, 'worker.1.threads': 1})

    def test_a_run_without_result_was_killed(self):
        end = end_of(self.made())
        self.assertEqual((end.outcome, end.code, end.numbers), ('stopped', 75, {}))
        self.assertFalse(is_running(self.run_directory))


class OfTheProgram(TrackCase):
    """A real run."""

    def test_names_and_numbers_are_those_for_tensorboard(self):
        run = self.trained('--tensorboard')
        board = {}
        for file in (run / 'tensorboard').iterdir():
            for step, tag, value in scalars(file.read_bytes()):
                board.setdefault(step, {})[tag] = value
        ours = {}
        for row in Record(run).new():
            ours.setdefault(row.step, {}).update(row.values)
        self.assertEqual(len(ours), 17)
        self.assertEqual({step: set(it) for step, it in ours.items()}, {step: set(it) for step, it in board.items()})
        for step, values in ours.items():
            for name, value in values.items():
                self.assertAlmostEqual(value / (board[step][name] or 1), 1 if board[step][name] else 0, 3, (step, name))

    def test_its_parameters_and_its_end(self):
        run = self.trained('--set', 'train.lr=0.05')
        known = parameters(run)
        self.assertEqual((known['train.lr'], known['worker.slow.simulate_slowdown'], known['data.name']),
                         (0.05, 2, 'synthetic'))
        end = end_of(run)
        self.assertEqual((end.outcome, end.code, end.numbers['rounds']), ('finished', 0, 16))


def scalars(data):
    """(step, tag, value) of each number in a file for TensorBoard: records of length, sum, bytes and sum, whose bytes
    are an Event of protocol buffers: 2 the step, 5 the summary, with 1 the value, with 1 the tag and 2 the number."""
    at = 0
    while at < len(data):
        size = struct.unpack_from('<Q', data, at)[0]
        event = fields(data[at + 12:at + 12 + size])
        at += 16 + size
        for summary in event.get(5, []):
            for value in fields(summary)[1]:
                its = fields(value)
                yield event.get(2, [0])[0], its[1][0].decode(), its[2][0]


def fields(data):
    """Number and values of the fields of a message."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 2:
            size = varint()
            value, at = data[at:at + size], at + size
        else:
            size, code = {1: (8, '<d'), 5: (4, '<f')}[kind]
            value, at = struct.unpack_from(code, data, at)[0], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


if __name__ == '__main__':
    unittest.main()
