// A network whose parameters are partly on its device, and whose gradient stays there: the bits of one that
// gets and gives both on the host. For all models, with padding.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "nn/cuda/cuda_network.h"
#include "nn/cuda/device_values.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::cuda::placed_parameters_test {
namespace {

using Floats = std::vector<float>;

std::vector<Slice> halves(std::uint64_t floats) { return {{0, floats / 2, 0}, {floats / 2, floats, 0}}; }

struct Result {
  Floats gradient;
  Sums sums;
};

// Two micro-batches, the second with three samples of padding.
void train(Network& network, const Data& data) {
  network.train(data.batch(0, 8, 8), false);
  network.train(data.batch(8, 8, 5), true);
}

Result on_host(Network& network, const Floats& parameters, const Data& data) {
  Result result{Floats(parameters.size()), {}};
  network.begin(parameters);
  train(network, data);
  result.sums = network.finish(result.gradient, {});
  return result;
}

class Placed : public testing::Test {
 protected:
  void SetUp() override { use_device(0); }

  std::shared_ptr<DeviceBuffer> written(DevicePool& pool, const PinnedArray<float>& source) {
    std::shared_ptr<DeviceBuffer> buffer = pool.take(stream);
    stream.copy_array(buffer->values().data(), source.data(), source.size());
    buffer->written(stream);
    return buffer;
  }
  Result there(Network& network, const Floats& parameters, const Data& data) {
    const std::vector<Slice> slices = halves(parameters.size());
    PinnedArray<float> source(slices[1].size()), others(slices[1].size());
    std::copy(parameters.begin() + static_cast<std::ptrdiff_t>(slices[1].begin), parameters.end(),
              source.data());
    std::fill_n(others.data(), others.size(), 77.0F);
    DevicePool pool(slices[1].size());
    {
      const auto buffer = written(pool, source);
      const std::vector<Network::Placed> placed{
          {0, {std::span(parameters).first(slices[0].end), nullptr}},
          {slices[1].begin, {{}, std::make_shared<CudaValues>(0, buffer, buffer->values())}}};
      EXPECT_TRUE(network.has_here(placed));
      EXPECT_FALSE(network.has_here(std::span(placed).first(1)));
      network.begin_there(placed);
    }
    written(pool, others);  // the next version takes the same memory, at once
    stream.synchronize();
    train(network, data);
    Result result{Floats(parameters.size()), {}};
    std::vector<std::shared_ptr<const DeviceValues>> kept;
    result.sums = network.finish_there({slices, nullptr, [&](auto values) { kept = std::move(values); }});
    for (std::size_t i = 0; i < slices.size(); ++i)
      std::ranges::copy(kept[i]->on_host().values,
                        result.gradient.begin() + static_cast<std::ptrdiff_t>(slices[i].begin));
    return result;
  }

  Stream stream;
};

TEST_F(Placed, ParametersGiveTheSameBits) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const Floats parameters = initial(model);
    const Data data(model, 13, 5);
    Network network(model, 0, 8, false);
    const Result expected = on_host(network, parameters, data);
    for (int turn = 0; turn < 3; ++turn) {  // as it is, captured, as a graph
      const Result result = there(network, parameters, data);
      EXPECT_EQ(result.gradient, expected.gradient);
      EXPECT_EQ(result.sums.loss, expected.sums.loss);
      EXPECT_EQ(result.sums.correct, expected.sums.correct);
    }
    EXPECT_EQ(on_host(network, parameters, data).gradient, expected.gradient) << "and again on the host";
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::placed_parameters_test
