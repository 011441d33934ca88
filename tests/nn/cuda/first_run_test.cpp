// The first run of a network on a device that runs out of memory, refuses captures, or fails.
#include <gmock/gmock.h>

#include "core/error.h"
#include "nn/cuda/cuda_network.h"
#include "nn/cuda/host/executor.h"
#include "nn/cuda/runtime.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::cuda::first_run_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// On a device with these faults; without any afterwards.
struct FirstRun : testing::Test {
  Model model = Model({1, 1, 20}, 5).linear("a", 8).relu().linear("b", 5);
  std::vector<float> parameters = initial(model);
  Data data{model, 64, 6};

  ~FirstRun() override { host::plant({}); }

  // Two micro-batches, of which the first is neither the last nor needs the gradient of another.
  std::vector<float> gradient(Network& network) {
    std::vector<float> values(model.parameters(), NAN);
    network.begin(parameters);
    network.train(data.batch(0, 16, 16), false);
    network.train(data.batch(16, 16, 16), true);
    network.finish(values, {});
    return values;
  }
};

TEST_F(FirstRun, TryingOutChangesNoResult) {
  Network plain(model, 0, 16, false), tried(model, 0, 16, true);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(gradient(tried), gradient(plain));
  EXPECT_THAT(tried.take_remarks(), IsEmpty());
}

// Micro-batches are then computed without graphs for good, which is remarked on once.
TEST_F(FirstRun, RefusedCapturesChangeNoResult) {
  Network plain(model, 0, 16, false);
  const std::vector<float> expected = gradient(plain);
  host::plant({.refuses_captures = true});
  Network network(model, 0, 16, true);
  EXPECT_THAT(network.description(), AllOf(HasSubstr("micro-batches of up to 16 samples; "),
                                           HasSubstr("tiled: a, b"), HasSubstr("is refused in a capture")));
  const std::vector<std::string> remarks = network.take_remarks();
  ASSERT_THAT(remarks, SizeIs(1));
  EXPECT_THAT(remarks[0],
              HasSubstr("micro-batches run without a CUDA graph, and slower (first seen with 16 samples)"));
  EXPECT_THAT(remarks[0], HasSubstr("is refused in a capture"));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(gradient(network), expected);
  EXPECT_THAT(network.take_remarks(), IsEmpty());
  host::plant({});
  EXPECT_EQ(gradient(network), expected);
}

// Wherever memory runs out, in the constructor, in the first run or in the capture, half the samples may fit.
TEST_F(FirstRun, ExhaustedMemoryHalvesTheMicroBatch) {
  std::uint64_t call = 1;
  for (;; call += 7) {
    host::plant({.failing_call = call});
    Network network(model, 0, 2, true);
    if (network.micro_batch_sizes().front() == 2) break;
    ASSERT_EQ(network.micro_batch_sizes().front(), 1U) << "call " << call;
    ASSERT_THAT(network.take_remarks(), IsEmpty()) << "call " << call;
  }
  EXPECT_GT(call, 80U) << "four runs have more calls than that";
}

// Libraries may need more later.
TEST_F(FirstRun, LeavesMemoryFree) {
  const Model large = Model({1, 1, 20}, 5).linear("a", 4000).relu().linear("b", 5);
  const std::uint64_t spare = 512 << 20, two = Network(large, 0, 2, false).bytes();
  const std::uint64_t four = Network(large, 0, 4, false).bytes();
  const auto size_with = [&](std::uint64_t bytes, std::uint64_t reserved = 0) {
    host::limit_memory(host::used_memory() + bytes);
    const std::uint32_t size = Network(large, 0, 4, true, reserved).micro_batch_sizes().front();
    host::limit_memory(0);
    return size;
  };
  const std::uint64_t others = 50'000;  // small allocations that bytes() does not count
  EXPECT_EQ(size_with(spare + four + others), 4U);
  EXPECT_EQ(size_with(spare + (two + four) / 2), 2U);
  EXPECT_EQ(size_with(four + others), 1U) << "better than none";
  const std::uint64_t of_shards = 64 << 20;
  EXPECT_EQ(size_with(spare + of_shards + four + others, of_shards), 4U);
  EXPECT_EQ(size_with(spare + of_shards + (two + four) / 2, of_shards), 2U);
}

// Without memory for local steps on the device, they can be made on the host.
TEST_F(FirstRun, LocalStepsNeedMemory) {
  Network network(model, 0, 16, false);
  std::vector<float> moved(model.parameters());
  host::limit_memory(host::used_memory() + 4);
  EXPECT_THROW(network.begin_steps(parameters, moved), OutOfMemory);
  host::limit_memory(0);
  network.begin_steps(parameters, moved);
  network.abandon();
}

TEST_F(FirstRun, AModelThatNeverFitsIsRefused) {
  host::plant({.failing_call = 3});
  try {
    const Network network(model, 0, 1, true);
    FAIL() << "memory is exhausted at one sample";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(),
                HasSubstr("does not fit on the device, even at 1 samples at once: a call of the "
                          "host executor fails"));
  }
}

// A library may offer an algorithm and refuse to run it.
TEST_F(FirstRun, RefusedConvolutionsAreComputedByOurKernels) {
  Network plain(model, 0, 16, false);
  const std::vector<float> expected = gradient(plain);
  host::plant({.failing_call = 30, .trouble = Trouble::unsupported});
  Network network(model, 0, 16, true);
  EXPECT_EQ(network.micro_batch_sizes().front(), 16U);
  EXPECT_THAT(network.description(),
              HasSubstr("our own kernels compute all convolutions and attention, and slower: a "
                        "call of the host executor fails"));
  EXPECT_EQ(gradient(network), expected);
}

TEST_F(FirstRun, OtherErrorsNameTheFirstMicroBatch) {
  host::plant({.failing_call = 30, .trouble = Trouble::other});
  try {
    const Network network(model, 0, 16, true);
    FAIL() << "a call failed";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::failed);
    EXPECT_THAT(failure.what(), HasSubstr("a first micro-batch, of zeros, fails on the device: a call"));
  }
}

// In training, a graph for which memory lacks is done without.
TEST_F(FirstRun, AGraphWithoutMemoryDoesNotEndTraining) {
  Network network(model, 0, 16, false);
  const std::vector<float> expected = gradient(network);
  host::plant({.failing_call = 20});  // in the capture: bringing the samples takes fewer calls
  EXPECT_EQ(gradient(network), expected);
  const std::vector<std::string> remarks = network.take_remarks();
  ASSERT_THAT(remarks, SizeIs(1));
  EXPECT_THAT(remarks[0], HasSubstr("fails"));
  host::plant({.refuses_captures = true});
  EXPECT_EQ(gradient(network), expected);
  EXPECT_THAT(network.take_remarks(), IsEmpty()) << "there is no second attempt";
}

}  // namespace
}  // namespace steelyard::nn::cuda::first_run_test
