// Reads and writes at a place of a file, complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace steelyard {

// Both return 0, or the errno of the failure: EIO if the file ends before, ENOSPC if nothing more can be
// written.
[[nodiscard]] int read_at(int file, std::uint64_t offset, std::span<std::byte> into);
[[nodiscard]] int write_at(int file, std::uint64_t offset, std::span<const std::byte> bytes);

}  // namespace steelyard
