"""Reads the tensors of a checkpoint, which are in PyTorch's layout, as numpy arrays, and the file's metadata.

    tensors, about = state_dict('runs/NAME/checkpoints/N/model.safetensors')
    net.load_state_dict({name: torch.from_numpy(it) for name, it in tensors.items()})

The network's inputs are (byte / 255 - input.mean) / input.deviation, of shape [batch][channel][row][column]. Both
values are in `about`: one number, or one for each channel, separated by spaces.
"""
import json
import numpy


def state_dict(path):
    with open(path, 'rb') as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), 'little')))
        values = file.read()
    about, tensors = header.pop('__metadata__'), {}
    for name, it in header.items():
        begin, end = it['data_offsets']
        tensors[name] = numpy.frombuffer(values[begin:end], numpy.float32).reshape(it['shape']).copy()
    return tensors, about
