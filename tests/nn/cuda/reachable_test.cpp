#include "nn/cuda/reachable.h"

#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "core/buffer_pool.h"
#include "core/lasting_memory.h"
#include "nn/cuda/host/executor.h"
#include "nn/cuda/runtime.h"
#include "tests/nn/cuda/arrays.h"

namespace steelyard::nn::cuda::reachable_test {
namespace {

using testing::ElementsAre;

TEST(Reachable, OtherMemoryOfTheHostIsNot) {
  std::vector<float> values(10);
  EXPECT_FALSE(device_reads(values));
  EXPECT_FALSE(device_writes(values));
}

TEST(Reachable, BuffersOfPoolsAreFromTheirFirstUseOn) {
  BufferPool pool(2);
  Stream stream;
  const DeviceArray<float> device(2);
  for (const float number : {1.0F, 2.0F}) {
    const auto buffer = pool.take();
    const Calls before = calls_of_this_thread();
    EXPECT_TRUE(device_reads(buffer->span()));
    EXPECT_TRUE(device_writes(buffer->span()));
    EXPECT_EQ(calls_of_this_thread().allocations - before.allocations, number == 1 ? 1 : 0);
    std::fill_n(buffer->data(), 2, number);
    stream.copy_array(device.data(), buffer->data(), 2);
    stream.copy_array(buffer->data() + 1, device.data(), 1);
    stream.synchronize();
    EXPECT_THAT(to_host(stream, device), ElementsAre(number, number));
  }
}

TEST(Reachable, MemoryOfOthersCanOnlyBeRead) {
  std::vector<float> values(10);
  const LastingMemory mapped(values.data(), 10 * sizeof(float), false);
  EXPECT_TRUE(device_reads(values));
  EXPECT_FALSE(device_writes(values));
}

TEST(Reachable, MemoryThatIsRefusedIsNot) {
  BufferPool pool(2);
  host::refuse_registrations(true);
  const auto buffer = pool.take();
  EXPECT_FALSE(device_reads(buffer->span()));
  host::refuse_registrations(false);
  EXPECT_FALSE(device_writes(buffer->span())) << "it is not tried again";
  EXPECT_TRUE(device_writes(pool.take()->span())) << "another buffer";
}

// A copy that is still to be done when the memory goes is an error, which the executor finds.
TEST(Reachable, MemoryThatIsFreedNoLongerIs) {
  auto pool = std::make_unique<BufferPool>(2);
  auto buffer = pool->take();
  ASSERT_TRUE(device_reads(buffer->span()));
  pool.reset();
  Stream stream;
  const DeviceArray<float> device(2);
  stream.copy_array(device.data(), buffer->data(), 2);
  const auto late = [&] {
    buffer.reset();
    stream.synchronize();
  };
  EXPECT_DEATH(late(), "a copy from memory that the device cannot read");
  stream.synchronize();
}

}  // namespace
}  // namespace steelyard::nn::cuda::reachable_test
