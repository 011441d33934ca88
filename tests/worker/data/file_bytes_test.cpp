#include "worker/data/file_bytes.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"

namespace steelyard::file_bytes_test {
namespace {

using ::testing::HasSubstr;

TEST(FileBytes, ArePlainOrUnpacked) {
  const TemporaryFolder folder;
  Bytes bytes(2'500'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * i >> 3);
  for (const auto& file : {folder.write("plain", bytes), folder.write("packed", gzipped(bytes))}) {
    FileBytes copy;
    {
      const FileBytes opened = open_bytes(file);
      copy = opened;
    }
    EXPECT_TRUE(std::ranges::equal(copy.bytes, bytes)) << "a copy keeps them";
  }
  EXPECT_EQ(open_bytes(folder.write("empty", Bytes())).size(), 0U);
}

TEST(FileBytes, RefusePathsThatAreNotFiles) {
  const TemporaryFolder folder;
  EXPECT_THAT(complaint_of([&] { open_bytes(folder.path() / "absent"); }),
              HasSubstr("absent does not exist"));
  EXPECT_THAT(complaint_of([&] { map_bytes(folder.path() / "absent"); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(complaint_of([&] { map_bytes(folder.path()); }), HasSubstr("is not a file"));
}

}  // namespace
}  // namespace steelyard::file_bytes_test
