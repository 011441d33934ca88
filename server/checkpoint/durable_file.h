// Durable files, which are on the disk when finish() returns, and their hashes. Checkpoints consist of them.
//
// If the disk is full, or a write or fsync fails, functions throw Failure (io). After a failed fsync the
// contents of the disk are unknown, and a second fsync may succeed wrongly: the caller must discard the file
// and not retry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "protocol/state_messages.h"

namespace steelyard {

// Expected size and hash of a file.
struct FileSeal {
  std::uint64_t size = 0;  // bytes
  std::string xxh3_128;    // 32 hexadecimal digits
  friend bool operator==(const FileSeal&, const FileSeal&) = default;
};
FileSeal seal(std::span<const std::byte> bytes);

// A new file, of which one thread writes each byte once. The caller removes unfinished files.
class DurableFile {
 public:
  // Reserves `bytes` at once, so that a full disk is detected before the first write.
  DurableFile(std::string path, std::uint64_t bytes);

  void write(std::span<const std::byte> bytes) { write_at(size_, bytes); }  // appends
  // Writes may come in any order, but before finish() must cover the file without overlap or hole.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // Syncs the file, reads it back, compares it with the data written, and closes it. Takes a megabyte of
  // memory, whatever the size of the file.
  FileSeal finish();

 private:
  struct Piece {
    std::uint64_t offset = 0, size = 0, hash = 0;
  };
  FileSeal read_back();

  std::string path_;
  std::vector<Piece> pieces_;  // in order of writing
  std::uint64_t size_ = 0;     // of the file
  Descriptor file_;
};

// Syncs a directory, so that files created, renamed and removed in it are durable.
void sync_directory(const std::string& path);

// A file for reading. Throws Failure (io) if its size or hash is not the expected one; takes a megabyte of
// memory.
std::shared_ptr<StateFile> open_sealed(const std::string& path, const FileSeal& wanted);

// Reads a whole file of at most `most` bytes.
std::vector<std::byte> read_bytes(const std::string& path, std::uint64_t most);

}  // namespace steelyard
