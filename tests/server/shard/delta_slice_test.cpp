// Coded differences of a slice add up; the rounding error of each is included in the next.
#include "server/shard/coded_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace steelyard::delta_slice_test {
namespace {

constexpr std::uint64_t size = 300;

std::vector<float> numbers(Random& random) {
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}
std::vector<float> floats(const Blob& it) { return {it.floats().begin(), it.floats().end()}; }

SliceMemory loaded(const std::vector<float>& w, const std::vector<float>& missing) {
  SliceMemory slice({0, size, 0}, {0, size}, 1);
  EXPECT_TRUE(slice.load(0, 0, 0, Blob::copy_of(w)));
  EXPECT_TRUE(slice.load(1, 0, 0, Blob::copy_of(missing)));
  return slice;
}
void step(SliceMemory& slice, const std::vector<float>& gradient) {
  ASSERT_TRUE(slice.add({0, 1}, 1, Blob::copy_of(gradient)));
  slice.apply({nn::Optimizer::Kind::sgd, 0, 0}, 0.1, 1);
}

TEST(DeltaSlice, AddedDifferencesEqualTheWholeValues) {
  for (const FloatCode code : {FloatCode::bf16, FloatCode::int8, FloatCode::int4}) {
    Random random(3);
    const std::vector<float> start = numbers(random);
    SliceMemory slice = loaded(start, std::vector<float>(size));
    DeltaSlice delta(code, slice);
    EXPECT_EQ(floats(delta.current().whole), start);
    EXPECT_TRUE(delta.current().difference.empty()) << "no previous version";
    std::vector<float> worker = start;
    for (int round = 0; round < 200; ++round) {
      step(slice, numbers(random));
      delta.advance(slice);
      const std::vector<float> before = worker;
      EXPECT_EQ(floats(delta.previous().whole), before);
      EXPECT_EQ(delta.current().difference.size(), coded_bytes(code, size));
      ASSERT_TRUE(add_decoded(code, delta.current().difference.bytes(), before, worker));
      ASSERT_EQ(floats(delta.current().whole), worker) << "bit for bit";
      // The error does not accumulate: it stays within one rounding step.
      for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(worker[i], slice.current().floats()[i], 0.1);
    }
  }
}

TEST(DeltaSlice, ContinuesFromACheckpoint) {
  Random random(4);
  SliceMemory slice = loaded(numbers(random), std::vector<float>(size));
  DeltaSlice delta(FloatCode::int4, slice);
  for (int round = 0; round < 5; ++round) {
    step(slice, numbers(random));
    delta.advance(slice);
  }
  SliceMemory again = loaded(floats(slice.copy_of(0)), floats(slice.copy_of(1)));
  const DeltaSlice resumed(FloatCode::int4, again);
  EXPECT_NE(floats(slice.copy_of(1)), std::vector<float>(size));
  for (std::size_t i = 0; i < size; ++i)
    EXPECT_NEAR(resumed.current().whole.floats()[i], delta.current().whole.floats()[i], 1e-6);
}

}  // namespace
}  // namespace steelyard::delta_slice_test
