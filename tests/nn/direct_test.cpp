// The direct kernels of every level, compared with plain loops in double.
#include "nn/cpu/direct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "core/random.h"

namespace steelyard::nn::direct::direct_test {
namespace {

using Floats = std::vector<float>;

Floats random_floats(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Floats values(size);
  for (float& value : values) value = static_cast<float>(random.uniform() * 2 - 1);
  return values;
}

// Small integers: every sum is exact, and equal neighbours are common.
Floats random_integers(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Floats values(size);
  for (float& value : values) value = static_cast<float>(random.below(5)) - 2;
  return values;
}

void expect_near(const Floats& got, const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << "at " << i;
  }
}

// The index of a place in a buffer of lanes.
std::size_t place(const Shape& shape, std::uint32_t lanes, std::size_t c, std::size_t y, std::size_t x,
                  std::size_t s) {
  return ((c * shape.height + y) * shape.width + x) * lanes + s;
}

Shape input_shape(const Convolution& c) { return {c.height, c.width, c.in}; }
Shape input_shape(const Pool& p) { return {p.height, p.width, p.channels}; }
Shape output_shape(const Convolution& c) {
  return {c.height + 2 * c.padding + 1 - c.kernel, c.width + 2 * c.padding + 1 - c.kernel, c.out};
}
Shape output_shape(const Pool& p) { return {p.height / p.size, p.width / p.size, p.channels}; }

// Calls visit(place in the input, place in the output, place in the weights, out channel) for every product.
template <class Visit>
void each_product(const Convolution& c, Visit visit) {
  const Shape in = input_shape(c), out = output_shape(c);
  for (std::size_t o = 0; o < c.out; ++o)
    for (std::size_t y = 0; y < out.height; ++y)
      for (std::size_t x = 0; x < out.width; ++x)
        for (std::size_t r = 0; r < c.kernel; ++r)
          for (std::size_t s = 0; s < c.kernel; ++s) {
            if (y + r < c.padding || y + r - c.padding >= c.height) continue;
            if (x + s < c.padding || x + s - c.padding >= c.width) continue;
            for (std::size_t i = 0; i < c.in; ++i)
              for (std::size_t lane = 0; lane < c.lanes; ++lane) {
                visit(place(in, c.lanes, i, y + r - c.padding, x + s - c.padding, lane),
                      place(out, c.lanes, o, y, x, lane), ((o * c.kernel + r) * c.kernel + s) * c.in + i, o);
              }
          }
}

constexpr Level levels[] = {Level::baseline, Level::v3, Level::v4};

#define SKIP_WITHOUT(level) \
  if ((level) > cpu_level()) GTEST_SKIP() << "this processor has no " << name(level)

class DirectConvolution : public testing::TestWithParam<std::tuple<Level, Convolution>> {
 protected:
  void SetUp() override { SKIP_WITHOUT(level); }

  const Level level = std::get<0>(GetParam());
  const Convolution shape = std::get<1>(GetParam());
  const std::size_t inputs = input_shape(shape).size() * shape.lanes;
  const std::size_t outputs = output_shape(shape).size() * shape.lanes;
  const std::size_t weights = std::size_t{shape.out} * shape.kernel * shape.kernel * shape.in;
};

TEST_P(DirectConvolution, ForwardSumsOverTapsAndAddsBias) {
  const Floats x = random_floats(inputs, 1), w = random_floats(weights, 2), b = random_floats(shape.out, 3);
  std::vector<double> plain(outputs), biased(outputs);
  each_product(shape, [&](auto in, auto out, auto weight, auto) { plain[out] += double{x[in]} * w[weight]; });
  for (std::size_t i = 0; i < outputs; ++i) {
    biased[i] = std::max(0.0, plain[i] + b[i / (outputs / shape.out)]);
  }
  Floats y(outputs, NAN);
  forward(shape, x.data(), w.data(), nullptr, false, y.data(), level);
  expect_near(y, plain, 1e-5);
  forward(shape, x.data(), w.data(), b.data(), true, y.data(), level);
  expect_near(y, biased, 1e-5);
}

TEST_P(DirectConvolution, WeightGradientsAreWrittenOrAdded) {
  const Floats x = random_floats(inputs, 4), dy = random_floats(outputs, 5);
  std::vector<double> dw(weights), db(shape.out);
  each_product(shape, [&](auto in, auto out, auto weight, auto) { dw[weight] += double{x[in]} * dy[out]; });
  for (std::size_t i = 0; i < outputs; ++i) db[i / (outputs / shape.out)] += dy[i];
  Floats got(weights, NAN), got_bias(shape.out, NAN);
  backward_weights(shape, x.data(), dy.data(), false, got.data(), got_bias.data(), level);
  expect_near(got, dw, 1e-4);
  expect_near(got_bias, db, 1e-4);
  backward_weights(shape, x.data(), dy.data(), true, got.data(), got_bias.data(), level);
  for (double& value : dw) value *= 2;
  for (double& value : db) value *= 2;
  expect_near(got, dw, 1e-4);
  expect_near(got_bias, db, 1e-4);
}

TEST_P(DirectConvolution, DataGradientsAreTheTransposedSum) {
  const Floats dy = random_floats(outputs, 6), w = random_floats(weights, 7);
  std::vector<double> dx(inputs);
  each_product(shape, [&](auto in, auto out, auto weight, auto) { dx[in] += double{dy[out]} * w[weight]; });
  Floats got(inputs, NAN);
  backward_data(shape, dy.data(), w.data(), got.data(), level);
  expect_near(got, dx, 1e-5);
}

// The two convolutions of LeNet-5, then each block size of channels and taps, odd image sizes, and kernels as
// wide as the image or wider.
constexpr Convolution convolutions[] = {
    {28, 28, 1, 6, 5, 2, 32}, {14, 14, 6, 16, 5, 0, 32}, {14, 14, 6, 16, 5, 0, 16}, {8, 8, 3, 16, 3, 1, 32},
    {5, 9, 2, 1, 3, 1, 16},   {7, 5, 3, 2, 1, 0, 16},    {6, 6, 2, 3, 2, 1, 16},    {6, 7, 2, 4, 4, 3, 16},
    {9, 8, 4, 5, 7, 3, 32},   {8, 9, 7, 7, 3, 0, 16},    {5, 5, 1, 13, 5, 0, 16},   {3, 3, 2, 9, 6, 5, 16},
    {2, 2, 1, 11, 5, 2, 32},  {1, 1, 5, 8, 1, 0, 16},    {4, 1, 8, 12, 3, 2, 32},   {11, 4, 1, 10, 8, 4, 16},
};

std::string convolution_name(const testing::TestParamInfo<std::tuple<Level, Convolution>>& test) {
  const auto& [level, c] = test.param;
  const auto text = [](auto number) { return std::to_string(number); };
  return std::string(name(level)) + "_" + text(c.in) + "x" + text(c.height) + "x" + text(c.width) + "_to_" +
         text(c.out) + "_k" + text(c.kernel) + "p" + text(c.padding) + "_lanes" + text(c.lanes);
}
INSTANTIATE_TEST_SUITE_P(Levels, DirectConvolution,
                         testing::Combine(testing::ValuesIn(levels), testing::ValuesIn(convolutions)),
                         convolution_name);

class Direct : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override { SKIP_WITHOUT(level); }
  const Level level = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Levels, Direct, testing::ValuesIn(levels),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(Direct, UnalignedBuffersGiveTheSameBits) {
  const Convolution shape{6, 6, 2, 3, 3, 1, 16};
  const std::size_t inputs = input_shape(shape).size() * 16, outputs = output_shape(shape).size() * 16;
  const Floats x = random_floats(inputs, 1), w = random_floats(54, 2);
  Floats moved(1);
  moved.insert(moved.end(), x.begin(), x.end());
  Floats y(outputs), moved_y(outputs + 1);
  forward(shape, x.data(), w.data(), nullptr, false, y.data(), level);
  forward(shape, moved.data() + 1, w.data(), nullptr, false, moved_y.data() + 1, level);
  EXPECT_EQ(y, Floats(moved_y.begin() + 1, moved_y.end()));
}

TEST_P(Direct, FusedReluKeepsNan) {
  const Convolution shape{1, 1, 1, 1, 1, 0, 16};
  Floats x(16, -1.0F);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  const float weight = 2;
  Floats y(16);
  forward(shape, x.data(), &weight, nullptr, true, y.data(), level);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(y[2], 0);
}

TEST_P(Direct, ReluBackwardStopsWhereTheOutputIsZero) {
  Floats y = random_integers(96, 1), gradient = random_floats(96, 2);
  for (float& value : y) value = std::max(value, 0.0F);
  Floats wanted = gradient;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] == 0) wanted[i] = 0;
  }
  relu_backward(y.data(), gradient.data(), y.size(), level);
  EXPECT_EQ(gradient, wanted);
}

constexpr Pool pools[] = {{28, 28, 6, 2, 32}, {10, 10, 16, 2, 32}, {5, 7, 3, 2, 16},
                          {7, 8, 2, 3, 16},   {4, 4, 5, 4, 32},    {3, 2, 1, 1, 16}};

// Calls visit(places of the window in reading order, place in the output) for every window and lane.
template <class Visit>
void each_window(const Pool& p, Visit visit) {
  const Shape in = input_shape(p), out = output_shape(p);
  for (std::size_t c = 0; c < p.channels; ++c)
    for (std::size_t y = 0; y < out.height; ++y)
      for (std::size_t x = 0; x < out.width; ++x)
        for (std::size_t lane = 0; lane < p.lanes; ++lane) {
          std::vector<std::size_t> window;
          for (std::size_t r = 0; r < p.size; ++r)
            for (std::size_t s = 0; s < p.size; ++s) {
              window.push_back(place(in, p.lanes, c, y * p.size + r, x * p.size + s, lane));
            }
          visit(window, place(out, p.lanes, c, y, x, lane));
        }
}

TEST_P(Direct, MaxPoolMatchesPlainLoops) {
  for (const Pool& p : pools) {
    const std::size_t inputs = input_shape(p).size() * p.lanes, outputs = output_shape(p).size() * p.lanes;
    const Floats x = random_integers(inputs, 8), dy = random_floats(outputs, 9);
    Floats y(outputs), dx(inputs), dx_relu(inputs);
    each_window(p, [&](const auto& window, auto out) {
      std::size_t best = window[0];
      for (const std::size_t at : window) best = x[at] > x[best] ? at : best;
      y[out] = x[best];
      dx[best] = dy[out];
      dx_relu[best] = x[best] > 0 ? dy[out] : 0;
    });
    Floats got_y(outputs, NAN), got_dx(inputs, NAN);
    max_pool_forward(p, x.data(), got_y.data(), level);
    EXPECT_EQ(got_y, y) << p.size;
    max_pool_backward(p, x.data(), dy.data(), false, got_dx.data(), level);
    EXPECT_EQ(got_dx, dx) << p.size;
    got_dx.assign(inputs, NAN);
    max_pool_backward(p, x.data(), dy.data(), true, got_dx.data(), level);
    EXPECT_EQ(got_dx, dx_relu) << p.size;
  }
}

TEST_P(Direct, AveragePoolMatchesPlainLoops) {
  for (const Pool& p : pools) {
    const std::size_t inputs = input_shape(p).size() * p.lanes, outputs = output_shape(p).size() * p.lanes;
    const Floats x = random_floats(inputs, 10), dy = random_floats(outputs, 11);
    std::vector<double> y(outputs), dx(inputs);
    each_window(p, [&](const auto& window, auto out) {
      for (const std::size_t at : window) {
        y[out] += double{x[at]} / static_cast<double>(window.size());
        dx[at] = double{dy[out]} / static_cast<double>(window.size());
      }
    });
    Floats got_y(outputs, NAN), got_dx(inputs, NAN);
    average_pool_forward(p, x.data(), got_y.data(), level);
    expect_near(got_y, y, 1e-6);
    average_pool_backward(p, dy.data(), got_dx.data(), level);
    expect_near(got_dx, dx, 1e-6);
  }
}

TEST_P(Direct, TransposesRoundTrip) {
  for (const Shape shape :
       {Shape{28, 28, 1}, Shape{5, 5, 16}, Shape{3, 7, 3}, Shape{1, 1, 5}, Shape{1, 1, 16}}) {
    for (const auto& [lanes, count] : {std::pair{32U, 32U}, {32U, 17U}, {16U, 16U}, {16U, 1U}, {16U, 5U}}) {
      const Floats samples = random_floats(shape.size() * count, shape.size() + count);
      Floats wanted(shape.size() * lanes);  // zero in the lanes that hold no sample
      std::size_t next = 0;
      for (std::size_t s = 0; s < count; ++s)
        for (std::size_t y = 0; y < shape.height; ++y)
          for (std::size_t x = 0; x < shape.width; ++x)
            for (std::size_t c = 0; c < shape.channels; ++c)
              wanted[place(shape, lanes, c, y, x, s)] = samples[next++];
      Floats picture(wanted.size(), NAN);
      to_lanes(shape, lanes, count, samples.data(), picture.data(), level);
      EXPECT_EQ(picture, wanted) << shape.size() << " x " << count;
      Floats back(samples.size() + 1, 7);
      from_lanes(shape, lanes, count, picture.data(), back.data(), level);
      EXPECT_EQ(back.back(), 7) << "writes beyond the last sample";
      back.pop_back();
      EXPECT_EQ(back, samples) << shape.size() << " x " << count;
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::direct::direct_test
