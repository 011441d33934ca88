// ZipArchive: reads ZIP archives with stored or deflated entries, such as .npz files, with libzip.
//
// Sizes are checked against the file before memory is allocated: a stored entry lies in the archive, and a
// deflated one cannot exceed deflate's best ratio. libzip checks the directory against the size of the file,
// and each entry against its size and CRC-32. For entries that are damaged, encrypted or packed in another
// way, functions throw Failure (io), which names file and entry.
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

  // The entry names()[index]. A stored entry is a part of the archive's bytes, so it stays mapped; a deflated
  // one is unpacked into memory. FileBytes::file is "archive:entry".
  [[nodiscard]] FileBytes unpacked(std::size_t index) const;

 private:
  FileBytes bytes_;
  std::shared_ptr<zip> zip_;
  zip_source* source_ = nullptr;  // of bytes_; zip_ owns it
  std::vector<std::string> names_;
};

}  // namespace steelyard
