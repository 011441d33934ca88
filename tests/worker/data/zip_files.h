// Zip archives made by hand, for the tests of their reader.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/worker/data/data_files.h"

namespace steelyard {

struct ZipFile {
  std::string name;
  Bytes bytes;
  std::uint16_t method = 0;  // 8: deflated; otherwise stored
  std::uint16_t flags = 0;
};

inline void append(Bytes& to, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}
inline void append(Bytes& to, const std::vector<std::pair<std::uint64_t, int>>& numbers) {
  for (const auto& [value, size] : numbers) append(to, value, size);
}

inline Bytes deflated(const Bytes& bytes) {
  const Bytes gzip = gzipped(bytes);  // the deflated bytes between a header of 10 bytes and a trailer of 8
  return {gzip.begin() + 10, gzip.end() - 8};
}

// `wide`: all numbers are in 64-bit fields if possible, as in an archive larger than 4 GB.
inline Bytes zipped(const std::vector<ZipFile>& files, bool wide = false, const std::string& comment = "") {
  Bytes all, directory;
  const auto narrow = [&](std::uint64_t value) { return wide ? 0xFFFFFFFF : value; };
  for (const ZipFile& file : files) {
    const Bytes packed = file.method == 8 ? deflated(file.bytes) : file.bytes;
    const std::uint64_t crc = crc32(0, file.bytes.data(), static_cast<uInt>(file.bytes.size()));
    const std::uint64_t at = all.size(), size = file.bytes.size(), name = file.name.size();
    const Bytes text(file.name.begin(), file.name.end());
    // Like Python's writer, leaves room for sizes of 64 bits before the bytes.
    append(all, {{0x04034b50, 4}, {45, 2}, {file.flags, 2}, {file.method, 2}, {0, 4}, {crc, 4}});
    append(all, {{narrow(packed.size()), 4}, {narrow(size), 4}, {name, 2}, {20, 2}});
    all = joined(std::move(all), text);
    append(all, {{1, 2}, {16, 2}, {size, 8}, {packed.size(), 8}});
    all = joined(std::move(all), packed);

    append(directory, {{0x02014b50, 4}, {45, 2}, {45, 2}, {file.flags, 2}, {file.method, 2}, {0, 4}});
    append(directory, {{crc, 4}, {narrow(packed.size()), 4}, {narrow(size), 4}, {name, 2}});
    append(directory, {{wide ? 40 : 12, 2}, {3, 2}, {0, 2}, {0, 2}, {0, 4}, {narrow(at), 4}});
    directory = joined(std::move(directory), text);
    append(directory, {{0x7777, 2}, {8, 2}, {9, 8}});  // an unknown extra field
    if (wide) append(directory, {{1, 2}, {24, 2}, {size, 8}, {packed.size(), 8}, {at, 8}});
    directory = joined(std::move(directory), {'h', 'i', '!'});
  }
  const std::uint64_t at = all.size(), size = directory.size(), count = files.size();
  all = joined(std::move(all), directory);
  if (wide) {
    const std::uint64_t end = all.size();
    append(all, {{0x06064b50, 4}, {44, 8}, {45, 2}, {45, 2}, {0, 4}, {0, 4}});
    append(all, {{count, 8}, {count, 8}, {size, 8}, {at, 8}});
    append(all, {{0x07064b50, 4}, {0, 4}, {end, 8}, {1, 4}});
  }
  append(all, {{0x06054b50, 4}, {0, 2}, {0, 2}, {wide ? 0xFFFF : count, 2}, {wide ? 0xFFFF : count, 2}});
  append(all, {{narrow(size), 4}, {narrow(at), 4}, {comment.size(), 2}});
  return joined(std::move(all), Bytes(comment.begin(), comment.end()));
}

}  // namespace steelyard
