// Graphs of cuDNN for devices that are not there: cuDNN accepts them, and compiles their kernels, or refuses.
#include "nn/cuda/device/attention_graph.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "nn/cuda/algorithm_choice.h"

namespace steelyard::nn::cuda::attention_graph_test {
namespace {

using testing::HasSubstr;

struct Card {
  int capability, multiprocessors, shared_memory, threads, blocks;  // of a multiprocessor
};
constexpr Card a100{80, 108, 166912, 2048, 32}, h100{90, 132, 232448, 2048, 32},
    b200{100, 148, 232448, 2048, 32}, rtx5090{120, 170, 101376, 1536, 24};

// cuDNN refuses a description without one of these.
AttentionDevice device(const Card& card) {
  const auto field = [](const char* name, std::int64_t value) {
    return ",\"" + std::string(name) + "\":" + std::to_string(value);
  };
  return {.capability = card.capability,
          .properties = R"({"deviceName":"card","maxGridSize":[2147483647,65535,65535],)"
                        R"("maxBlockSize":[1024,1024,64])" +
                        field("deviceVer", 10 * card.capability) + field("driverVer", 13000) +
                        field("cudaDeviceId", 0) + field("regsPerBlock", 65536) +
                        field("multiProcessorCount", card.multiprocessors) +
                        field("smClockRateKHz", 1980000) + field("memClockRateKHz", 2619000) +
                        field("l2CacheSize", 50 << 20) + field("warpSize", 32) +
                        field("maxSharedMemoryPerBlock", 48 << 10) +
                        field("maxSharedMemoryPerBlockOptin", card.shared_memory) +
                        field("reservedSharedMemoryPerBlock", 1024) + field("maxRegistersPerSM", 65536) +
                        field("pciDeviceId", 0) + field("maxCtasPerSM", card.blocks) +
                        field("maxThreadsPerBlock", 1024) + field("maxThreadsPerSM", card.threads) +
                        field("isTccDriver", 0) + field("supportCoopLaunch", 1) +
                        field("totalGlobalMem", 80LL << 30) + "}"};
}

constexpr AttentionSizes gpt2{.samples = 8, .heads = 12, .tokens = 1024, .length = 64, .causal = true};

void expect_accepted(const AttentionSizes& sizes) {
  for (const Card& card : {a100, h100, b200, rtx5090}) {
    SCOPED_TRACE(testing::Message() << sizes.samples << " samples, " << sizes.heads << " heads of "
                                    << sizes.length << ", " << sizes.tokens << " tokens, sm_"
                                    << card.capability);
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const AttentionGraph graph(sizes, direction, device(card));
      EXPECT_FALSE(graph.plan().empty());
      // At most a matrix of tokens x tokens, in bf16, for each head, with a little around it.
      const std::int64_t tokens = (sizes.tokens + 127) / 128 * 128;
      EXPECT_LE(graph.workspace(), sizes.samples * sizes.heads * tokens * (2 * tokens + 64) + 1024);
    }
  }
}

TEST(AttentionGraph, IsAcceptedForGpt2) {
  expect_accepted(gpt2);
  AttentionSizes one = gpt2;
  one.samples = 1;
  expect_accepted(one);
}

TEST(AttentionGraph, IsAcceptedForOtherModels) {
  expect_accepted({.samples = 8, .heads = 8, .tokens = 65, .length = 64, .causal = false});   // vit
  expect_accepted({.samples = 8, .heads = 4, .tokens = 128, .length = 64, .causal = false});  // transformer
  expect_accepted({.samples = 1, .heads = 6, .tokens = 256, .length = 64, .causal = true});   // gpt
}

TEST(AttentionGraph, IsAcceptedForHeadsOf8To128) {
  for (const std::int64_t length : {8, 40, 128})
    expect_accepted({.samples = 2, .heads = 2, .tokens = 130, .length = length, .causal = true});
}

// So that attention.h's refusal is a reason for people.
TEST(AttentionGraph, IsRefusedWithOneLineForHeadsThatAreNotMultiplesOf8) {
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    try {
      const AttentionGraph graph({.samples = 1, .heads = 2, .tokens = 40, .length = 12, .causal = true},
                                 direction, device(h100));
      FAIL();
    } catch (const NoAlgorithm& refusal) {
      EXPECT_THAT(refusal.what(), HasSubstr("multiple of 8"));
      EXPECT_THAT(refusal.what(), testing::Not(HasSubstr("\n")));
    }
  }
}

TEST(AttentionGraph, RefusesADeviceThatIsNotDescribed) {
  EXPECT_THROW(AttentionGraph(gpt2, Direction::forward, {.capability = 90, .properties = "{}"}), NoAlgorithm);
}

}  // namespace
}  // namespace steelyard::nn::cuda::attention_graph_test
