// The kernels of docs/write_a_kernel.md: layer norm forward, starting with a plain loop. The fourth is that
// of nn/cuda/layer_norm.cu.
#include "nn/cuda/kernel.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::rungs_test {
namespace {

// out = (x - mean) / sqrt(variance + epsilon) * weight + bias, with mean and variance of a token's features.
struct Norm {
  std::uint32_t tokens, features;
  const float *x, *weight, *bias;
  float* out;
  float epsilon;
};
using Rung = void (*)(Stream& stream, const Norm& norm);

// ---- the comparison with the reference

bool right(Rung rung, const Question& q, const Floats& expected) {
  Stream stream;
  const DeviceArray<float> x = to_device(stream, q.inputs[0]), weight = to_device(stream, q.parameters[0]),
                           bias = to_device(stream, q.parameters[1]), out(x.size());
  const std::uint32_t features = q.place.output.channels;
  rung(stream, {static_cast<std::uint32_t>(x.size() / features), features, x.data(), weight.data(),
                bias.data(), out.data(), 1e-5F});
  const Floats ours = to_host(stream, out);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!(std::abs(ours[i] - expected[i]) <= 2e-4F * (1 + std::abs(expected[i])))) return false;
  }
  return true;
}

// Numbers of tokens and features around the sizes of blocks and warps.
void expect_right(Rung rung) {
  Random random(1);
  for (const Shape shape : {Shape{1, 1, 2}, Shape{1, 5, 33}, Shape{1, 9, 64}, Shape{1, 3, 301},
                            Shape{1, thorough ? 130U : 3U, 5}}) {
    SCOPED_TRACE(testing::Message() << shape.width << " tokens of " << shape.channels << " features");
    const MicroBatch batch{.size = 1, .count = 1};
    const Question q = random_question(LayerNorm(), {shape}, 1, 1, false, random);
    const Floats expected = run(*reference_op(q), q, {batch, false}).output;
    in_each_schedule([&] { EXPECT_TRUE(right(rung, q, expected)); });
  }
}

// ---- rung one: a thread for each token

__global__ void thread_a_token(Norm c) {
  const std::uint64_t token = thread_number();
  if (token >= c.tokens) return;
  const float* const row = c.x + token * c.features;
  const float n = static_cast<float>(c.features);
  float sum = 0, squares = 0;
  for (std::uint32_t f = 0; f < c.features; ++f) sum += row[f];
  const float mean = sum / n;
  for (std::uint32_t f = 0; f < c.features; ++f) squares += (row[f] - mean) * (row[f] - mean);
  const float reciprocal = 1 / sqrtf(squares / n + c.epsilon);
  for (std::uint32_t f = 0; f < c.features; ++f)
    c.out[token * c.features + f] = (row[f] - mean) * reciprocal * c.weight[f] + c.bias[f];
}

void rung_one(Stream& stream, const Norm& norm) {
  launch(stream, groups_of(norm.tokens, 128), 128, &thread_a_token, norm);
}

TEST(Rungs, Rung1ThreadPerTokenMatchesTheReference) { expect_right(&rung_one); }

// ---- rung two: a block for each token, with sums in shared memory

constexpr unsigned threads = 128;

__device__ float sum_in_shared_memory(float own) {
  STEELYARD_SHARED(float, partial, [threads]);
  partial[threadIdx.x] = own;
  __syncthreads();  // all have written
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();  // this half is whole
  }
  const float all = partial[0];
  __syncthreads();  // all have read, before a next sum writes
  return all;
}

__global__ void block_a_token(Norm c) {
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * c.features;
  const float n = static_cast<float>(c.features);
  float sum = 0, squares = 0;
  for (std::uint32_t f = threadIdx.x; f < c.features; f += threads) sum += c.x[begin + f];
  const float mean = sum_in_shared_memory(sum) / n;
  for (std::uint32_t f = threadIdx.x; f < c.features; f += threads) {
    const float away = c.x[begin + f] - mean;
    squares += away * away;
  }
  const float reciprocal = 1 / sqrtf(sum_in_shared_memory(squares) / n + c.epsilon);
  for (std::uint32_t f = threadIdx.x; f < c.features; f += threads)
    c.out[begin + f] = (c.x[begin + f] - mean) * reciprocal * c.weight[f] + c.bias[f];
}

void rung_two(Stream& stream, const Norm& norm) {
  launch(stream, norm.tokens, threads, &block_a_token, norm);
}

TEST(Rungs, Rung2BlockPerTokenMatchesTheReference) { expect_right(&rung_two); }

TEST(Rungs, Rung2NeedsEachBarrier) {
  Random random(2);
  const MicroBatch batch{.size = 1, .count = 1};
  const Question q = random_question(LayerNorm(), {{1, 3, 301}}, 1, 1, false, random);
  const Floats expected = run(*reference_op(q), q, {batch, false}).output;
  expect_barriers_of("rungs_test.cpp", [&] { return right(&rung_two, q, expected); });
}

// ---- rung three: a warp for each token; its lanes exchange registers

constexpr unsigned warps = 4;  // also the tokens per block

__device__ float sum_of_lanes(float value) {
  for (unsigned mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(all_lanes, value, mask);
  return value;
}

__global__ void warp_a_token(Norm c) {
  const std::uint64_t token = std::uint64_t{blockIdx.x} * warps + threadIdx.y;
  if (token >= c.tokens) return;  // all threads of a warp or none
  const std::uint64_t begin = token * c.features;
  const float n = static_cast<float>(c.features);
  float sum = 0, squares = 0;
  for (std::uint32_t f = threadIdx.x; f < c.features; f += 32) sum += c.x[begin + f];
  const float mean = sum_of_lanes(sum) / n;
  for (std::uint32_t f = threadIdx.x; f < c.features; f += 32) {
    const float away = c.x[begin + f] - mean;
    squares += away * away;
  }
  const float reciprocal = 1 / sqrtf(sum_of_lanes(squares) / n + c.epsilon);
  for (std::uint32_t f = threadIdx.x; f < c.features; f += 32)
    c.out[begin + f] = (c.x[begin + f] - mean) * reciprocal * c.weight[f] + c.bias[f];
}

void rung_three(Stream& stream, const Norm& norm) {
  launch(stream, groups_of(norm.tokens, warps), {32, warps}, &warp_a_token, norm);
}

TEST(Rungs, Rung3WarpPerTokenMatchesTheReference) { expect_right(&rung_three); }

// ---- rung four: the op

TEST(Rungs, Rung4TheOpMatchesTheReference) {
  Random random(3);
  expect_good_cuda_op(LayerNorm(), {{1, 5, 33}}, random);
}

}  // namespace
}  // namespace steelyard::nn::cuda::rungs_test
