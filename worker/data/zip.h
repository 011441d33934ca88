// ZIP (PKWARE's APPNOTE), as far as data needs it: files in one, stored or deflated, and a directory of them.
//
//   for each entry   local header, name, extra fields, bytes
//   directory        for each entry: method, CRC-32, sizes, place of its local header, name, extra fields
//   end              number of entries, size and place of the directory, and a comment; before it the same in
//                    64 bits (Zip64), for archives that need them
//
// Sizes are taken from the directory, and each is held against the file before anything is read or allocated.
// An entry is never more than deflate could have made of it, its CRC-32 is checked, and its name stands at
// both places. What is wrong, encrypted or packed by another method is a Failure (io) that names file and
// entry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/data/file_bytes.h"

namespace steelyard {

struct ZipEntry {
  std::string name{};
  std::uint64_t header = 0;            // where its local header lies
  std::uint64_t packed = 0, size = 0;  // bytes in the archive, and unpacked
  std::uint32_t crc = 0;
  std::uint16_t method = 0, flags = 0;
};

// In the order of the directory.
std::vector<ZipEntry> zip_entries(const FileBytes& archive);

// One of them: a part of the archive's own bytes if it is stored, so that it stays mapped; otherwise unpacked
// into memory. Its file is "archive:entry".
FileBytes unpacked(const FileBytes& archive, const ZipEntry& entry);

}  // namespace steelyard
