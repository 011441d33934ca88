#include "core/file_io.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <cerrno>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "tests/support/files_of_at_most.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::file_io_test {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class FileIo : public ::testing::Test {
 protected:
  // The bytes at this place, or the error's number.
  [[nodiscard]] std::string read(std::uint64_t offset, std::size_t size) const {
    std::string text(size, '?');
    const int error = read_at(file_.get(), offset, std::as_writable_bytes(std::span(text)));
    return error == 0 ? text : std::to_string(error);
  }

  std::vector<std::byte> one_ = std::vector<std::byte>(1);
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("f");
  const Descriptor file_{::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
};

TEST_F(FileIo, WritesAndReadsAtAnyPlace) {
  EXPECT_EQ(write_at(file_.get(), 4, bytes_of("two")), 0);
  EXPECT_EQ(write_at(file_.get(), 0, bytes_of("one ")), 0);
  EXPECT_EQ(folder_.text("f"), "one two");
  EXPECT_EQ(read(0, 7), "one two");
  EXPECT_EQ(read(3, 3), " tw");
  EXPECT_EQ(write_at(file_.get(), 1, bytes_of("N")), 0);
  EXPECT_EQ(read(0, 3), "oNe") << "the bytes around it stay";
}

TEST_F(FileIo, NoBytesAreAlwaysThere) {
  EXPECT_EQ(read(100, 0), "");
  EXPECT_EQ(write_at(file_.get(), 100, {}), 0);
  EXPECT_EQ(folder_.text("f"), "");
}

TEST_F(FileIo, AFileThatEndsBeforeIsAnError) {
  EXPECT_EQ(write_at(file_.get(), 0, bytes_of("one")), 0);
  EXPECT_EQ(read(0, 4), std::to_string(EIO));
  EXPECT_EQ(read(3, 1), std::to_string(EIO));
  EXPECT_EQ(read(50, 1), std::to_string(EIO));
}

TEST_F(FileIo, ErrorsOfTheSystemAreReturned) {
  EXPECT_EQ(read_at(-1, 0, one_), EBADF);
  const Descriptor read_only(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(write_at(read_only.get(), 0, bytes_of("x")), EBADF);
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.there());
  EXPECT_EQ(write_at(full.get(), 0, bytes_of("x")), ENOSPC);
}

// The system writes the first five bytes, and reports the error with the next call.
TEST_F(FileIo, AShortWriteIsContinuedUntilItFails) {
  const FilesOfAtMost five(5);
  EXPECT_EQ(write_at(file_.get(), 0, bytes_of("12345")), 0);
  EXPECT_EQ(write_at(file_.get(), 2, bytes_of("abcdefg")), EFBIG);
  EXPECT_EQ(read(0, 5), "12abc");
}

}  // namespace
}  // namespace steelyard::file_io_test
