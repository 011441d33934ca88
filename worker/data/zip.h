// ZIP archives, read by libzip, as far as data needs it: files in one, stored or deflated. (.npz is one.)
//
// Sizes are held against the file before memory is allocated: a stored entry lies in the archive, and a
// deflated one is never larger than deflate could have made it. libzip compares the directory with the size
// of the file, and each entry with its size and CRC-32. What is damaged, encrypted or packed by another
// method is a Failure (io) that names file and entry.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/data/file_bytes.h"

struct zip;
struct zip_source;

namespace steelyard {

// Not for two threads.
class ZipArchive {
 public:
  explicit ZipArchive(FileBytes bytes);

  // Of its entries, in the order of the directory.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // The entry names()[index]: a part of the archive's own bytes if it is stored, so that it stays mapped;
  // otherwise unpacked into memory. Its file is "archive:entry".
  [[nodiscard]] FileBytes unpacked(std::size_t index) const;

 private:
  FileBytes bytes_;
  std::shared_ptr<zip> zip_;
  zip_source* source_ = nullptr;  // of bytes_; zip_ owns it
  std::vector<std::string> names_;
};

}  // namespace steelyard
