// A file for the state of a worker in memory, and bytes to fill it with.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "protocol/state_messages.h"

namespace steelyard::test {

class MemoryFile final : public StateFile {
 public:
  explicit MemoryFile(std::vector<std::byte> bytes = {}) : contents(std::move(bytes)) {}

  [[nodiscard]] std::string path() const override { return "in memory"; }
  [[nodiscard]] std::uint64_t size() const override { return contents.size(); }
  [[nodiscard]] Blob read(std::uint64_t begin, std::uint64_t bytes) const override {
    if (begin + bytes > contents.size()) throw Failure(ExitCode::io, "the file ends before");
    const auto from = contents.begin() + static_cast<std::ptrdiff_t>(begin);
    auto owned = std::make_shared<std::vector<std::byte>>(from, from + static_cast<std::ptrdiff_t>(bytes));
    const std::span<const std::byte> view(*owned);
    return {std::move(owned), view};
  }
  void write(std::uint64_t begin, const Blob& blob) override {
    contents.resize(std::max<std::size_t>(contents.size(), begin + blob.size()));
    std::ranges::copy(blob.bytes(), contents.begin() + static_cast<std::ptrdiff_t>(begin));
  }

  std::vector<std::byte> contents;
};

inline std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

// Part `part` of a state of these bytes.
inline Blob state_part(const std::vector<std::byte>& state, std::size_t part) {
  const std::size_t begin = part * state_part_bytes;
  return MemoryFile(state).read(begin, std::min(state_part_bytes, state.size() - begin));
}

}  // namespace steelyard::test
