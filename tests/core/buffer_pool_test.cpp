// Buffers and their pool: aligned, reused, and safe to release on any thread, even after the pool is gone.
#include "core/buffer_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "core/queue.h"

namespace steelyard::buffer_pool_test {
namespace {

TEST(FloatBuffer, IsAlignedForAnySize) {
  for (const std::size_t size : {1U, 3U, 16U, 17U, 1000U}) {
    FloatBuffer buffer(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % FloatBuffer::alignment, 0U);
    EXPECT_EQ(buffer.span().size(), size);
    buffer.span().back() = 1;
    EXPECT_EQ(std::as_const(buffer).span().back(), 1);
  }
}

TEST(BufferPool, ReleasedBuffersAreReused) {
  BufferPool pool(100);
  const float* first = pool.take()->data();
  const auto again = pool.take();
  EXPECT_EQ(again->data(), first);
  EXPECT_EQ(again->size(), 100U);
}

TEST(BufferPool, BuffersInUseAreDistinct) {
  BufferPool pool(8);
  std::set<const float*> seen;
  std::vector<std::shared_ptr<FloatBuffer>> held;
  for (int i = 0; i < 10; ++i) {
    held.push_back(pool.take());
    EXPECT_TRUE(seen.insert(held.back()->data()).second);
  }
}

TEST(BufferPool, ABufferOutlivesItsPool) {
  std::shared_ptr<FloatBuffer> left;
  {
    BufferPool pool(4);
    left = pool.take();
  }
  left->span()[3] = 2;
  EXPECT_EQ(left->span()[3], 2);
}

TEST(BufferPool, BuffersMayBeReleasedOnAnotherThread) {
  BufferPool pool(64);
  BoundedQueue<std::shared_ptr<FloatBuffer>> queue(4);
  std::set<const float*> seen;
  std::thread reader([&] {
    while (auto buffer = queue.pop()) {
      const float first = (*buffer)->span().front();
      for (const float value : (*buffer)->span()) EXPECT_EQ(value, first) << "two owners share a buffer";
    }
  });
  for (int i = 0; i < 2000; ++i) {
    auto buffer = pool.take();
    seen.insert(buffer->data());
    for (float& value : buffer->span()) value = static_cast<float>(i);
    queue.push(std::move(buffer));
  }
  queue.close();
  reader.join();
  EXPECT_LE(seen.size(), 7U) << "no more than can be in use at once: those in the queue and one on each side";
}

}  // namespace
}  // namespace steelyard::buffer_pool_test
