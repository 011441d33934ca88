"""Writes shapes.npz: pictures of discs, squares and crosses, 28 x 28 pixels, grey, with noise."""
import numpy

drawn = numpy.random.default_rng(1)
rows, columns = numpy.mgrid[:28, :28]


def picture(kind):
    y, x, size = *drawn.integers(8, 20, 2), drawn.integers(4, 8)
    across, down = abs(columns - x), abs(rows - y)
    inside = (across ** 2 + down ** 2 <= size ** 2, (across <= size) & (down <= size),
              ((across <= 1) | (down <= 1)) & (across <= size) & (down <= size))[kind]
    return numpy.clip(200 * inside + drawn.normal(30, 25, (28, 28)), 0, 255)


arrays = {}
for part, count in (('train', 4000), ('test', 800)):
    kinds = drawn.integers(0, 3, count)
    arrays[f'x_{part}'] = numpy.stack([picture(it) for it in kinds]).astype('uint8')[..., None]
    arrays[f'y_{part}'] = kinds
numpy.savez('shapes.npz', **arrays)
