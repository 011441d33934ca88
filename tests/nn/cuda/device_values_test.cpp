// Buffers that two streams share. Streams of the host executor do nothing until they are waited for, so each
// missing wait shows in every run.
#include "nn/cuda/device_values.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "nn/cuda/array_kernels.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/schedules.h"
#include "tests/nn/cuda/written_buffer.h"

namespace steelyard::nn::cuda::device_values_test {
namespace {

constexpr std::uint64_t size = 100;
using Floats = std::vector<float>;

class DeviceBuffers : public testing::Test {
 protected:
  void SetUp() override { use_device(0); }

  std::shared_ptr<DeviceBuffer> written(float value) { return written_buffer(pool, writer, source, value); }
  // As a reader on another thread does it.
  void add_to_seen(const CudaValues& values) {
    add_up(reader, size, values.begin_to_read(reader).data(), seen.data());
    values.read(reader);
  }

  Stream writer, reader;
  PinnedArray<float> source{size};
  DevicePool pool{size};
  DeviceArray<float> seen = to_device(reader, Floats(size));
};

TEST_F(DeviceBuffers, AReaderWaitsForWhatWasWritten) {
  const auto buffer = written(3);
  add_to_seen(CudaValues(0, buffer, buffer->values()));
  EXPECT_EQ(to_host(reader, seen), Floats(size, 3));
}

TEST_F(DeviceBuffers, ABufferIsNotWrittenWhileItIsRead) {
  const float* place = nullptr;
  {
    const auto buffer = written(3);
    writer.synchronize();
    place = buffer->values().data();
    add_to_seen(CudaValues(0, buffer, buffer->values()));
  }
  const auto again = written(5);
  EXPECT_EQ(again->values().data(), place) << "the pool reuses it";
  writer.synchronize();
  EXPECT_EQ(to_host(reader, seen), Floats(size, 3));
}

TEST_F(DeviceBuffers, ABufferInUseIsNotReused) {
  const auto one = written(1), two = written(2);
  EXPECT_NE(one->values().data(), two->values().data());
}

TEST_F(DeviceBuffers, TheHostGetsACopyOnceAndOnlyWhenItAsks) {
  const auto buffer = written(7);
  const auto values = std::make_shared<CudaValues>(0, buffer, buffer->values().subspan(10, 20));
  EXPECT_EQ(values->size(), 20U);
  DeviceValues::OnHost on_another_thread;
  std::thread([&] { on_another_thread = values->on_host(); }).join();
  EXPECT_EQ(Floats(on_another_thread.values.begin(), on_another_thread.values.end()), Floats(20, 7));
  EXPECT_EQ(values->on_host().values.data(), on_another_thread.values.data());
  EXPECT_EQ(on_another_thread.segment, nullptr);
}

TEST_F(DeviceBuffers, TheCopyLiesAtItsPlaceInTheSharedPool) {
  const auto host = std::make_shared<FlatPool>(Memory::shared);
  const auto buffer = written(7);
  const CudaValues left(0, buffer, buffer->values().first(40), {host, size, 0, 9}),
      right(0, buffer, buffer->values().subspan(40), {host, size, 40, 9});
  EXPECT_EQ(left.on_host().values.data() + 40, right.on_host().values.data());
  EXPECT_NE(left.on_host().segment, nullptr);
  EXPECT_EQ(left.on_host().segment, right.on_host().segment);
  EXPECT_EQ(right.on_host().values.back(), 7);
}

TEST_F(DeviceBuffers, FinitenessIsComputedOnce) {
  const auto buffer = written(7);
  int calls = 0;
  const CudaValues known(0, buffer, buffer->values(), {}, [&] { return ++calls > 0; }),
      unknown(0, buffer, buffer->values());
  EXPECT_EQ(known.finite(), true);
  EXPECT_EQ(known.finite(), true);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(unknown.finite(), std::nullopt);
}

#if !defined(STEELYARD_ON_DEVICE)
// The memory of the executor is NaN when it is allocated; the address sanitizer reports uses after release.
TEST_F(DeviceBuffers, MemoryIsFreedWhenItsWorkIsDone) {
  const std::uint64_t before = host::used_memory();
  {
    DevicePool own(size);
    const std::shared_ptr<DeviceBuffer> buffer = own.take(writer);
    writer.fill_zero(buffer->values().data(), size * sizeof(float));
    buffer->written(writer);
    add_to_seen(CudaValues(0, buffer, buffer->values()));
  }
  EXPECT_EQ(host::used_memory(), before);
  EXPECT_EQ(to_host(reader, seen), Floats(size));
}
#endif

}  // namespace
}  // namespace steelyard::nn::cuda::device_values_test
