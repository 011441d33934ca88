#include "core/file_io.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace steelyard {
namespace {

constexpr std::size_t at_once = std::size_t{1} << 30;  // a call moves at most 2 GB

// Signals and nearly full disks cause short reads and writes.
template <class Bytes, class Move>
int in_pieces(std::uint64_t offset, Bytes bytes, int at_end, Move move) {
  while (!bytes.empty()) {
    const ssize_t moved = move(bytes.data(), std::min(bytes.size(), at_once), static_cast<off_t>(offset));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return moved < 0 ? errno : at_end;
    bytes = bytes.subspan(static_cast<std::size_t>(moved));
    offset += static_cast<std::uint64_t>(moved);
  }
  return 0;
}

}  // namespace

int read_at(int file, std::uint64_t offset, std::span<std::byte> into) {
  return in_pieces(offset, into, EIO,
                   [&](std::byte* to, std::size_t size, off_t at) { return ::pread(file, to, size, at); });
}

int write_at(int file, std::uint64_t offset, std::span<const std::byte> bytes) {
  return in_pieces(offset, bytes, ENOSPC, [&](const std::byte* from, std::size_t size, off_t at) {
    return ::pwrite(file, from, size, at);
  });
}

}  // namespace steelyard
