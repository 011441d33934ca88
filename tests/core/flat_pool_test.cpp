#include "core/flat_pool.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "core/queue.h"

namespace steelyard::flat_pool_test {
namespace {

constexpr std::uint64_t floats = 12, size = 4;

struct Parts {
  FlatPool pool{Memory::own};
  FlatPool::Part take(std::uint64_t number, std::uint64_t version) {
    return pool.take(floats, number * size, size, version);
  }
};
// The start of the buffer that contains a part.
const float* buffer_of(const FlatPool::Part& part, std::uint64_t number) {
  return part.values.data() - number * size;
}

TEST(FlatPool, PartsOfOneVersionLieInOneBuffer) {
  Parts parts;
  const auto b = parts.take(1, 7), a = parts.take(0, 7), c = parts.take(2, 7);
  EXPECT_EQ(buffer_of(a, 0), buffer_of(b, 1));
  EXPECT_EQ(buffer_of(a, 0), buffer_of(c, 2));
  EXPECT_EQ(a.values.size(), size);
}

TEST(FlatPool, BuffersInUseAreNotHandedOutAgain) {
  Parts parts;
  std::set<const float*> seen;
  std::vector<FlatPool::Part> held;
  for (std::uint64_t version = 0; version < 10; ++version) {
    held.push_back(parts.take(1, version % 3));
    EXPECT_TRUE(seen.insert(held.back().values.data()).second) << "version " << version;
  }
}

// Like a shard that steps from version to version, with slices in any order; the previous version is kept
// until the next is complete.
TEST(FlatPool, ConsecutiveVersionsReuseThreeBuffers) {
  Parts parts;
  std::set<const float*> buffers;
  std::vector<FlatPool::Part> before(3), current(3);
  for (std::uint64_t version = 0; version < 20; ++version) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t number = (version + i) % 3;
      auto next = parts.take(number, version);
      before[number] = {};
      before[number] = std::exchange(current[number], std::move(next));
    }
    for (std::uint64_t number = 0; number < 3; ++number)
      EXPECT_EQ(buffer_of(current[number], number), buffer_of(current[0], 0)) << "version " << version;
    buffers.insert(buffer_of(current[0], 0));
  }
  EXPECT_LE(buffers.size(), 3U);
}

TEST(FlatPool, MixedVersionsNeedFewBuffers) {
  Parts parts;
  std::set<const float*> buffers;
  std::vector<FlatPool::Part> current(3);
  for (std::uint64_t step = 0; step < 300; ++step) {  // part i is i * 50 versions ahead
    const std::uint64_t number = step % 3;
    current[number] = parts.take(number, number * 50 + step / 3);
    buffers.insert(buffer_of(current[number], number));
  }
  EXPECT_LE(buffers.size(), 4U);
}

TEST(FlatPool, ARetiredBufferIsNotReused) {
  FlatPool pool(Memory::shared);
  std::optional<FlatPool::Part> part = pool.take(floats, 0, size, 0);
  ASSERT_NE(part->segment, nullptr);
  const SegmentName first = part->segment->name();
  part.reset();
  part = pool.take(floats, 0, size, 1);
  EXPECT_EQ(part->segment->name(), first);
  part->segment->retire();
  part.reset();
  EXPECT_NE(pool.take(floats, 0, size, 2).segment->name(), first);
}

TEST(FlatPool, PartsOutliveThePoolAndReturnFromAnyThread) {
  std::optional<FlatPool> pool(Memory::own);
  BoundedQueue<FlatPool::Part> queue(4);
  std::thread other([&] {
    while (auto part = queue.pop()) part->values[0] += 1;
  });
  for (std::uint64_t version = 0; version < 1000; ++version) {
    auto part = pool->take(floats, version % 3 * size, size, version);
    part.values[0] = 0;
    queue.push(std::move(part));
  }
  FlatPool::Part last = pool->take(floats, 0, size, 1001);
  pool.reset();
  last.values[0] = 1;
  queue.close();
  other.join();
}

}  // namespace
}  // namespace steelyard::flat_pool_test
