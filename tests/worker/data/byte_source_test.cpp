#include "worker/data/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "tests/worker/data/data_files.h"

namespace steelyard::byte_source_test {
namespace {

using testing::HasSubstr;

// Reads in parts of `step` bytes.
Bytes all_of(const std::filesystem::path& file, std::size_t step = 1000) {
  ByteSource source(file);
  Bytes all;
  while (true) {
    const std::size_t before = all.size();
    all.resize(before + step);
    const std::size_t done = source.read(std::span(all).subspan(before));
    all.resize(before + done);
    EXPECT_EQ(source.offset(), all.size());
    if (done < step) break;
  }
  EXPECT_LE(all.size(), source.most());
  return all;
}

// Incompressible, and longer than any block inside.
Bytes noise(std::size_t size) {
  Random random(size);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  return bytes;
}

std::string refusal(const std::filesystem::path& file) {
  try {
    all_of(file);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    return failure.what();
  }
  return "no failure";
}

TEST(ByteSource, ReadsPlainFilesInPartsOfAnySize) {
  const TemporaryFolder folder;
  for (const std::size_t size : {0, 1, 2, 65535, 65536, 200000}) {
    const Bytes bytes = noise(size);
    const auto file = folder.write("plain", bytes);
    EXPECT_EQ(all_of(file, 70000), bytes);
    EXPECT_EQ(all_of(file, 4096), bytes);
    EXPECT_EQ(ByteSource(file).most(), size);
  }
}

TEST(ByteSource, UnpacksByContentAndNotByName) {
  const TemporaryFolder folder;
  const Bytes bytes = noise(300000);
  EXPECT_EQ(all_of(folder.write("no-suffix", gzipped(bytes))), bytes);
  EXPECT_EQ(all_of(folder.write("a.gz", bytes)), bytes);
  EXPECT_EQ(all_of(folder.write("empty.gz", gzipped({}))), Bytes{});
}

TEST(ByteSource, ReadsSeveralGzipMembersAsOne) {
  const TemporaryFolder folder;
  const Bytes first = noise(70000), second = noise(123);
  const auto file = folder.write("two.gz", joined(gzipped(first), gzipped(second)));
  EXPECT_EQ(all_of(file), joined(first, second));
}

TEST(ByteSource, BoundsTheSizeOfGzipContents) {
  const TemporaryFolder folder;
  const Bytes zeros(1 << 22, 0);  // the most compressible bytes
  EXPECT_EQ(all_of(folder.write("zeros.gz", gzipped(zeros)), 1 << 20), zeros);
}

TEST(ByteSource, RefusesDamage) {
  const TemporaryFolder folder;
  const Bytes packed = gzipped(noise(100000));
  EXPECT_THAT(refusal(folder.path() / "absent"), HasSubstr("absent does not exist"));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("is not a file"));

  for (const std::size_t kept : {packed.size() - 1, packed.size() / 2, std::size_t{12}}) {
    const auto file = folder.write("cut.gz", Bytes(packed.begin(), packed.begin() + static_cast<long>(kept)));
    EXPECT_THAT(refusal(file),
                AllOf(HasSubstr("cut.gz is truncated"), HasSubstr("at byte " + std::to_string(kept))));
  }
  Bytes flipped = packed;
  flipped[packed.size() - 6] ^= 1;  // of the checksum
  EXPECT_THAT(refusal(folder.write("sum.gz", flipped)), HasSubstr("sum.gz has a damaged gzip stream"));
  EXPECT_THAT(refusal(folder.write("tail.gz", joined(packed, {'x', 'y', 'z'}))), HasSubstr("damaged"));
}

}  // namespace
}  // namespace steelyard::byte_source_test
