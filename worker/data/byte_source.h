// ByteSource: reads a file from beginning to end, and unpacks it if its content is gzip (RFC 1952), whatever
// its name. Several gzip members in a row are one stream; anything else after one is damage.
//
// Uses a few fixed blocks of memory, whatever sizes the file claims. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace steelyard {

// A deflate block needs at least one bit for a length code and one for a distance code, which produce at most
// 258 bytes: 1032 bytes from one.
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
  // Upper limit of the unpacked bytes: the size of the file, or that times gzip's best ratio. Larger sizes
  // claimed by a file are wrong, and need not be allocated.
  [[nodiscard]] std::uint64_t most() const;
  [[nodiscard]] const std::filesystem::path& file() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace steelyard
