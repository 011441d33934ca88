// The contract of the runtime on both kinds of devices, and the additions of its host version.
#include "nn/cuda/runtime.h"

#include <gmock/gmock.h>

#include "nn/cuda/array_kernels.h"
#include "nn/cuda/host/executor.h"
#include "tests/nn/cuda/arrays.h"

namespace steelyard::nn::cuda::runtime_test {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(Runtime, WorkStartsWhenTheHostWaits) {
  Stream stream;
  const DeviceArray<float> device(3);
  PinnedArray<float> pinned(3);
  std::fill_n(pinned.data(), 3, 5.0F);
  stream.fill_zero(device.data(), 3 * sizeof(float));
  stream.copy_array(pinned.data(), device.data(), 3);
  EXPECT_EQ(pinned.data()[0], 5.0F) << "the host version delays work as long as a device may";
  stream.synchronize();
  EXPECT_EQ(pinned.data()[0], 0.0F);
}

TEST(Runtime, IdleIsTrueWhenAllWorkIsDone) {
  Stream stream;
  const DeviceArray<float> device(2);
  stream.fill_zero(device.data(), 8);
  stream.fill_zero(device.data(), 8);
  EXPECT_FALSE(stream.idle()) << "one of two operations is done";
  EXPECT_TRUE(stream.idle());
}

TEST(Runtime, MemoryStartsAsNan) {
  Stream stream;
  EXPECT_THAT(to_host(stream, DeviceArray<float>(9)), Each(testing::IsNan()));
}

// The second stream copies data that the first writes; without a wait it may copy too early.
TEST(Runtime, AStreamWaitsForAnEventOfAnother) {
  for (const bool waits : {false, true}) {
    Stream first, second;
    const DeviceArray<float> a = to_device(first, std::vector<float>{1, 2});
    const DeviceArray<float> b = to_device(first, std::vector<float>{7, 7});
    first.copy_array(a.data(), b.data(), 2);
    Event written;
    written.record(first);
    if (waits) second.wait(written);
    second.copy_array(b.data(), a.data(), 2);
    const std::vector<float> copied = to_host(second, b);
    EXPECT_EQ(copied == std::vector<float>({7, 7}), waits);
    first.synchronize();  // memory must outlive the work on it
  }
}

TEST(Runtime, AnUnrecordedEventCountsAsDone) {
  Event never;
  never.synchronize();
  Stream stream;
  stream.wait(never);
  stream.synchronize();
}

TEST(Runtime, AGraphCanRunRepeatedly) {
  Stream stream;
  const DeviceArray<float> sum = to_device(stream, std::vector<float>{1, 2, 3});
  const DeviceArray<float> more = to_device(stream, std::vector<float>{10, 20, 30});
  stream.begin_capture();
  add_up(stream, 3, more.data(), sum.data());
  const std::unique_ptr<Graph> graph = stream.end_capture();
  EXPECT_THAT(to_host(stream, sum), ElementsAre(1, 2, 3)) << "captured, not run";
  stream.run(*graph);
  stream.run(*graph);
  EXPECT_THAT(to_host(stream, sum), ElementsAre(21, 42, 63));
}

// Work of a second stream that waits for the captured stream is captured too, until the capture ends.
TEST(Runtime, AGraphContainsWorkOfAllJoinedStreams) {
  Stream stream, side;
  const DeviceArray<float> sum = to_device(stream, std::vector<float>{1});
  const DeviceArray<float> more = to_device(stream, std::vector<float>{10});
  Event forked, joined;
  stream.begin_capture();
  forked.record(stream);
  side.wait(forked);
  add_up(side, 1, more.data(), sum.data());
  joined.record(side);
  stream.wait(joined);
  add_up(stream, 1, more.data(), sum.data());
  const std::unique_ptr<Graph> graph = stream.end_capture();
  side.synchronize();
  EXPECT_THAT(to_host(stream, sum), ElementsAre(1));
  stream.run(*graph);
  EXPECT_THAT(to_host(stream, sum), ElementsAre(21));
  add_up(side, 1, more.data(), sum.data());
  EXPECT_THAT(to_host(side, sum), ElementsAre(31)) << "after the capture it is an ordinary stream";
}

// The graph waits for copies that are added before each run, and others wait for a point inside it.
TEST(Runtime, EventsConnectAGraphWithStreamsOutside) {
  Stream stream, copies;
  const DeviceArray<float> in = to_device(stream, std::vector<float>{0});
  const DeviceArray<float> sum = to_device(stream, std::vector<float>{0});
  Event brought(Event::Reach::outside), added(Event::Reach::outside);
  stream.begin_capture();
  stream.wait(brought);
  add_up(stream, 1, in.data(), sum.data());
  added.record(stream);
  stream.fill_zero(sum.data(), sizeof(float));
  const std::unique_ptr<Graph> graph = stream.end_capture();
  PinnedArray<float> source(1), seen(1);
  for (const float number : {3.0F, 8.0F}) {
    *source.data() = number;
    copies.copy_array(in.data(), source.data(), 1);
    brought.record(copies);
    stream.run(*graph);
    copies.wait(added);
    copies.copy_array(seen.data(), sum.data(), 1);
    Event copied;
    copied.record(copies);
    copied.synchronize();
    EXPECT_EQ(*seen.data(), number);
    stream.synchronize();
    copies.synchronize();
    EXPECT_THAT(to_host(stream, sum), ElementsAre(0));
  }
}

// A library may do what no capture allows. Both streams then go on as if there had been no capture.
TEST(Runtime, AFailedCaptureLeavesItsStreamsUsable) {
  Stream stream, side;
  const DeviceArray<float> sum = to_device(stream, std::vector<float>{1});
  const DeviceArray<float> more = to_device(stream, std::vector<float>{10});
  Event forked;
  const auto add = [&] {
    forked.record(stream);
    side.wait(forked);
    add_up(side, 1, more.data(), sum.data());
    throw Failure(ExitCode::failed, "not in a capture");
  };
  const Captured captured = capture(stream, add);
  EXPECT_EQ(captured.graph, nullptr);
  EXPECT_EQ(captured.refusal, "not in a capture");
  EXPECT_THAT(to_host(side, sum), ElementsAre(1)) << "the recorded work is dropped";
  add_up(stream, 1, more.data(), sum.data());
  EXPECT_THAT(to_host(stream, sum), ElementsAre(11));
  const Captured again = capture(stream, [&] { add_up(stream, 1, more.data(), sum.data()); });
  ASSERT_NE(again.graph, nullptr) << again.refusal;
  stream.run(*again.graph);
  EXPECT_THAT(to_host(stream, sum), ElementsAre(21));
}

TEST(Runtime, MemoryThatLacksInACaptureIsOutOfMemory) {
  Stream stream;
  EXPECT_THROW((void)capture(stream, [] { throw OutOfMemory("a library has no memory"); }), OutOfMemory);
  stream.synchronize();
}

TEST(Runtime, RegisteredMemoryIsReachable) {
  Stream stream;
  const DeviceArray<float> device(2);
  std::vector<float> own{1, 2}, back{0, 0};
  const auto read = HostRegistration::make(own.data(), 8, false);
  const auto written = HostRegistration::make(back.data(), 8, true);
  ASSERT_TRUE(read && written);
  stream.copy_array(device.data(), own.data(), 2);
  stream.copy_array(back.data(), device.data(), 2);
  stream.synchronize();
  EXPECT_THAT(back, ElementsAre(1, 2));
}

TEST(Runtime, OtherMemoryCanBeCopiedToo) {
  Stream stream;
  const DeviceArray<float> device(2);
  std::vector<float> own{1, 2}, back{0, 0};
  stream.copy_array(device.data(), own.data(), 2);
  stream.copy_array(back.data(), device.data(), 2);
  stream.synchronize();
  EXPECT_THAT(back, ElementsAre(1, 2));
}

// What would go wrong on a device ends the process.
TEST(RuntimeDeathTest, MemoryMustBeReachableUntilACopyIsDone) {
  Stream stream;
  const DeviceArray<float> device(2);
  std::vector<float> own{1, 2};
  const auto after = [&](auto&& change, float* to, const float* from) {
    stream.copy_array(to, from, 2);
    change();
    stream.synchronize();
  };
  const auto nothing = [] {};
  EXPECT_DEATH(after(nothing, device.data(), device.data() + 1), "that the device cannot read") << "its end";
  EXPECT_DEATH(after(nothing, device.data() - 1, device.data()), "that the device cannot write")
      << "its begin";
  auto registration = HostRegistration::make(own.data(), 8, false);
  EXPECT_DEATH(after(nothing, own.data(), device.data()), "a copy to memory that the device cannot write")
      << "read-only";
  EXPECT_DEATH(after([&] { registration.reset(); }, device.data(), own.data()), "cannot read")
      << "no longer registered";
}

TEST(RuntimeDeathTest, MemoryIsRegisteredOnce) {
  std::vector<float> own(8);
  const auto registration = HostRegistration::make(own.data() + 2, 16, true);
  EXPECT_DEATH((void)HostRegistration::make(own.data() + 2, 16, true), "memory is registered twice");
  EXPECT_DEATH((void)HostRegistration::make(own.data(), 12, true), "memory is registered twice");
  EXPECT_DEATH((void)HostRegistration::make(own.data() + 5, 12, true), "memory is registered twice");
  const auto beside = HostRegistration::make(own.data() + 6, 8, true);
}

TEST(Runtime, ExhaustedMemoryIsReported) {
  host::limit_memory(host::used_memory() + 1000);
  const DeviceMemory most(800);
  try {
    const DeviceMemory more(300);
    ADD_FAILURE() << "allocated more memory than exists";
  } catch (const OutOfMemory& trouble) {
    EXPECT_THAT(trouble.what(),
                testing::HasSubstr("the device has no 1 MB more: 0 MB of its memory are free"));
  }
  host::limit_memory(0);
}

}  // namespace
}  // namespace steelyard::nn::cuda::runtime_test
