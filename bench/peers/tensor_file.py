"""Reads and writes safetensors files of 32-bit floats, without the package safetensors, which Debian 12 lacks."""
import json
import os

import torch


def save_file(tensors, path):
    header, at = {}, 0
    for name, tensor in tensors.items():
        begin, at = at, at + 4 * tensor.numel()
        header[name] = {'dtype': 'F32', 'shape': list(tensor.shape), 'data_offsets': [begin, at]}
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)  # the data are aligned
    new = f'{path}.new'  # another process may be reading the file of this name
    with open(new, 'wb') as file:
        file.write(len(text).to_bytes(8, 'little') + text)
        for tensor in tensors.values():
            file.write(tensor.float().contiguous().numpy().tobytes())
    os.replace(new, path)


def load_file(path):
    """Returns the tensors by name."""
    with open(path, 'rb') as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), 'little')))
        data = bytearray(file.read())
    found = {}
    for name, about in header.items():
        if name == '__metadata__':
            continue
        if about['dtype'] != 'F32':
            raise ValueError(f'{path}: {name} has the type {about["dtype"]}: only F32 is supported')
        begin, end = about['data_offsets']
        flat = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=begin)
        found[name] = flat.reshape(about['shape']).clone()
    return found
