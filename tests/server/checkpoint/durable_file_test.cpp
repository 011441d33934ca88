#include "server/checkpoint/durable_file.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::durable_file_test {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class DurableFileTest : public ::testing::Test {
 protected:
  template <class Call>
  static std::string refusal(const Call& call) {
    try {
      call();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::io);
      return failure.what();
    }
    return "accepted";
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path().string();
};

// The value in the XXH3 specification for an empty input and seed 0, as `xxhsum -H2` prints it.
TEST_F(DurableFileTest, SealsAreXxh3) {
  EXPECT_EQ(seal({}), (FileSeal{0, "99aa06d3014798d86001c324468d497f"}));
}

TEST_F(DurableFileTest, WritesAndSealsInPieces) {
  DurableFile file(root_ + "/f", 1000);  // reserves more than is written
  file.write(bytes_of("one "));
  file.write({});
  file.write(bytes_of("two"));
  EXPECT_EQ(file.finish(), seal(bytes_of("one two")));
  const std::vector<std::byte> read = read_bytes(root_ + "/f", 7);
  EXPECT_EQ(seal(read), seal(bytes_of("one two")));
}

TEST_F(DurableFileTest, PiecesMayComeInAnyOrder) {
  DurableFile file(root_ + "/f", 7);
  file.write_at(4, bytes_of("two"));
  file.write_at(0, bytes_of("one "));
  EXPECT_EQ(file.finish(), seal(bytes_of("one two")));
}

// A disk, a driver or another program may corrupt the data.
TEST_F(DurableFileTest, CorruptedDataIsDetected) {
  DurableFile file(root_ + "/f", 7);
  file.write(bytes_of("one "));
  file.write(bytes_of("two"));
  std::fstream(root_ + "/f", std::ios::in | std::ios::out | std::ios::binary).seekp(5).put('x');
  EXPECT_THAT(refusal([&] { file.finish(); }), HasSubstr("differs from the data written, from byte 4"));
}

TEST_F(DurableFileTest, NeverOverwritesAFile) {
  DurableFile(root_ + "/f", 0).finish();
  EXPECT_THAT(refusal([&] { DurableFile(root_ + "/f", 0); }),
              HasSubstr(root_ + "/f: cannot be created: File exists"));
}

TEST_F(DurableFileTest, ReadsAtMostTheLimit) {
  DurableFile file(root_ + "/f", 3);
  file.write(bytes_of("abc"));
  file.finish();
  EXPECT_THAT(refusal([&] { read_bytes(root_ + "/f", 2); }), HasSubstr("has 3 bytes, more than the 2"));
  EXPECT_THAT(refusal([&] { read_bytes(root_ + "/g", 2); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(refusal([&] { read_bytes(root_, 2); }), HasSubstr("is not a file"));
  EXPECT_THAT(refusal([&] { sync_directory(root_ + "/f"); }), HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace steelyard::durable_file_test
