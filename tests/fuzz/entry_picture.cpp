#include <cstring>
#include <string>

#include "core/check.h"
#include "core/error.h"
#include "tests/fuzz/entry.h"
#include "tests/support/made_pictures.h"
#include "worker/data/pictures/picture.h"

namespace steelyard::fuzz {

bool read_picture_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return false;
  const auto choice = std::to_integer<std::uint32_t>(bytes[0]);
  const PictureFormat format{1 + choice / 2 % 8, 1 + choice / 16, choice % 2 == 0 ? 1U : 3U};
  const std::span file(reinterpret_cast<const std::uint8_t*>(bytes.data()) + 1, bytes.size() - 1);
  std::vector<std::uint8_t> once(format.bytes(), 1), twice(format.bytes(), 2);
  try {
    decode_picture("picture", file, format, once.data());
    decode_picture("picture", file, format, twice.data());
  } catch (const Failure&) {
    return false;
  }
  CHECK(once == twice, "a picture is decoded in two ways");
  return true;
}

std::vector<std::vector<std::byte>> picture_inputs() {
  const test::Pixels pixels = test::patterned(19, 23, 1);
  std::vector<std::vector<std::byte>> inputs;
  const auto add = [&](std::uint8_t choice, const std::vector<std::uint8_t>& file) {
    std::vector<std::byte>& input = inputs.emplace_back(1 + file.size());
    input[0] = std::byte{choice};
    std::memcpy(input.data() + 1, file.data(), file.size());
  };
  add(7, test::png_of(pixels));
  add(20, test::png_of(pixels, {.interlaced = true, .orientation = 6}));
  add(255, test::jpeg_of(pixels));
  add(33, test::jpeg_of(pixels, {.progressive = true, .orientation = 5}));
  add(4, test::jpeg_of(test::flat(9, 12, {1, 80, 160, 200})));
  return inputs;
}

}  // namespace steelyard::fuzz
