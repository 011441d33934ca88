"""Writes the folder shapes: pictures of discs, squares and crosses, 28 x 28 pixels, grey, with noise."""
import os
import struct
import zlib

import numpy

KINDS = ('cross', 'disc', 'square')
drawn = numpy.random.default_rng(1)
rows, columns = numpy.mgrid[:28, :28]


def picture(kind):
    y, x, size = *drawn.integers(8, 20, 2), drawn.integers(4, 8)
    across, down = abs(columns - x), abs(rows - y)
    inside = {'cross': ((across <= 1) | (down <= 1)) & (across <= size) & (down <= size),
              'disc': across ** 2 + down ** 2 <= size ** 2, 'square': (across <= size) & (down <= size)}[kind]
    return numpy.clip(200 * inside + drawn.normal(30, 25, (28, 28)), 0, 255).astype('uint8')


def png(pixels):
    """A grey PNG file: a signature and three chunks, each row with filter 0."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    height, width = pixels.shape
    lines = b''.join(b'\0' + row.tobytes() for row in pixels)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 0, 0, 0, 0)) +
            chunk(b'IDAT', zlib.compress(lines)) + chunk(b'IEND', b''))


for part, count in (('train', 4000), ('test', 800)):
    for kind in KINDS:
        os.makedirs(f'shapes/{part}/{kind}', exist_ok=True)
    for number in range(count):
        kind = KINDS[drawn.integers(len(KINDS))]
        with open(f'shapes/{part}/{kind}/{number}.png', 'wb') as file:
            file.write(png(picture(kind)))
