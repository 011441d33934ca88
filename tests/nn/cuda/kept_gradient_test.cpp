#include "nn/cuda/kept_gradient.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/nn/cuda/arrays.h"

namespace steelyard::nn::cuda::kept_gradient_test {
namespace {

using Floats = std::vector<float>;
constexpr Slice slices[] = {{0, 40, 0}, {40, 90, 0}, {90, 100, 0}};

class KeptGradients : public testing::Test {
 protected:
  void SetUp() override { use_device(0); }

  // The gradient is written by work of the stream that is not waited for.
  std::vector<std::shared_ptr<const DeviceValues>> keep(float value, std::size_t bad = 1000) {
    stream.synchronize();  // the source may be in use
    std::fill_n(source.data(), source.size(), value);
    if (bad < source.size()) source.data()[bad] = std::numeric_limits<float>::infinity();
    stream.copy_array(gradient.data(), source.data(), source.size());
    return kept.keep(gradient.data(), slices, nullptr);
  }
  static Floats floats(const DeviceValues& values) {
    return {values.on_host().values.begin(), values.on_host().values.end()};
  }

  Stream stream;
  PinnedArray<float> source{100};
  DeviceArray<float> gradient{100};
  KeptGradient kept{0, 100, stream};
};

TEST_F(KeptGradients, AreDividedIntoSlices) {
  const auto parts = keep(3);
  ASSERT_EQ(parts.size(), 3U);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i]->size(), slices[i].size());
    EXPECT_EQ(floats(*parts[i]), Floats(slices[i].size(), 3));
  }
}

TEST_F(KeptGradients, DoNotChangeWhenTheNextIsComputed) {
  const auto one = keep(1), two = keep(2);
  const auto three = keep(3);
  EXPECT_EQ(floats(*one[1]), Floats(50, 1));
  EXPECT_EQ(floats(*two[1]), Floats(50, 2));
  EXPECT_EQ(floats(*three[1]), Floats(50, 3));
}

TEST_F(KeptGradients, KnowWhichSlicesAreFinite) {
  const auto finite = [](const DeviceValues& values) {
    return dynamic_cast<const CudaValues&>(values).finite();
  };
  for (int turn = 0; turn < 3; ++turn) {
    const auto bad = keep(1, 89), good = keep(1);
    EXPECT_EQ(finite(*bad[0]), true);
    EXPECT_EQ(finite(*bad[1]), false);
    EXPECT_EQ(finite(*bad[2]), true);
    EXPECT_EQ(finite(*good[1]), true);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::kept_gradient_test
