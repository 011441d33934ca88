#include "nn/cuda/host/executor.h"

#include <gmock/gmock.h>

#include <atomic>

#include "nn/cuda/kernel.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::executor_test {
namespace {

using testing::Each;
using testing::ElementsAre;

template <class... Arguments>
void run(Extent grid, Extent block, const Arguments&... arguments) {
  Stream stream;
  launch(stream, grid, block, arguments...);
  stream.synchronize();
}

__global__ void count(unsigned* seen) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  ++seen[block * blockDim.x * blockDim.y * blockDim.z + thread];
}

TEST(Executor, EachThreadRunsOnce) {
  in_each_schedule([] {
    std::vector<unsigned> seen(3 * 2 * 4 * 5 * 3 * 2, 0);
    run({3, 2, 4}, {5, 3, 2}, &count, seen.data());
    EXPECT_THAT(seen, Each(1));
  });
}

__global__ void number(std::atomic<unsigned>* next, unsigned* order) {
  order[(*next)++] = blockIdx.x * blockDim.x + threadIdx.x;
}

TEST(Executor, SchedulesRunThreadsInDifferentOrders) {
  const auto order = [](host::Schedule schedule, std::uint64_t seed) {
    host::Executor::mine().choose(schedule, seed);
    std::atomic<unsigned> next = 0;
    std::vector<unsigned> all(12);
    run(3, 4, &number, &next, all.data());
    host::Executor::mine().choose(host::Schedule::forward);
    return all;
  };
  EXPECT_THAT(order(host::Schedule::forward, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(order(host::Schedule::reverse, 1), ElementsAre(11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  EXPECT_EQ(order(host::Schedule::random, 1), order(host::Schedule::random, 1));
  EXPECT_NE(order(host::Schedule::random, 1), order(host::Schedule::random, 2));
}

// Reverses the numbers twice: in the second pass no thread may overwrite shared memory before all have read
// it.
__global__ void turn_round(float* numbers, bool first_barrier, bool second_barrier) {
  STEELYARD_SHARED(float, all, [128]);
  for (unsigned i = 0; i < 2; ++i) {
    all[threadIdx.x] = numbers[threadIdx.x];
    if (first_barrier) __syncthreads();
    numbers[threadIdx.x] = all[127 - threadIdx.x] + 1;
    if (second_barrier) __syncthreads();
  }
}

bool turns(bool first_barrier, bool second_barrier) {
  std::vector<float> numbers(128), expected(128);
  for (std::size_t i = 0; i < 128; ++i) numbers[i] = static_cast<float>(i), expected[i] = numbers[i] + 2;
  run(1, 128, &turn_round, numbers.data(), first_barrier, second_barrier);
  return numbers == expected;
}

TEST(Executor, ABarrierWaitsForAllThreads) {
  in_each_schedule([] { EXPECT_TRUE(turns(true, true)); });
}

TEST(Executor, AMissingBarrierGivesWrongResults) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer aborts the program, as the next test shows";
#endif
  in_each_schedule([] {
    EXPECT_FALSE(turns(false, true));
    EXPECT_FALSE(turns(true, false));
  });
}

TEST(ExecutorDeathTest, ThreadSanitizerDetectsAMissingBarrier) {
#if !defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "built without it";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT((turns(false, true), std::exit(0)), testing::ExitedWithCode(66), "data race");
  EXPECT_EXIT((turns(true, false), std::exit(0)), testing::ExitedWithCode(66), "data race");
}

// Two warps without a barrier between them: correct in any order of whole warps, but still a race.
__global__ void meet_in_memory(unsigned* last) { *last = threadIdx.x / 32; }

TEST(ExecutorDeathTest, ThreadSanitizerDetectsARaceBetweenWarps) {
#if !defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "built without it";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto race = [] {
    unsigned last = 0;
    run(1, 64, &meet_in_memory, &last);
    std::exit(0);
  };
  EXPECT_EXIT(race(), testing::ExitedWithCode(66), "data race");
}

__global__ void read_one_more(float* out) {
  STEELYARD_SHARED(float, tile, [8]);
  const float* const begin = tile;
  out[0] = begin[8 + threadIdx.x];
}

TEST(ExecutorDeathTest, AddressSanitizerDetectsOverrunsOfSharedMemory) {
#if !defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "built without it";
#endif
  float out = 0;
  EXPECT_DEATH(run(1, 1, &read_one_more, &out), "heap-buffer-overflow");
}

__global__ void reduce(const float* in, float* sums, float* maxima) {
  const float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  const float sum = block_sum(value), greatest = block_max(value);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum, maxima[blockIdx.x] = greatest;
}

TEST(Executor, WarpsExchangeAndBlocksReduce) {
  in_each_schedule([] {
    std::vector<float> in(3 * 96), sums(3), maxima(3);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 97);
    run(3, 96, &reduce, in.data(), sums.data(), maxima.data());
    for (std::size_t b = 0; b < 3; ++b) {
      float sum = 0, greatest = 0;
      for (std::size_t i = 96 * b; i < 96 * (b + 1); ++i) sum += in[i], greatest = std::max(greatest, in[i]);
      EXPECT_EQ(sums[b], sum);
      EXPECT_EQ(maxima[b], greatest);
    }
  });
}

__global__ void shift(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  out[threadIdx.x] = 1000 * __shfl_down_sync(all_lanes, lane, 3) + __shfl_sync(all_lanes, threadIdx.x, 5);
}

TEST(Executor, ALaneWithoutAPartnerKeepsItsValue) {
  std::vector<unsigned> out(64);
  run(1, 64, &shift, out.data());
  EXPECT_EQ(out[0], 3005U);
  EXPECT_EQ(out[28], 31005U);
  EXPECT_EQ(out[29], 29005U);
  EXPECT_EQ(out[63], 31037U);
}

__global__ void show_shared(float* out) {
  STEELYARD_SHARED(float, fresh, [4]);
  out[4 * blockIdx.x + threadIdx.x] = fresh[threadIdx.x];
  fresh[threadIdx.x] = 1;
}

TEST(Executor, SharedMemoryStartsAsNan) {
  std::vector<float> out(8);
  run(2, 4, &show_shared, out.data());
  EXPECT_THAT(out, Each(testing::IsNan()));
}

__global__ void half_of_them_wait() {
  if (threadIdx.x < 16) __syncthreads();
}
__global__ void half_of_the_lanes_meet() {
  if (threadIdx.x < 16) __syncwarp();
}
__global__ void two_barriers() {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void nothing() {}
__global__ void too_much() {
  STEELYARD_SHARED(float, tile, [12289]);
  tile[0] = 0;
}

TEST(ExecutorDeathTest, ReportsInvalidKernels) {
  EXPECT_DEATH(run(1, 64, &half_of_them_wait),
               "of 64 threads of a block 48 have returned; thread 0 and others "
               "wait at the barrier .*executor_test.cpp");
  EXPECT_DEATH(run(1, 32, &half_of_the_lanes_meet), "wait for lanes of their warp at .*executor_test.cpp");
  EXPECT_DEATH(run(1, 32, &two_barriers), "thread 0 and others.*thread 16 and others");
  EXPECT_DEATH(run(1, 1025, &nothing), "more threads in a block than 1024");
  EXPECT_DEATH(run(0, 32, &nothing), "no blocks");
  EXPECT_DEATH(run({1, 65536}, 32, &nothing), "65535 in y or z");
  EXPECT_DEATH(run(1, 1, &too_much), "48 KB");
}

TEST(Executor, ListsBarriersAndCanSkipThem) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer aborts the program if a barrier is missing";
#endif
  host::Executor& executor = host::Executor::mine();
  executor.take_barriers();
  EXPECT_TRUE(turns(true, true));
  const std::vector<std::string> barriers = executor.take_barriers();
  ASSERT_EQ(barriers.size(), 2U);
  for (const std::string& barrier : barriers) {
    executor.leave_out(barrier);
    EXPECT_FALSE(turns(true, true)) << barrier;
  }
  executor.leave_out({});
  EXPECT_TRUE(turns(true, true));
}

}  // namespace
}  // namespace steelyard::nn::cuda::executor_test
