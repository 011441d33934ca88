#include "core/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>

#include "core/buffer_pool.h"

namespace steelyard::segment_test {
namespace {

// Opens the file of a segment with these rights, like another process of the same user. Returns -1 if
// refused.
int opened(const Segment& segment, int rights) {
  return open(("/proc/self/fd/" + std::to_string(segment.descriptor())).c_str(), rights | O_CLOEXEC);
}

TEST(Segment, DataIsReadableThroughItsFile) {
  const auto segment = Segment::make(100);
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(segment->size(), 100U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment->data()) % Segment::head_size, 0U);
  ASSERT_TRUE(segment->reserve(0, 100));
  segment->data()[99] = std::byte{7};
  const int file = opened(*segment, O_RDONLY);
  ASSERT_GE(file, 0);
  Segment::Head head;
  std::byte last{};
  EXPECT_EQ(pread(file, &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
  EXPECT_EQ(pread(file, &last, 1, Segment::head_size + 99), 1);
  EXPECT_EQ(head.mark, Segment::mark);
  EXPECT_EQ(head.name, segment->name());
  EXPECT_EQ(last, std::byte{7});
  close(file);
}

TEST(Segment, EachSegmentHasItsOwnName) {
  const auto one = Segment::make(1), other = Segment::make(1);
  EXPECT_EQ(one->name().process, other->name().process);
  EXPECT_NE(one->name().number, other->name().number);
  EXPECT_NE(one->name().process, (std::array<std::uint64_t, 2>{}));
}

// Even a process of the same user, which may open the file for writing, cannot write.
TEST(Segment, OnlyItsCreatorCanWriteOrResizeIt) {
  const auto segment = Segment::make(4096);
  const int file = opened(*segment, O_RDWR);
  ASSERT_GE(file, 0);
  const char text[] = "written";
  EXPECT_EQ(pwrite(file, text, sizeof text, 0), -1);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
  EXPECT_EQ(ftruncate(file, 0), -1);
  EXPECT_EQ(ftruncate(file, 1 << 20), -1);
  void* read_only = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(read_only, MAP_FAILED);
  EXPECT_EQ(mprotect(read_only, 4096, PROT_READ | PROT_WRITE), -1);
  munmap(read_only, 4096);
  close(file);
  segment->data()[0] = std::byte{1};  // the creator can write
}

TEST(FloatBuffer, WorksInASharedSegment) {
  FloatBuffer buffer(1000, Memory::shared);
  ASSERT_NE(buffer.segment(), nullptr);
  buffer.reserve(0, 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % FloatBuffer::alignment, 0U);
  buffer.span().back() = 3;
  float last = 0;
  std::memcpy(&last, buffer.segment()->data() + 999 * sizeof(float), sizeof last);
  EXPECT_EQ(last, 3.0F);
}

TEST(BufferPool, ARetiredBufferIsNotReused) {
  BufferPool pool(10, Memory::shared);
  const SegmentName first = pool.take()->segment()->name();
  auto buffer = pool.take();
  EXPECT_EQ(buffer->segment()->name(), first);
  buffer->segment()->retire();
  buffer.reset();
  EXPECT_NE(pool.take()->segment()->name(), first);
}

TEST(BufferPool, ARetiredBufferMayBeKeptAsLongAsThePool) {
  for (const auto retired : {BufferPool::Retired::freed, BufferPool::Retired::kept}) {
    std::optional<BufferPool> pool(std::in_place, 10, Memory::shared, retired);
    auto buffer = pool->take();
    const int file = buffer->segment()->descriptor();
    buffer->segment()->retire();
    buffer.reset();
    const bool kept = retired == BufferPool::Retired::kept;
    EXPECT_EQ(fcntl(file, F_GETFD) != -1, kept);
    EXPECT_NE(pool->take()->segment()->descriptor(), kept ? file : -1) << "it is not reused";
    pool.reset();
    EXPECT_EQ(fcntl(file, F_GETFD), -1);
  }
}

}  // namespace
}  // namespace steelyard::segment_test
