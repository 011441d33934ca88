// ZipArchive: reads ZIP archives with libzip, with stored or deflated entries. (.npz is one.)
//
// Sizes are checked against the file before memory is allocated: a stored entry lies in the archive, and a
// deflated one cannot exceed deflate's best ratio. libzip checks the directory against the size of the file,
// and each entry against its size and CRC-32. Damaged, encrypted or otherwise packed entries are a Failure
// (io) that names file and entry.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/data/file_bytes.h"

struct zip;
struct zip_source;

namespace steelyard {

// Not thread-safe.
class ZipArchive {
 public:
  explicit ZipArchive(FileBytes bytes);

  // Names of the entries, in the order of the directory.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // The entry names()[index]: part of the archive's own bytes if it is stored, so that it stays mapped;
  // otherwise unpacked into memory. Its file is "archive:entry".
  [[nodiscard]] FileBytes unpacked(std::size_t index) const;

 private:
  FileBytes bytes_;
  std::shared_ptr<zip> zip_;
  zip_source* source_ = nullptr;  // of bytes_; zip_ owns it
  std::vector<std::string> names_;
};

}  // namespace steelyard
