// ByteSource: reads a file from beginning to end, and unpacks it if its content is gzip (RFC 1952), whatever
// its name. Several gzip members in a row are one stream; any other bytes after a member count as damage.
//
// Uses a few fixed blocks of memory, whatever sizes the file claims. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace steelyard {

// Maximum ratio of deflate: a length code and a distance code take at least one bit each and produce at most
// 258 bytes, so one byte produces at most 1032.
constexpr std::uint64_t best_ratio = 1032;

class ByteSource {
 public:
  explicit ByteSource(const std::filesystem::path& file);  // throws Failure (io)
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Fills `into`, or as much of it as the file provides; returns the number of bytes. Throws Failure (io) if
  // the gzip stream is damaged or truncated.
  std::size_t read(std::span<std::uint8_t> into);
  // Reads until `values` has `count` bytes, or the file ends. Memory grows with the bytes read, whatever size
  // the file claims.
  void read_up_to(std::uint64_t count, std::vector<std::uint8_t>& values);

  [[nodiscard]] bool is_packed() const;
  [[nodiscard]] std::uint64_t offset() const;  // unpacked bytes read so far
  // Upper limit of the unpacked bytes: the size of the file, or for gzip, times best_ratio. If a file claims
  // a larger size, the claim is wrong.
  [[nodiscard]] std::uint64_t most() const;
  [[nodiscard]] const std::filesystem::path& file() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace steelyard
