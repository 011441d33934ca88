#include "nn/cuda/implementation_list.h"

#include <gtest/gtest.h>

#include <vector>

namespace steelyard::nn::cuda::implementation_list_test {
namespace {

using Lines = std::vector<std::string>;

TEST(ImplementationList, GroupsSteps) {
  EXPECT_EQ(by_implementation(Lines{"conv1: cudnn", "fc1: cublaslt", "conv2: cudnn"}),
            "cublaslt: fc1; cudnn: conv1, conv2");
  EXPECT_EQ(by_implementation(Lines{}), "");
}

// A convolution that fell back is seen among fifty others.
TEST(ImplementationList, NamesTheRareOnes) {
  Lines lines(50, "conv: cudnn");
  lines[30] = "odd: direct";
  EXPECT_EQ(by_implementation(lines), "direct: odd; cudnn: 49 steps, as conv");
}

TEST(ImplementationList, AStepMayHaveAnyName) {
  EXPECT_EQ(by_implementation(Lines{"input (transposed): cuda"}), "cuda: input (transposed)");
}

}  // namespace
}  // namespace steelyard::nn::cuda::implementation_list_test
