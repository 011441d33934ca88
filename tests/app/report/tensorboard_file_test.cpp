#include "app/report/tensorboard_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::tensorboard_file_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The records of a file, after checking their lengths and checksums.
std::vector<std::string> records(std::string_view bytes) {
  std::vector<std::string> found;
  const auto take = [&](std::size_t count) {
    const std::string_view part = bytes.substr(0, count);
    EXPECT_EQ(part.size(), count);
    bytes.remove_prefix(part.size());
    return part;
  };
  const auto expect_checksum_of = [&](std::string_view part) {
    std::uint32_t stored = 0;
    std::memcpy(&stored, take(4).data(), 4);
    const std::uint32_t crc = crc32c(part);
    EXPECT_EQ(stored, ((crc >> 15) | (crc << 17)) + 0xa282ead8U);
  };
  while (!bytes.empty()) {
    const std::string_view length = take(8);
    expect_checksum_of(length);
    std::uint64_t size = 0;
    std::memcpy(&size, length.data(), 8);
    found.emplace_back(take(size));
    expect_checksum_of(found.back());
  }
  return found;
}

// RFC 3720, B.4.
TEST(TensorboardFile, ChecksumsAreCrc32c) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
}

TEST(TensorboardFile, StoresScalarsByRound) {
  const TemporaryFolder folder;
  {
    TensorboardFile file(folder.path("tensorboard"), 1e9);
    file.add(300, 1.5 - 1e9, {{"loss", 0.25}, {"nothing", std::numeric_limits<double>::quiet_NaN()}});
  }
  const auto found = records(folder.text("tensorboard/events.out.tfevents.1000000000.steelyard"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0], HasSubstr("brain.Event:2"));
  // wall_time 1.5, step 300, a summary of one value: "loss", 0.25f.
  EXPECT_EQ(found[1], std::string("\x09\0\0\0\0\0\0\xf8\x3f"
                                  "\x10\xac\x02"
                                  "\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3e",
                                  9 + 3 + 15));
}

TEST(TensorboardFile, AnUnwritablePathIsNamed) {
  const TemporaryFolder folder;
  const std::string blocked = folder.write("file", "").string() + "/tensorboard";
  EXPECT_THAT([&] { TensorboardFile(blocked, 0); }, testing::ThrowsMessage<Failure>(HasSubstr(blocked)));
}

}  // namespace
}  // namespace steelyard::tensorboard_file_test
