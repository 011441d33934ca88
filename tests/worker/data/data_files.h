// Small hand-made files for the tests of readers.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace steelyard {

using Bytes = std::vector<std::uint8_t>;

inline Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

inline Bytes gzipped(const Bytes& bytes) {
  z_stream zip{};
  EXPECT_EQ(deflateInit2(&zip, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes packed(deflateBound(&zip, bytes.size()));
  zip.next_in = const_cast<Bytef*>(bytes.data());
  zip.avail_in = static_cast<uInt>(bytes.size());
  zip.next_out = packed.data();
  zip.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&zip, Z_FINISH), Z_STREAM_END);
  packed.resize(zip.total_out);
  deflateEnd(&zip);
  return packed;
}

// Header and values of an IDX file of unsigned bytes.
inline Bytes idx_bytes(const std::vector<std::uint32_t>& sizes, const Bytes& values) {
  Bytes bytes{0, 0, 8, static_cast<std::uint8_t>(sizes.size())};
  for (const std::uint32_t size : sizes) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(size >> shift));
  }
  return joined(std::move(bytes), values);
}

// An NPY file as NumPy 2 writes it: its header is padded to 64 bytes.
template <class T>
Bytes npy(const std::string& type, const std::string& shape, const std::vector<T>& values,
          const std::string& order = "False") {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  Bytes bytes{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  bytes.push_back(static_cast<std::uint8_t>(header.size()));
  bytes.push_back(static_cast<std::uint8_t>(header.size() >> 8));
  bytes = joined(std::move(bytes), Bytes(header.begin(), header.end()));
  const std::size_t begin = bytes.size();
  bytes.resize(begin + values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data() + begin, values.data(), values.size() * sizeof(T));
  return bytes;
}

}  // namespace steelyard
