#include "worker/compute/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/error.h"

namespace steelyard {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Damage {
  std::string why;
};

// What follows `'key':` in the header, without blanks before it.
std::string_view behind(std::string_view header, const std::string& key) {
  const auto at = header.find("'" + key + "':");
  if (at == std::string_view::npos) throw Damage{"its header has no '" + key + "'"};
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

std::vector<std::uint64_t> shape_in(std::string_view text) {
  const auto end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) throw Damage{"its shape is no tuple"};
  std::vector<std::uint64_t> shape;
  for (const char* at = text.data() + 1; at < text.data() + end;) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    const auto [rest, error] = std::from_chars(at, text.data() + end, shape.emplace_back());
    if (error != std::errc()) throw Damage{"its shape is no tuple of whole numbers"};
    at = rest;
  }
  return shape;
}

std::uint64_t product(const std::vector<std::uint64_t>& shape) {
  std::uint64_t all = 1;
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && all > std::numeric_limits<std::uint64_t>::max() / extent / sizeof(float)) {
      throw Damage{"its shape is too large"};
    }
    all *= extent;
  }
  return all;
}

NpyArray parse(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(magic)) throw Damage{"it does not begin with \\x93NUMPY"};
  const std::size_t version = text.size() > magic.size() ? static_cast<std::uint8_t>(text[magic.size()]) : 0;
  if (version < 1 || version > 3) throw Damage{"it is of a version that is not known"};
  const std::size_t lengths = magic.size() + 2, header_at = lengths + (version == 1 ? 2 : 4);
  if (text.size() < header_at) throw Damage{"it ends within the length of the header"};
  std::uint32_t length = 0;
  std::memcpy(&length, text.data() + lengths, header_at - lengths);
  if (length > text.size() - header_at) throw Damage{"it ends within the header"};
  const std::string_view header = text.substr(header_at, length), values = text.substr(header_at + length);

  NpyArray array;
  array.shape = shape_in(behind(header, "shape"));
  const std::string_view type = behind(header, "descr");
  array.bytes = type.starts_with("'|u1'");
  if (!array.bytes && !type.starts_with("'<f4'")) {
    throw Damage{"its values are neither 32-bit floats nor unsigned bytes: save array.astype('float32')"};
  }
  if (!behind(header, "fortran_order").starts_with("False")) {
    throw Damage{"its values are column by column: save numpy.ascontiguousarray(array)"};
  }
  const std::uint64_t count = product(array.shape), wanted = count * (array.bytes ? 1 : sizeof(float));
  if (values.size() != wanted) {
    throw Damage{"it has " + std::to_string(values.size()) + " bytes of values, its shape takes " +
                 std::to_string(wanted)};
  }
  if (array.bytes) {
    for (const char value : values) array.values.push_back(static_cast<std::uint8_t>(value));
  } else {
    array.values.resize(count);
    if (count > 0) std::memcpy(array.values.data(), values.data(), values.size());
  }
  return array;
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> file, const std::string& path) {
  try {
    return parse(file);
  } catch (const Damage& damage) {
    throw Failure(ExitCode::io, path + ": not a good npy file: " + damage.why);
  }
}

}  // namespace steelyard
