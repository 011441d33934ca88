// Casts between the storages of activations.
#include <gtest/gtest.h>

#include <vector>

#include "nn/cuda/context.h"
#include "nn/op_table.h"
#include "tests/nn/cuda/arrays.h"

namespace steelyard::nn::cuda::casts_test {
namespace {

constexpr std::uint32_t features = 21, samples = 3;

// Quarters up to 16: exact in both storages.
template <class T>
std::vector<T> quarters() {
  std::vector<T> all;
  for (std::uint32_t i = 0; i < samples * features; ++i) all.push_back(static_cast<float>(i) / 4);
  return all;
}

template <class From, class To>
void expect_exact_cast(Storage to_storage, bool add) {
  Stream stream;
  Products products(stream, Precision::bf16);
  const Context context{stream, products, nullptr, nullptr, nullptr};
  OpPlace place{.inputs = {{1, 1, features}}, .output = {1, 1, features}, .micro_batch = samples};
  place.storage = to_storage;
  const auto op = make_cast(place, context);
  const MicroBatch batch{.size = samples, .count = samples};
  const Pass pass{batch, true};
  const DeviceArray<From> input = to_device(stream, quarters<From>()),
                          d_input = to_device(stream, quarters<From>());
  const DeviceArray<To> output(input.size()), d_output = to_device(stream, quarters<To>());
  const float* const inputs[] = {reinterpret_cast<const float*>(input.data())};
  const InputGradient gradients[] = {{reinterpret_cast<float*>(d_input.data()), add}};
  auto* const out = reinterpret_cast<float*>(output.data());
  op->forward(pass, {inputs, {}, out, nullptr});
  op->backward(pass,
               {inputs, {}, out, reinterpret_cast<float*>(d_output.data()), gradients, {}, false, nullptr});
  const std::vector<To> forward = to_host(stream, output);
  const std::vector<From> back = to_host(stream, d_input);
  for (std::uint32_t i = 0; i < samples * features; ++i) {
    const float expected = static_cast<float>(i) / 4;
    ASSERT_EQ(float{forward[i]}, expected);
    ASSERT_EQ(float{back[i]}, add ? 2 * expected : expected);
  }
}

TEST(Casts, KeepNumbersThatBothStoragesHave) {
  for (const bool add : {false, true}) {
    expect_exact_cast<float, Bf16>(Storage::bf16, add);
    expect_exact_cast<Bf16, float>(Storage::float32, add);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::casts_test
