#include "worker/data/zip.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "core/check.h"
#include "core/error.h"
#include "worker/data/byte_source.h"

namespace steelyard {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in the file");

using Part = std::span<const std::uint8_t>;

constexpr std::uint64_t local_size = 30, listed_size = 46, end_size = 22, locator_size = 20,
                        wide_end_size = 56;
constexpr std::uint32_t local_mark = 0x04034b50, listed_mark = 0x02014b50, end_mark = 0x06054b50,
                        locator_mark = 0x07064b50, wide_end_mark = 0x06064b50;
constexpr std::uint32_t in_64_bits = 0xFFFFFFFF;  // stands for a number that is among the extra fields
constexpr std::uint16_t wide_field = 1, encrypted = 1;
constexpr std::uint16_t stored = 0, deflated = 8;
constexpr std::size_t longest_comment = 0xFFFF;

[[noreturn]] void refuse(const FileBytes& archive, const std::string& what,
                         const std::string& remedy = "get the file again, or correct its path") {
  throw Failure(ExitCode::io, archive.file.string() + ": " + what + ": " + remedy);
}

template <class T>
T number(Part in, std::size_t at) {
  T value;
  std::memcpy(&value, in.data() + at, sizeof value);
  return value;
}

bool fits(const FileBytes& archive, std::uint64_t at, std::uint64_t size) {
  return at <= archive.size() && size <= archive.size() - at;
}

Part part(const FileBytes& archive, std::uint64_t at, std::uint64_t size) {
  if (!fits(archive, at, size))
    refuse(archive, "expected " + std::to_string(size) + " bytes from byte " + std::to_string(at) +
                        " on, found the end of the file");
  return archive.bytes.subspan(at, size);
}

Part record(const FileBytes& archive, std::uint64_t at, std::uint64_t size, std::uint32_t mark) {
  const Part found = part(archive, at, size);
  if (number<std::uint32_t>(found, 0) != mark)
    refuse(archive, "expected a header of the zip archive at byte " + std::to_string(at));
  return found;
}

std::string_view text(Part bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

struct Directory {
  std::uint64_t at = 0, size = 0, entries = 0;
};

Directory directory_of(const FileBytes& archive) {
  for (std::size_t comment = 0; comment <= longest_comment && fits(archive, 0, end_size + comment);
       ++comment) {
    const std::uint64_t at = archive.size() - end_size - comment;
    const Part end = archive.bytes.subspan(at, end_size);
    if (number<std::uint32_t>(end, 0) != end_mark || number<std::uint16_t>(end, 20) != comment) continue;
    const Part before = archive.bytes.first(at).last(std::min(at, locator_size));
    if (before.size() == locator_size && number<std::uint32_t>(before, 0) == locator_mark) {
      const Part wide = record(archive, number<std::uint64_t>(before, 8), wide_end_size, wide_end_mark);
      return {.at = number<std::uint64_t>(wide, 48),
              .size = number<std::uint64_t>(wide, 40),
              .entries = number<std::uint64_t>(wide, 32)};
    }
    return {.at = number<std::uint32_t>(end, 16),
            .size = number<std::uint32_t>(end, 12),
            .entries = number<std::uint16_t>(end, 10)};
  }
  refuse(archive, "no directory of a zip archive lies at its end, so it is none, or breaks off");
}

// Takes the numbers that need 64 bits from the extra fields: each is an id, a size and so many bytes.
void widen(ZipEntry& entry, Part extra) {
  while (extra.size() >= 4) {
    const auto id = number<std::uint16_t>(extra, 0);
    Part field = extra.subspan(4, std::min<std::size_t>(number<std::uint16_t>(extra, 2), extra.size() - 4));
    extra = extra.subspan(4 + field.size());
    for (std::uint64_t* value : {&entry.size, &entry.packed, &entry.header}) {
      if (id != wide_field || *value != in_64_bits || field.size() < 8) continue;
      *value = number<std::uint64_t>(field, 0);
      field = field.subspan(8);
    }
  }
}

// Whether exactly these bytes unpack to exactly as many as there is room for.
bool inflate_into(std::span<std::uint8_t> into, Part packed) {
  constexpr std::size_t step = 1 << 30;  // zlib counts in 32 bits
  z_stream zip{};
  CHECK(inflateInit2(&zip, -MAX_WBITS) == Z_OK, "zlib does not start");
  int result = Z_OK;
  while (result == Z_OK) {
    zip.next_in = const_cast<Bytef*>(packed.data()) + zip.total_in;
    zip.avail_in = static_cast<uInt>(std::min(packed.size() - zip.total_in, step));
    zip.next_out = into.data() + zip.total_out;
    zip.avail_out = static_cast<uInt>(std::min(into.size() - zip.total_out, step));
    result = inflate(&zip, Z_NO_FLUSH);
  }
  inflateEnd(&zip);
  return result == Z_STREAM_END && zip.total_in == packed.size() && zip.total_out == into.size();
}

}  // namespace

std::vector<ZipEntry> zip_entries(const FileBytes& archive) {
  const Directory directory = directory_of(archive);
  std::vector<ZipEntry> entries;
  std::uint64_t at = directory.at;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const Part fixed = record(archive, at, listed_size, listed_mark);
    const std::uint64_t name = number<std::uint16_t>(fixed, 28), extra = number<std::uint16_t>(fixed, 30),
                        comment = number<std::uint16_t>(fixed, 32);
    const Part rest = part(archive, at + listed_size, name + extra + comment);
    ZipEntry entry{.name = std::string(text(rest.first(name))),
                   .header = number<std::uint32_t>(fixed, 42),
                   .packed = number<std::uint32_t>(fixed, 20),
                   .size = number<std::uint32_t>(fixed, 24),
                   .crc = number<std::uint32_t>(fixed, 16),
                   .method = number<std::uint16_t>(fixed, 10),
                   .flags = number<std::uint16_t>(fixed, 8)};
    widen(entry, rest.subspan(name, extra));
    entries.push_back(std::move(entry));
    at += listed_size + rest.size();
  }
  if (at != directory.at + directory.size)
    refuse(archive, "expected the end of its directory at byte " + std::to_string(at));
  return entries;
}

FileBytes unpacked(const FileBytes& archive, const ZipEntry& entry) {
  const auto wrong = [&](const std::string& what, const std::string& remedy = "get the file again") {
    refuse(archive, "its entry '" + entry.name + "' " + what, remedy);
  };
  const std::string again = "make the archive again, with numpy.savez or numpy.savez_compressed";
  if ((entry.flags & encrypted) != 0) wrong("is encrypted", again);
  if (entry.method != stored && entry.method != deflated)
    wrong("is packed by method " + std::to_string(entry.method), again);
  const Part local = record(archive, entry.header, local_size, local_mark);
  const std::uint64_t name = number<std::uint16_t>(local, 26), extra = number<std::uint16_t>(local, 28),
                      after = entry.header + local_size;
  if (text(part(archive, after, name)) != entry.name) wrong("has another name where it lies");
  const Part bytes = part(archive, after + name + extra, entry.packed);

  FileBytes result{archive.file.string() + ":" + entry.name, bytes, archive.owner};
  if (entry.method == deflated) {
    if (entry.size / best_ratio > entry.packed)
      wrong("cannot have " + std::to_string(entry.size) + " bytes, packed in " +
            std::to_string(entry.packed));
    const auto values = std::make_shared_for_overwrite<std::uint8_t[]>(entry.size);
    const std::span<std::uint8_t> into(values.get(), entry.size);
    if (!inflate_into(into, bytes)) wrong("is damaged, or has not the size that the directory says");
    result.bytes = into;
    result.owner = values;
  }
  if (result.size() != entry.size) wrong("has not the size that the directory says");
  if (crc32_z(0, result.bytes.data(), result.size()) != entry.crc) wrong("is damaged: its CRC-32 is another");
  return result;
}

}  // namespace steelyard
