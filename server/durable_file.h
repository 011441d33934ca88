// Files that are on the disk when a call returns, and their hashes: what checkpoints are made of.
//
// A full disk, a failed write and a failed fsync are Failure (io). After a failed fsync nobody knows
// what the disk holds, and a second fsync may say that all is well: the caller discards the whole
// attempt and never repeats one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct XXH3_state_s;

namespace steelyard {

// What a file must be to be believed.
struct FileSeal {
  std::uint64_t size = 0;  // bytes
  std::string xxh3_128;    // 32 hexadecimal digits
  friend bool operator==(const FileSeal&, const FileSeal&) = default;
};
FileSeal seal(std::span<const std::byte> bytes);

// A new file, written once from front to back by one thread.
class DurableFile {
 public:
  // Reserves room for `bytes` at once, so that a full disk is found before anything is written.
  DurableFile(std::string path, std::uint64_t bytes);
  ~DurableFile();  // closes; a file that was not finished is the caller's to remove
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(std::span<const std::byte> bytes);
  FileSeal finish();  // on the disk, and closed

 private:
  struct FreeHash {
    void operator()(XXH3_state_s* state) const;
  };

  std::string path_;
  std::unique_ptr<XXH3_state_s, FreeHash> hash_;
  std::uint64_t size_ = 0;
  int file_ = -1;
};

// Makes the names in a directory durable: those of files made, renamed and removed.
void sync_directory(const std::string& path);

// All of a file of at most `most` bytes.
std::vector<std::byte> read_bytes(const std::string& path, std::uint64_t most);

}  // namespace steelyard
