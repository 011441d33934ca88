// FileBytes: all bytes of a file. A plain file is mapped where it lies, so that it may be larger than memory;
// a gzipped one (whatever its name says) is unpacked into memory.
//
// Copies share the bytes. A file that is cut short while it is mapped ends the process (SIGBUS): data sets
// are to be left alone while they are trained on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace steelyard {

// Throw Failure (io): of a file, or of what is at one of its bytes.
inline constexpr const char* get_again = "get the file again, or correct its path";
[[noreturn]] void refuse_file(const std::filesystem::path& file, const std::string& trouble);
[[noreturn]] void refuse_byte(const std::filesystem::path& file, std::uint64_t offset,
                              const std::string& trouble, const std::string& remedy = get_again);

struct FileBytes {
  std::filesystem::path file{};
  std::span<const std::uint8_t> bytes{};
  std::shared_ptr<const void> owner{};  // keeps the bytes

  [[nodiscard]] std::uint64_t size() const { return bytes.size(); }
};

// Throws Failure (io) for what is no file, cannot be read, or is a damaged gzip stream.
FileBytes open_bytes(const std::filesystem::path& file);

// Only of a plain file; nothing of a gzipped one.
FileBytes map_bytes(const std::filesystem::path& file);

}  // namespace steelyard
