// The arithmetic of a slice on a device beside that of a processor: each call has the same result, bit for
// bit.
#include "nn/cuda/device_arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::device_arithmetic_test {
namespace {

using Floats = std::vector<float>;
constexpr Slice place{10, 133, 0};
constexpr std::uint64_t size = 123;
constexpr Interval own{5, 140};

Floats random_floats(std::uint64_t seed) {
  Random random(seed);
  Floats values(size);
  for (float& value : values) value = static_cast<float>(random.uniform() * 2 - 1);
  return values;
}

struct Place {
  std::shared_ptr<FlatPool> host = std::make_shared<FlatPool>(Memory::own);
  std::shared_ptr<DeviceShard> shard = std::make_shared<DeviceShard>(0, host);
  DeviceArithmetic device{shard, place, own};
  HostArithmetic processor{size};

  Floats out(SliceArithmetic& of, std::span<const float> there) {
    Floats values(there.size());
    of.copy_out(values, there);
    return values;
  }
  // Both call `work(arithmetic)`, which returns floats there.
  template <class Work>
  void expect_equal(Work work) {
    EXPECT_EQ(out(device, work(device).values), out(processor, work(processor).values));
  }
};

TEST(DeviceArithmetic, AddsPushesOfTheHostAndOfTheDevice) {
  Place it;
  const Floats x = random_floats(1), y = random_floats(2), z = random_floats(3);
  it.expect_equal([&](SliceArithmetic& by) {
    SliceArithmetic::Room sum = by.sum_room();
    by.sum(sum.values, by.read({x, nullptr}).values, by.read({y, nullptr}).values);
    SliceArithmetic::Room push = by.version_room(1);
    by.change(push.values, false, [&](std::span<float> to) { std::ranges::copy(z, to.begin()); });
    SliceValues third{push.values, nullptr};
    if (const auto there = by.frozen(push)) third = {{}, there};
    by.add(sum.values, by.read(third).values);
    return sum;
  });
}

TEST(DeviceArithmetic, BringsManyPushesInOrder) {
  Place it;
  it.expect_equal([&](SliceArithmetic& by) {
    SliceArithmetic::Room sum = by.zeros(size);
    for (std::uint64_t i = 0; i < 10; ++i) {
      const Floats push = random_floats(i);  // overwritten as soon as it has been brought
      by.add(sum.values, by.read({push, nullptr}).values);
    }
    return sum;
  });
}

TEST(DeviceArithmetic, StepsWithStateAndFreezesVersions) {
  if (cpu_level() == Level::baseline)
    GTEST_SKIP() << "this processor rounds twice where a device rounds once";
  Place it;
  const Floats w = random_floats(1), push = random_floats(2);
  const Optimizer adam{.kind = Optimizer::Kind::adam, .weight_decay = 1e-3};
  it.expect_equal([&](SliceArithmetic& by) {
    const SliceArithmetic::Room state = by.zeros(2 * size);
    SliceArithmetic::Room version = by.version_room(0);
    by.copy(version.values, by.read({w, nullptr}).values);
    for (std::uint64_t step = 0; step < 5; ++step) {
      const SliceArithmetic::Room next = by.version_room(step + 1);
      const auto sum = by.read({push, nullptr});
      by.run(step_call(adam, {next.values, version.values, sum.values, 0.25, step}, state.values, 0.1, 1));
      version = next;
    }
    return version;
  });
}

TEST(DeviceArithmetic, AFrozenVersionIsReadOnTheHostAtItsPlace) {
  Place it;
  const Floats w = random_floats(1);
  const SliceArithmetic::Room room = it.device.version_room(4);
  it.device.copy(room.values, it.device.read({w, nullptr}).values);
  const auto version = it.device.frozen(room);
  ASSERT_NE(version, nullptr);
  EXPECT_EQ(version->size(), size);
  const auto on_host = version->on_host().values;
  EXPECT_EQ(Floats(on_host.begin(), on_host.end()), w);
  EXPECT_EQ(Floats(SliceValues{{}, version}.on_host().begin(), SliceValues{{}, version}.on_host().end()), w);
}

TEST(DeviceArithmetic, SquaresAreSummedOverSlicesInOrder) {
  Place it;
  const Floats x = random_floats(1), y = random_floats(2);
  SquareSum device, processor;
  for (const Floats& values : {x, y}) {
    it.device.add_squares(it.device.read({values, nullptr}).values, device);
    it.processor.add_squares(values, processor);
  }
  EXPECT_EQ(device.total(), processor.total());
}

TEST(DeviceArithmetic, FindsPushesThatAreNotFinite) {
  Place it;
  Floats bad = random_floats(1);
  bad[77] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [values, finite] : {std::pair(random_floats(1), true), {bad, false}}) {
    const SliceArithmetic::Room room = it.device.version_room(0);
    it.device.copy(room.values, it.device.read({values, nullptr}).values);
    EXPECT_EQ(it.device.all_finite({{}, it.device.frozen(room)}), finite);
    EXPECT_EQ(it.device.all_finite({values, nullptr}), finite);
  }
}

// A push on a device that is neither this shard's nor known to it is read through the host.
TEST(DeviceArithmetic, ReadsOtherDevicesThroughTheHost) {
  struct Other final : DeviceValues {
    Floats values = random_floats(5);
    [[nodiscard]] std::uint64_t size() const override { return values.size(); }
    [[nodiscard]] OnHost on_host() const override { return {values}; }
  };
  Place it;
  const auto other = std::make_shared<Other>();
  EXPECT_EQ(it.out(it.device, it.device.read({{}, other}).values), other->values);
}

TEST(DeviceArithmetic, ChangesOnTheHostStartFromTheOldValues) {
  Place it;
  it.expect_equal([&](SliceArithmetic& by) {
    SliceArithmetic::Room room = by.zeros(size);
    by.change(room.values, true, [](std::span<float> values) {
      for (float& value : values) value += 2;
    });
    by.change(room.values, true, [](std::span<float> values) {
      for (float& value : values) value *= 3;
    });
    return room;
  });
}

}  // namespace
}  // namespace steelyard::nn::cuda::device_arithmetic_test
