"""Trains on the rows of a Parquet file, on this machine or in an object store (needs pyarrow).

    python3 parquet_rows.py s3://bucket/animals.parquet --label kind
    steelyard run -n 3 parquet_rows.py animals.parquet --label kind

The columns that are used stay in memory as floats, in each process. All processes must read the same file: a sample has the
same number in each of them.
"""
import argparse

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

import steelyard.torch


def read_columns(place):
    """All columns of a file, by name, as arrays of NumPy. `place`: a path, or a URI as in s3://bucket/file.parquet."""
    import pyarrow.fs
    import pyarrow.parquet
    if '://' in place:
        store, path = pyarrow.fs.FileSystem.from_uri(place)
    else:
        store, path = None, place
    table = pyarrow.parquet.read_table(path, filesystem=store)
    return {name: table[name].to_numpy() for name in table.column_names}


def rows(columns, label):
    """The samples (scaled inputs, class), and the names of the classes, in alphabetical order."""
    if label not in columns:
        raise SystemExit(f"there is no column '{label}': give one of {', '.join(columns)} as --label")
    inputs = [torch.as_tensor(values.astype('float32')) for name, values in columns.items() if name != label]
    table = torch.stack(inputs, dim=1)
    table = (table - table.mean(0)) / table.std(0).clamp(min=1e-6)
    names = sorted(set(columns[label].tolist()))
    classes = torch.tensor([names.index(it) for it in columns[label].tolist()])
    return TensorDataset(table, classes), names


if __name__ == '__main__':
    options = argparse.ArgumentParser()
    options.add_argument('file', help='a path, or a URI as in s3://bucket/file.parquet')
    options.add_argument('--label', required=True, help='name of the column with the class')
    options.add_argument('--epochs', type=int, default=5, help='default: 5')
    given = options.parse_args()
    samples, names = rows(read_columns(given.file), given.label)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(samples.tensors[0].shape[1], 64), nn.ReLU(), nn.Linear(64, len(names)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    job = steelyard.torch.join(model, optimizer, samples, batch=64, epochs=given.epochs)
    for x, y in job:
        job.backward(cross_entropy(model(x), y))
    if job.main:
        torch.save(model.state_dict(), 'parquet.pt')
