"""The numbers of a checkpoint as PyTorch orders them: numpy arrays by name, and what the file says of itself.

    tensors, about = state_dict('runs/NAME/checkpoints/N/model.safetensors')
    net.load_state_dict({name: torch.from_numpy(it) for name, it in tensors.items()})

Pixels go in as (byte / 255 - input.mean) / input.deviation, both in `about` (one number, or one for each channel
with spaces between them), [batch][channel][row][column].
"""
import json
import numpy


def state_dict(path):
    with open(path, 'rb') as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), 'little')))
        values = file.read()
    about, tensors, channels = header.pop('__metadata__'), {}, 0
    for name, it in header.items():  # in the order of the layers
        begin, end = it['data_offsets']
        tensor = numpy.frombuffer(values[begin:end], numpy.float32).reshape(it['shape'])
        if tensor.ndim == 4:  # a convolution: [out][row][column][in] becomes [out][in][row][column]
            tensor, channels = tensor.transpose(0, 3, 1, 2), len(tensor)
        elif tensor.ndim == 2 and channels:  # the linear layer behind them: its input has channels last
            tensor = tensor.reshape(len(tensor), -1, channels).transpose(0, 2, 1).reshape(tensor.shape)
            channels = 0
        tensors[name] = tensor.copy()
    return tensors, about
