// Files that are on the disk when a call returns, and their hashes: what checkpoints are made of.
//
// A full disk, a failed write and a failed fsync are Failure (io). After a failed fsync nobody knows
// what the disk holds, and a second fsync may say that all is well: the caller discards the whole
// attempt and never repeats one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace steelyard {

// What a file must be to be believed.
struct FileSeal {
  std::uint64_t size = 0;  // bytes
  std::string xxh3_128;    // 32 hexadecimal digits
  friend bool operator==(const FileSeal&, const FileSeal&) = default;
};
FileSeal seal(std::span<const std::byte> bytes);

// A new file, each byte written once, by one thread. One that was not finished is the caller's to remove.
class DurableFile {
 public:
  // Reserves room for `bytes` at once, so that a full disk is found before anything is written.
  DurableFile(std::string path, std::uint64_t bytes);

  void write(std::span<const std::byte> bytes) { write_at(size_, bytes); }  // behind all that was written
  // Pieces may come in any order; those of a finished file leave no hole and do not overlap.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // On the disk, read back, compared with what was written, and closed. Takes a megabyte of memory, however
  // long the file is.
  FileSeal finish();

 private:
  struct Piece {
    std::uint64_t offset = 0, size = 0, hash = 0;
  };
  FileSeal read_back();

  std::string path_;
  std::vector<Piece> pieces_;  // as they were written
  std::uint64_t size_ = 0;     // of the file so far
  Descriptor file_;
};

// Makes the names in a directory durable: those of files made, renamed and removed.
void sync_directory(const std::string& path);

// All of a file of at most `most` bytes.
std::vector<std::byte> read_bytes(const std::string& path, std::uint64_t most);

}  // namespace steelyard
