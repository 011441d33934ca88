// Updates on a device have the bits of a processor's.
#include "nn/cuda/optimizer_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "nn/optimizer/rule.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::optimizer_kernels_test {
namespace {

using Floats = std::vector<float>;
using Kind = Optimizer::Kind;

constexpr Kind kinds[] = {Kind::sgd,   Kind::momentum, Kind::nesterov, Kind::adam,
                          Kind::adamw, Kind::lars,     Kind::lamb,     Kind::worker};

Floats random_floats(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Floats values(size);
  for (float& value : values) value = static_cast<float>(random.uniform() * 2 - 1);
  return values;
}

// Arrays of one slice, at the given offset in their memory: on a device or not.
struct Slice {
  Floats out, w, sum, last, state;
};

// Both compute `make` with their own arrays; expects equal bits of everything written.
class Both {
 public:
  Both(std::size_t size, std::size_t offset, std::uint32_t slots) : size_(size), offset_(offset) {
    host_ = {Floats(size + offset), random_floats(size + offset, 1), random_floats(size + offset, 2),
             random_floats(size + offset, 3), random_floats(slots * size + offset, 4)};
    for (float& value : host_.state) value = std::abs(value);  // second moments are not negative
  }

  // make(update, state) returns the call.
  template <class Make>
  void expect_equal(bool with_last, const Make& make) {
    Stream stream;
    DeviceArray<float> out = to_device(stream, host_.out), w = to_device(stream, host_.w),
                       sum = to_device(stream, host_.sum), last = to_device(stream, host_.last),
                       state = to_device(stream, host_.state);
    const auto update = [&](float* o, const float* p, const float* s, const float* l) {
      return Update{{o + offset_, size_},
                    {p + offset_, size_},
                    {s + offset_, size_},
                    1.0 / 37,
                    5,
                    with_last ? std::span(l + offset_, size_) : std::span<const float>()};
    };
    const auto slots = [&](float* all) { return std::span(all + offset_, host_.state.size() - offset_); };
    run(stream, make(update(out.data(), w.data(), sum.data(), last.data()), slots(state.data())));
    nn::run(make(update(host_.out.data(), host_.w.data(), host_.sum.data(), host_.last.data()),
                 slots(host_.state.data())));
    EXPECT_EQ(to_host(stream, out), host_.out);
    EXPECT_EQ(to_host(stream, state), host_.state);
  }

 private:
  const std::size_t size_, offset_;
  Slice host_;
};

class OptimizerKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (cpu_level() == Level::baseline)
      GTEST_SKIP() << "this processor rounds twice where a device rounds once";
  }
};

TEST_F(OptimizerKernels, EveryRuleHasTheBitsOfAProcessor) {
  for (const Kind kind : kinds) {
    const Optimizer optimizer{.kind = kind, .momentum = 0.9, .weight_decay = 1e-3};
    for (const std::size_t size : {1, 3, 4, 255, 1024, 1031}) {
      for (const std::size_t offset : {0, 1}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << ", " << size << " at " << offset);
        Both both(size, offset, state_slots(optimizer));
        if (needs_norms(optimizer)) {
          const TensorCalls calls(optimizer, 0.5);
          if (kind == Kind::lamb) {
            both.expect_equal(false, [&](const Update& u, auto state) { return *calls.measure(u, state); });
          }
          both.expect_equal(false,
                            [&](const Update& u, auto state) { return calls.finish(u, state, 0.1, 0.7); });
          continue;
        }
        for (const bool last : {false, true}) {
          both.expect_equal(
              last, [&](const Update& u, auto state) { return step_call(optimizer, u, state, 0.05, 0.5); });
        }
      }
    }
  }
}

TEST_F(OptimizerKernels, MeansAndAveragesHaveTheBitsOfAProcessor) {
  for (const std::size_t size : {1, 4, 1031}) {
    for (const bool last : {false, true}) {
      Both both(size, 0, 0);
      both.expect_equal(last, [&](const Update& u, auto) { return mean_call(u); });
      both.expect_equal(last, [&](const Update& u, auto) { return ema_call(u, 0.9); });
    }
  }
}

TEST(SliceKernels, FindAnElementThatIsNotFinite) {
  const auto found = [](const Floats& values) {
    Stream stream;
    const DeviceArray<float> x = to_device(stream, values);
    const DeviceArray<std::uint32_t> bad = to_device<std::uint32_t>(stream, {0});
    find_not_finite(stream, values.size(), x.data(), bad.data());
    return to_host(stream, bad)[0] == 1;
  };
  for (const std::size_t size : {1, 255, 5000}) {
    EXPECT_FALSE(found(Floats(size, std::numeric_limits<float>::max()))) << size;
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      for (const float value :
           {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
            std::numeric_limits<float>::quiet_NaN()}) {
        Floats values(size, -1.0F);
        values[at] = value;
        EXPECT_TRUE(found(values)) << size << ", " << at;
      }
    }
  }
}

// A sum over two slices, divided at any place.
TEST(SliceKernels, SquaresHaveTheBitsOfAProcessor) {
  for (const std::size_t size : {0, 1, 31, 33, 700, 1031}) {
    for (const std::size_t cut : {std::size_t{0}, size / 3, size}) {
      in_each_schedule([&] {
        Stream stream;
        const Floats values = random_floats(size, 7);
        SquareSum expected;
        expected.add(values);
        const DeviceArray<float> x = to_device(stream, values.empty() ? Floats(1) : values);
        const DeviceArray<double> chains = to_device(stream, std::vector<double>(square_chains));
        add_squares(stream, cut, x.data(), chains.data(), 0);
        add_squares(stream, size - cut, x.data() + cut, chains.data(), cut);
        double total = 0;
        for (const double chain : to_host(stream, chains)) total += chain;
        EXPECT_EQ(total, expected.total()) << size << " cut at " << cut;
      });
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::optimizer_kernels_test
