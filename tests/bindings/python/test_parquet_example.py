"""examples/python/parquet_rows.py, with a stand-in for pyarrow, which Debian does not have."""
import importlib.util
import os
import sys
import types
import unittest
from unittest import mock

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def example():
    spec = importlib.util.spec_from_file_location('parquet_rows', os.path.join(ROOT, 'examples/python/parquet_rows.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Column:
    def __init__(self, values):
        self.values = values

    def to_numpy(self):
        return numpy.array(self.values)


class Table(dict):
    @property
    def column_names(self):
        return list(self)


def stand_in(asked):
    """pyarrow with one table; `asked` gets the path and the file system of each read."""
    pyarrow, fs, parquet = (types.ModuleType(name) for name in ('pyarrow', 'pyarrow.fs', 'pyarrow.parquet'))
    fs.FileSystem = types.SimpleNamespace(from_uri=lambda uri: (uri.split('://')[0], uri.split('://')[1]))

    def read_table(path, filesystem):
        asked.append((path, filesystem))
        return Table(height=Column([1, 2, 3, 6]), kind=Column(['dog', 'cat', 'dog', 'ant']), weight=Column([5., 5, 5, 5]))
    parquet.read_table = read_table
    pyarrow.fs, pyarrow.parquet = fs, parquet
    return {'pyarrow': pyarrow, 'pyarrow.fs': fs, 'pyarrow.parquet': parquet}


class ParquetRows(unittest.TestCase):
    def test_columns_become_scaled_samples_with_classes(self):
        asked = []
        with mock.patch.dict(sys.modules, stand_in(asked)):
            module = example()
            columns = module.read_columns('animals.parquet')
            module.read_columns('s3://bucket/animals.parquet')
        self.assertEqual(asked, [('animals.parquet', None), ('bucket/animals.parquet', 's3')])
        samples, names = module.rows(columns, 'kind')
        self.assertEqual(names, ['ant', 'cat', 'dog'])
        self.assertEqual([int(y) for _, y in samples], [2, 1, 2, 0])
        inputs = samples.tensors[0]
        self.assertEqual(tuple(inputs.shape), (4, 2))
        self.assertAlmostEqual(float(inputs[:, 0].mean()), 0, 5)
        self.assertAlmostEqual(float(inputs[:, 0].std()), 1, 5)
        self.assertEqual(inputs[:, 1].abs().max(), 0, 'a constant column')

    def test_an_unknown_label_is_named(self):
        with self.assertRaisesRegex(SystemExit, "there is no column 'sort': give one of height"):
            example().rows({'height': numpy.array([1, 2])}, 'sort')


if __name__ == '__main__':
    unittest.main()
