#include "nn/cuda/sweeps.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/random.h"
#include "nn/cuda/array_kernels.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::sweeps_test {
namespace {

template <unsigned n>
__global__ void count_up(std::uint32_t places, const float* in, float* out) {
  const unsigned i = n * thread_in_sample();
  if (i >= places) return;
  const std::uint64_t at = std::uint64_t{blockIdx.y} * places + i;
  Pack<n> pack = load<n>(in + at);
  for (unsigned k = 0; k < n; ++k) pack.x[k] += 1;
  store<n>(out + at, pack);
}

TEST(CudaInSamples, VisitsEachNumberOnce) {
  Stream stream;
  for (const std::uint32_t places : {1U, 31U, 32U, 60U, 255U, 256U, 1028U}) {
    constexpr std::uint32_t samples = 3;
    const DeviceArray<float> numbers(samples * places);
    const PinnedArray<float> seen(samples * places);
    stream.fill_zero(numbers.data(), sizeof(float) * numbers.size());
    const auto packing = can_pack(places, numbers.data());
    EXPECT_EQ(packing.packed, places % 4 == 0);
    with_packs(packing, [&](auto n) {
      const float* const in = numbers.data();
      launch_in_samples(stream, samples, places / n, &count_up<n>, places, in, numbers.data());
    });
    stream.copy_array(seen.data(), numbers.data(), numbers.size());
    stream.synchronize();
    for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen.data()[i], 1) << i << " of " << places;
  }
}

TEST(CudaInSamples, PacksOnlyAlignedNumbers) {
  alignas(16) const float numbers[8]{};
  EXPECT_TRUE(can_pack(4, numbers, numbers + 4).packed);
  EXPECT_FALSE(can_pack(4, numbers, numbers + 1).packed);
  EXPECT_FALSE(can_pack(6, numbers).packed);
}

// Of arrays of both types the shorter one has packs of 16 bytes.
TEST(CudaInSamples, PacksOfShorterNumbersAreLonger) {
  alignas(16) const float numbers[8]{};
  alignas(16) const Bf16 halves[16]{};
  EXPECT_TRUE(can_pack(8, numbers, halves + 8).packed);
  EXPECT_FALSE(can_pack(4, numbers, halves).packed);
  EXPECT_FALSE(can_pack(8, numbers, halves + 4).packed);
  with_packs(can_pack(8, halves), [](auto n) { EXPECT_EQ(n, 8U); });
  EXPECT_TRUE(are_packs_of<4>(4, halves + 4)) << "eight bytes";
  EXPECT_FALSE(are_packs_of<4>(4, halves + 2));
}

struct Difference {
  __device__ float operator()(float a, float b) const { return a - b; }
};

TEST(CudaByChannel, UsesTheNumbersOfItsSampleAndChannel) {
  Stream stream;
  for (const Places places : {Places{1, 1, 1}, Places{2, 3, 5}, Places{3, 7, 8}, Places{2, 20, 33}}) {
    const std::uint64_t few = places.samples * places.channels, many = few * places.each;
    const DeviceArray<float> numbers(few), values(many), sums(few);
    const PinnedArray<float> host_numbers(few), host_values(many), host_sums(few);
    for (std::uint64_t i = 0; i < few; ++i) host_numbers.data()[i] = static_cast<float>(1000 * i);
    for (std::uint64_t i = 0; i < many; ++i) host_values.data()[i] = static_cast<float>(i);
    in_each_schedule([&] {
      stream.copy_array(numbers.data(), host_numbers.data(), few);
      stream.copy_array(sums.data(), host_numbers.data(), few);
      stream.copy_array(values.data(), host_values.data(), many);
      const float* const in = values.data();
      channel_sums(stream, places, Difference(), 1, true, sums.data(), in, in);
      by_channel(stream, places, Difference(), numbers.data(), values.data(), in);
      const PinnedArray<float> results(many);
      stream.copy_array(results.data(), values.data(), many);
      stream.copy_array(host_sums.data(), sums.data(), few);
      stream.synchronize();
      for (std::uint64_t i = 0; i < many; ++i) {
        const std::uint64_t number =
            i / places.channels / places.each * places.channels + i % places.channels;
        ASSERT_EQ(results.data()[i], host_numbers.data()[number] - static_cast<float>(i)) << i;
      }
      for (std::uint64_t i = 0; i < few; ++i) ASSERT_EQ(host_sums.data()[i], host_numbers.data()[i]) << i;
    });
  }
}

struct Itself {
  __device__ float operator()(float x) const { return x; }
};

TEST(CudaByChannel, SumsBelongToOneSampleAndChannel) {
  Stream stream;
  constexpr Places places{2, 3, 2};
  const DeviceArray<float> values(12), sums(4);
  const PinnedArray<float> host(12), results(4);
  for (int i = 0; i < 12; ++i) host.data()[i] = static_cast<float>(i);
  stream.copy_array(values.data(), host.data(), 12);
  const float* const in = values.data();
  channel_sums(stream, places, Itself(), 2, false, sums.data(), in);
  stream.copy_array(results.data(), sums.data(), 4);
  stream.synchronize();
  EXPECT_EQ(results.data()[0], 12);  // twice 0 + 2 + 4
  EXPECT_EQ(results.data()[1], 18);
  EXPECT_EQ(results.data()[2], 48);
  EXPECT_EQ(results.data()[3], 54);
}

// out = 1000 run + 100 column + in
struct Marked {
  const float* in;
  float* out;
  template <unsigned n>
  __device__ Pack<n> of_column(unsigned run, std::uint32_t column) const {
    Pack<n> marks;
    for (unsigned i = 0; i < n; ++i) marks.x[i] = static_cast<float>(1000 * run + 100 * (column + i));
    return marks;
  }
  template <unsigned n>
  __device__ void operator()(const Pack<n>& marks, std::uint64_t, std::uint64_t at) const {
    Pack<n> values = load<n>(in + at);
    for (unsigned i = 0; i < n; ++i) values.x[i] += marks.x[i];
    store(out + at, values);
  }
};

// The sums of the numbers, each plus half its column's number, and of their squares, without the rows from
// `real` on.
struct Sums {
  static constexpr unsigned sums = 2;
  const float* in;
  std::uint64_t real;
  template <unsigned n>
  __device__ Pack<n> of_column(unsigned, std::uint32_t column) const {
    Pack<n> halves;
    for (unsigned i = 0; i < n; ++i) halves.x[i] = static_cast<float>(column + i) / 2;
    return halves;
  }
  template <unsigned n>
  __device__ void operator()(const Pack<n>& halves, std::uint64_t row, std::uint64_t at,
                             Pack<n> (&own)[2]) const {
    if (row >= real) return;
    const Pack<n> values = load<n>(in + at);
    for (unsigned i = 0; i < n; ++i) {
      own[0].x[i] += values.x[i] + halves.x[i];
      own[1].x[i] += values.x[i] * values.x[i];
    }
  }
};

constexpr Runs shapes[] = {{1, 1, 1},       {7, 7, 3},     {600, 600, 33}, {90, 20, 4},   {129, 64, 40},
                           {3000, 1500, 1}, {500, 400, 6}, {40, 4, 100},   {652, 326, 33}};

PinnedArray<float> random_numbers(std::uint64_t size, std::uint64_t seed) {
  Random random(seed);
  PinnedArray<float> numbers(size);
  for (std::uint64_t i = 0; i < size; ++i) numbers.data()[i] = static_cast<float>(random.uniform());
  return numbers;
}

class OnMatrix {
 public:
  explicit OnMatrix(const Runs& runs) : in(random_numbers(runs.rows * runs.columns, 1)), matrix(in.size()) {
    stream.copy_array(matrix.data(), in.data(), in.size());
  }
  PinnedArray<float> fetched(const DeviceArray<float>& from) {
    PinnedArray<float> out(from.size());
    stream.copy_array(out.data(), from.data(), from.size());
    stream.synchronize();
    return out;
  }
  Stream stream;
  PinnedArray<float> in;
  DeviceArray<float> matrix;
};

enum class Way : std::uint8_t { packs, unaligned_packs };

bool right_sums(const Runs& runs, Way way = Way::packs) {
  OnMatrix on(runs);
  const std::uint64_t real = runs.rows - runs.rows / 5, size = sums_size(runs);
  DeviceArray<float> partials(2 * size), moved(on.matrix.size() + 1);
  const float* in = on.matrix.data();
  if (way == Way::unaligned_packs) {
    on.stream.copy_array(moved.data() + 1, in, on.matrix.size());
    in = moved.data() + 1;
  }
  sum_packs(on.stream, runs, Sums{in, real}, partials.data(), in);
  const PinnedArray<float> out = on.fetched(partials);
  bool right = true;
  for (unsigned run = 0; run < runs.count(); ++run) {
    for (std::uint32_t c = 0; c < runs.columns; ++c) {
      double sum = 0, squares = 0, ours = 0, our_squares = 0;
      for (std::uint64_t r = run * runs.each; r < (run + 1) * runs.each && r < real; ++r) {
        const double x = on.in.data()[r * runs.columns + c];
        sum += x + c / 2.0;
        squares += x * x;
      }
      for (unsigned p = 0; p < pieces_of(runs); ++p) {
        const std::uint64_t at = (std::uint64_t{run} * pieces_of(runs) + p) * runs.columns + c;
        ours += out.data()[at];
        our_squares += out.data()[size + at];
      }
      right = right && std::abs(ours - sum) <= 1e-5 * (1 + sum) &&
              std::abs(our_squares - squares) <= 1e-5 * (1 + squares);
    }
  }
  return right;
}

TEST(SumPacks, ComputesTheSumsOfEachRun) {
  for (const Runs& runs : shapes) {
    in_each_schedule([&] {
      for (const Way way : {Way::packs, Way::unaligned_packs})
        EXPECT_TRUE(right_sums(runs, way)) << runs.rows << " x " << runs.columns << ", " << int(way);
    });
  }
}

TEST(SumPacks, SplitsLongRuns) {
  EXPECT_EQ(pieces_of({100000, 100000, 32}), 196U) << "16 rows for each of 8 x 32 threads";
  EXPECT_EQ(pieces_of({100000, 100000, 64}), 391U);
  EXPECT_EQ(pieces_of({100000, 100000, 33}), 512U) << "two blocks side by side, number by number";
  EXPECT_EQ(pieces_of({100000, 100000, 768}), 170U) << "six blocks side by side";
  EXPECT_EQ(pieces_of({300, 300, 33}), 3U);
  EXPECT_EQ(pieces_of({300, 300, 100000}), 1U);
}

TEST(SumPacks, EachBarrierIsNeeded) {
  expect_barriers_of("sweeps.h", [&] { return right_sums(shapes[2]) && right_sums(shapes[4]); });
}

TEST(SweepColumns, VisitsEachNumberOnce) {
  for (const Runs& runs : shapes) {
    OnMatrix on(runs);
    // An unaligned matrix (not at a multiple of 16 bytes) is processed number by number.
    for (const std::uint64_t skipped : {0, 1}) {
      DeviceArray<float> to(on.in.size() + 1);
      on.stream.fill_zero(to.data(), to.size() * sizeof(float));
      float* const begin = to.data() + skipped;
      sweep_columns(on.stream, runs, Marked{on.matrix.data(), begin}, on.matrix.data(), begin);
      const PinnedArray<float> out = on.fetched(to);
      for (std::uint64_t i = 0; i < on.in.size(); ++i) {
        const std::uint64_t row = i / runs.columns, column = i % runs.columns;
        const float expected = on.in.data()[i] + static_cast<float>(1000 * (row / runs.each) + 100 * column);
        ASSERT_FLOAT_EQ(out.data()[skipped + i], expected) << i;
      }
    }
  }
}

TEST(ColumnSums, AreComputedInOneStageOrTwo) {
  for (const bool add : {false, true}) {
    for (const auto& [rows, columns] :
         {std::pair{1U, 5U}, {512U, 8U}, {513U, 8U}, {5000U, 5U}, {5000U, 40U}}) {
      OnMatrix on({rows, rows, columns});
      DeviceArray<float> workspace(column_sums_workspace(rows, columns)), sums(columns);
      on.stream.copy_array(sums.data(), on.matrix.data(), columns);
      column_sums(on.stream, on.matrix.data(), rows, columns, add, sums.data(), workspace.data());
      const PinnedArray<float> ours = on.fetched(sums);
      for (std::uint32_t c = 0; c < columns; ++c) {
        double sum = add ? on.in.data()[c] : 0;
        for (std::uint64_t r = 0; r < rows; ++r) sum += on.in.data()[r * columns + c];
        EXPECT_NEAR(ours.data()[c], sum, 1e-5 * (1 + sum)) << rows << " x " << columns;
      }
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::sweeps_test
