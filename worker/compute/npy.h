// NPY, the format in which numpy saves one array.
//
//  bytes 0..5   \x93NUMPY
//  bytes 6, 7   version: 1, 2 or 3
//  then         the length of the header, little-endian, in 2 bytes (version 1) or 4
//  then         the header, Python: {'descr': '<f4', 'fortran_order': False, 'shape': (8, 784), }
//  then         the values, to the end
// (numpy.lib.format). Read are 32-bit floats and unsigned bytes, row-major, as numpy.save writes them.
//
// No size is believed before it has been held against the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace steelyard {

struct NpyArray {
  std::vector<std::uint64_t> shape;
  bool bytes = false;         // the values were unsigned bytes, 0 to 255
  std::vector<float> values;  // as many as the product of the shape
};

// Throws Failure (io) that names `path` and what is wrong.
NpyArray parse_npy(std::span<const std::byte> file, const std::string& path);

}  // namespace steelyard
