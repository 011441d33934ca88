// ByteSource: the bytes of a file from its beginning to its end, unpacked if its content is gzip (RFC 1952),
// whatever its name says. Several gzip members in a row are one stream; anything else behind one is damage.
//
// Memory is a few fixed blocks, whatever the file claims about itself. Not for two threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace steelyard {

// A deflate block needs at least one bit for a length code and one for a distance code, which stand for 258
// bytes at the most: 1032 bytes from one.
constexpr std::uint64_t best_ratio = 1032;

class ByteSource {
 public:
  explicit ByteSource(const std::filesystem::path& file);  // throws Failure (io)
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Fills `into`, or as much of it as there is; returns how much. Throws Failure (io) if the gzip stream is
  // damaged or breaks off.
  std::size_t read(std::span<std::uint8_t> into);
  // Reads on until `values` has so many bytes, or all that there are. Memory grows with what comes, whatever
  // a file says of itself.
  void read_up_to(std::uint64_t count, std::vector<std::uint8_t>& values);

  [[nodiscard]] bool is_packed() const;
  [[nodiscard]] std::uint64_t offset() const;  // unpacked bytes read so far
  // There cannot be more unpacked bytes than this: the size of the file, or what gzip at its best makes of
  // it. A size in the file that is larger is wrong, and need not be allocated.
  [[nodiscard]] std::uint64_t most() const;
  [[nodiscard]] const std::filesystem::path& file() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace steelyard
