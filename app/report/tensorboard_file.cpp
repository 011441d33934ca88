#include "app/report/tensorboard_file.h"

#include <array>
#include <bit>
#include <cmath>
#include <filesystem>

#include "core/error.h"

namespace steelyard {
namespace {

std::string file_in(const std::string& directory, double started) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  return directory + "/events.out.tfevents." + std::to_string(static_cast<std::uint64_t>(started)) +
         ".steelyard";
}

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    table[byte] = crc;
  }
  return table;
}

template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
  return bytes;
}

std::string checksum(std::string_view bytes) {
  return little_endian<std::uint32_t>(std::rotr(crc32c(bytes), 15) + 0xa282ead8U);
}

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes += static_cast<char>(number);
}

// Fields of a protocol buffer: number, then how it is written.
enum class Wire : unsigned { varint = 0, eight_bytes = 1, counted = 2, four_bytes = 5 };
std::string key(unsigned field, Wire wire) { return varint(field << 3 | static_cast<unsigned>(wire)); }
std::string counted(unsigned field, const std::string& bytes) {
  return key(field, Wire::counted) + varint(bytes.size()) + bytes;
}
std::string real(unsigned field, double number) {
  return key(field, Wire::eight_bytes) + little_endian(std::bit_cast<std::uint64_t>(number));
}
std::string real(unsigned field, float number) {
  return key(field, Wire::four_bytes) + little_endian(std::bit_cast<std::uint32_t>(number));
}

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5. Summary: value = 1. Value: tag = 1,
// simple_value = 2.
std::string event(double at, std::uint64_t step, const std::string& what) {
  return real(1, at) + key(2, Wire::varint) + varint(step) + what;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = crc_table();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff];
  return ~crc;
}

TensorboardFile::TensorboardFile(const std::string& directory, double started)
    : started_(started), file_(file_in(directory, started), std::ios::binary | std::ios::app) {
  if (!file_) {
    throw Failure(ExitCode::io, directory +
                                    ": no file can be written there for TensorBoard: give --run-dir a "
                                    "place where you may write");
  }
  record(event(started, 0, counted(3, "brain.Event:2")));
}

void TensorboardFile::add(std::uint64_t step, double at, const Scalars& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    if (std::isfinite(value)) summary += counted(1, counted(1, tag) + real(2, static_cast<float>(value)));
  }
  record(event(started_ + at, step, counted(5, summary)));
}

void TensorboardFile::record(const std::string& event) {
  const std::string length = little_endian<std::uint64_t>(event.size());
  file_ << length << checksum(length) << event << checksum(event) << std::flush;
}

}  // namespace steelyard
