"""Arguments of join(): unknown names and wrong types are refused before anything starts, with a hint."""
import json
import os
import subprocess
import unittest
from typing import get_type_hints

import standin
from steelyard import Failure
from steelyard._job_keys import OPTIMIZER_KEYS, ClusterKeys, TrainKeys, check_arguments

OF_JOIN = {'batch', 'epochs', 'rounds', 'clip_norm'}
PLAIN = {'batch': 8, 'epochs': None, 'workers': 0, 'loader': None, 'clip_norm': 0, 'test': None, 'schedule': None}


class Keys(unittest.TestCase):
    def setUp(self):
        asked = subprocess.run([os.environ['STEELYARD_PROGRAM'], 'help', 'schema'], capture_output=True, check=True)
        self.schema = json.loads(asked.stdout)['properties']

    def test_they_are_those_of_the_program(self):
        self.assertEqual(set(ClusterKeys.__annotations__), set(self.schema['cluster']['properties']))
        self.assertEqual(set(TrainKeys.__annotations__) | OPTIMIZER_KEYS | OF_JOIN,
                         set(self.schema['train']['properties']))
        self.assertFalse(set(TrainKeys.__annotations__) & (OPTIMIZER_KEYS | OF_JOIN))

    def test_types_are_those_of_the_program(self):
        types = {int: 'integer', float: 'number', str: 'string', bool: 'boolean'}
        for keys, section in ((TrainKeys, 'train'), (ClusterKeys, 'cluster')):
            for key, kind in get_type_hints(keys).items():
                its = self.schema[section]['properties'][key]
                choices = getattr(kind, '__args__', None)
                self.assertEqual(list(choices or ()), its.get('enum', []), key)
                if its['type'] == ['string', 'number']:  # in Python only a number: servers = "workers" has no use there
                    self.assertIs(kind, int, key)
                else:
                    self.assertEqual(types[str if choices else kind], its['type'], key)


class Checked(unittest.TestCase):
    def refused(self, text, more=None, **given):
        with self.assertRaisesRegex(Failure, text) as caught:
            check_arguments({**PLAIN, **given, 'more': more or {}})
        self.assertEqual(caught.exception.code, 78)

    def test_unknown_names_get_a_hint(self):
        self.refused(r'no argument epoch: did you mean epochs\?', {'epoch': 3})
        self.refused(r'did you mean policy\?', {'polcy': 'equal'})
        self.refused('is called workers', {'num_workers': 2})
        self.refused('is called batch', {'batch_size': 2})
        self.refused('is called clip_norm', {'clip': 1})
        self.refused('belongs to the optimizer', {'lr': 0.1})
        self.refused("loader={'pin_memory'", {'pin_memory': True})
        self.refused('steelyard help job', {'xyzzy': 1})

    def test_names_of_arguments_that_a_framework_lacks_are_not_named(self):
        without = {key: value for key, value in PLAIN.items() if key not in ('workers', 'loader')}
        with self.assertRaisesRegex(Failure, 'num_workers') as caught:
            check_arguments({**without, 'more': {'num_workers': 2}})
        self.assertNotIn('called workers', str(caught.exception))

    def test_types(self):
        self.refused("batch = '64': give a whole number", batch='64')
        self.refused(r'epochs = 3\.5: give a whole number', epochs=3.5)
        self.refused('epochs = True', epochs=True)
        self.refused("checkpoint_minutes = '5': give a number", {'checkpoint_minutes': '5'})
        self.refused("push_encoding = 'fp16': give one of 'float32', 'bf16'", {'push_encoding': 'fp16'})
        self.refused('profile = 1: give True or False', {'profile': 1})

    def test_good_ones(self):
        check_arguments({**PLAIN, 'epochs': 3, 'clip_norm': 1, 'more': {
            'policy': 'equal', 'checkpoint_minutes': 5, 'push_encoding': 'bf16', 'reproducible': True}})

    def test_numbers_of_numpy(self):
        check_arguments({**PLAIN, 'batch': standin.numpy.int64(8), 'clip_norm': standin.numpy.float32(0.5), 'more': {}})


if __name__ == '__main__':
    unittest.main()
