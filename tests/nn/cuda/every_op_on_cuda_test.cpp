// Every op of the table on a CUDA device. Each case is a separate test, named after its op, so that a filter
// can select the few tests that must notice a fault planted in a kernel.
#include "tests/nn/cuda/on_device.h"
#include "tests/nn/ops/op_cases.h"

namespace steelyard::nn {

void PrintTo(const OpCase& it, std::ostream* out) { *out << name_of(it.kind); }  // NOLINT: GoogleTest's name

}  // namespace steelyard::nn

namespace steelyard::nn::cuda::every_op_on_cuda_test {
namespace {

class CudaOp : public testing::TestWithParam<OpCase> {};

TEST_P(CudaOp, AgreesWithTheReference) {
  Random random(1);
  expect_good_cuda_op(GetParam().kind, GetParam().inputs, random, GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(Table, CudaOp, testing::ValuesIn(op_cases()), [](const auto& it) {
  return name_of(it.param.kind) + std::string("_") + std::to_string(it.index);
});

}  // namespace
}  // namespace steelyard::nn::cuda::every_op_on_cuda_test
