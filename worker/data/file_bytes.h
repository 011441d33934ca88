// FileBytes: all bytes of a file. A plain file is mapped, so it may be larger than memory; a gzipped one
// (whatever its name) is unpacked into memory.
//
// Copies share the bytes. Truncating a mapped file kills the process (SIGBUS): do not modify data sets during
// training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace steelyard {

// Throw Failure (io) about a file, or about one of its bytes.
inline constexpr const char* get_again = "get the file again, or correct its path";
[[noreturn]] void refuse_file(const std::filesystem::path& file, const std::string& trouble);
[[noreturn]] void refuse_byte(const std::filesystem::path& file, std::uint64_t offset,
                              const std::string& trouble, const std::string& remedy = get_again);

// Begins to load bytes into the caches of this core. The processor cannot foresee where the next sample of a
// shuffled set is.
inline void load_soon(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t line = 64;
  for (std::size_t at = 0; at < bytes.size(); at += line) __builtin_prefetch(bytes.data() + at);
}
// The number of samples to load in advance; more would not fit into the caches.
inline constexpr std::size_t loaded_soon = 32;

struct FileBytes {
  std::filesystem::path file{};
  std::span<const std::uint8_t> bytes{};
  std::shared_ptr<const void> owner{};  // keeps the bytes

  [[nodiscard]] std::uint64_t size() const { return bytes.size(); }
};

// Throws Failure (io) if it is not a file, cannot be read, or is a damaged gzip stream.
FileBytes open_bytes(const std::filesystem::path& file);

// Maps plain files only; returns no bytes for a gzipped one.
FileBytes map_bytes(const std::filesystem::path& file);

}  // namespace steelyard
