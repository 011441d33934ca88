// Samples that a device keeps: inputs with the bits that the host would copy.
#include "nn/cuda/kept_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "core/random.h"
#include "nn/cuda/cuda_network.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/schedules.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::cuda::kept_samples_test {
namespace {

// Random bytes, and a random number for each byte of each channel.
struct Pictures {
  Pictures(Shape its_shape, std::uint32_t its_samples, std::uint64_t seed = 3)
      : shape(its_shape), samples(its_samples) {
    Random random(seed);
    for (std::uint64_t i = 0; i < samples * shape.size(); ++i)
      codes.push_back(static_cast<std::uint8_t>(random.below(256)));
    for (std::uint32_t i = 0; i < 256 * shape.channels; ++i)
      table.push_back(static_cast<float>(random.normal()));
    for (std::uint32_t i = 0; i < shape.channels; ++i) fill.push_back(100 + static_cast<float>(i));
  }

  [[nodiscard]] std::shared_ptr<KeptSamples> kept() const {
    auto there = std::make_shared<KeptSamples>(0, shape, samples);
    const std::size_t half = samples / 2 * shape.size();  // in two parts
    there->bring(samples / 2, std::span(codes).subspan(half));
    there->bring(0, std::span(codes).first(half));
    there->set_numbers(table, fill);
    return there;
  }

  // What a window shows, one number after the other.
  void show(const KeptSample& it, std::vector<float>& into) const {
    const auto height = static_cast<int>(shape.height), width = static_cast<int>(shape.width);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const int row = y + it.down, column = (it.flipped ? width - 1 - x : x) + it.right;
        const bool inside = row >= 0 && row < height && column >= 0 && column < width;
        for (std::uint32_t c = 0; c < shape.channels; ++c) {
          const std::size_t at = static_cast<std::size_t>(row * width + column) * shape.channels + c;
          into.push_back(inside ? table[256 * c + codes[it.index * shape.size() + at]] : fill[c]);
        }
      }
    }
  }

  Shape shape;
  std::uint32_t samples;
  std::vector<std::uint8_t> codes;
  std::vector<float> table, fill;
};

std::vector<KeptSample> windows(std::uint32_t samples) {
  return {{samples - 1, 0, 0, false}, {0, 1, -2, false},   {1, -1, 2, true}, {2, 0, 0, true},
          {2, 100, 0, false},         {1, 0, -9999, true}, {0, 2, 1, false}};
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> all;
  for (const float value : values) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}

// With packs of four, and without.
TEST(KeptSamples, ShowEachWindow) {
  for (const Shape shape : {Shape{4, 6, 3}, Shape{5, 3, 1}, Shape{3, 3, 3}, Shape{8, 8, 1}, Shape{1, 1, 5}}) {
    const Pictures pictures(shape, 5);
    const auto kept = pictures.kept();
    const std::vector<KeptSample> all = windows(5);
    std::vector<float> expected;
    for (const KeptSample& it : all) pictures.show(it, expected);
    expected.resize(expected.size() + 2 * shape.size());  // padding
    in_each_schedule([&] {
      Stream stream;
      const DeviceArray<KeptSample> list = to_device(stream, all);
      const DeviceArray<float> inputs(expected.size());
      const auto count = static_cast<std::uint32_t>(all.size());
      kept->show(stream, list.data(), count + 2, count, inputs.data());
      EXPECT_EQ(bits(to_host(stream, inputs)), bits(expected)) << shape.height << " x " << shape.width;
    });
  }
}

TEST(KeptSamples, CountTheirBytes) {
  EXPECT_EQ(KeptSamples(0, {4, 6, 3}, 10).bytes(), 720U);
  EXPECT_EQ(KeptSamples(0, {4, 6, 3}, 10).samples(), 10U);
}

// A network trains on named samples as on copied ones, bit for bit: in both storages, without and with a
// graph, with padding, and with both kinds of micro-batches by turns.
TEST(KeptSamples, TrainANetworkAsCopiedOnesDo) {
  for (const Precision precision : {Precision::float32, Precision::bf16}) {
    Model model = Model({6, 6, 3}, 4).conv2d("c", {.channels = 4, .kernel = 3}).relu().linear("out", 4);
    model.multiply_in(precision);
    const Pictures pictures(model.input(), 20);
    std::vector<KeptSample> names;
    Data data(model, 16, 5);
    data.inputs.clear();
    for (std::uint32_t i = 0; i < 16; ++i) {
      names.push_back(
          {i, static_cast<std::int16_t>(i % 5 - 2), static_cast<std::int16_t>(i % 3 - 1), i % 2 == 1});
      pictures.show(names.back(), data.inputs);
    }
    const std::vector<float> parameters = initial(model);
    Network network(model, 0, 8, false);
    network.keep(pictures.kept());
    const auto trained = [&](std::vector<bool> named) {
      std::vector<float> gradient(model.parameters());
      const auto batch = [&](std::uint32_t i, std::uint32_t count) {
        MicroBatch it = data.batch(8 * i, 8, count);
        if (!named[i]) return it;
        it.inputs = nullptr;
        it.kept = names.data() + std::size_t{8} * i;
        return it;
      };
      network.begin(parameters);
      network.train(batch(0, 8), false);
      network.train(batch(1, 5), true);
      const Sums sums = network.finish(gradient, {});
      network.begin(parameters);
      network.evaluate(batch(1, 5));
      return std::pair(std::pair(sums, network.finish({}, {})), bits(gradient));
    };
    const auto expected = trained({false, false});
    for (int again = 0; again < 3; ++again) EXPECT_EQ(trained({true, true}), expected);
    EXPECT_EQ(trained({true, false}), expected);
    EXPECT_EQ(trained({false, true}), expected);
  }
}

using KeptSamplesDeathTest = testing::Test;

TEST(KeptSamplesDeathTest, OthersAreRefused) {
  const Model model = Model({2, 2, 1}, 2).linear("out", 2);
  Network network(model, 0, 4, false);
  Data data(model, 4, 1);
  const std::vector<KeptSample> names{{0, 0, 0, false}, {3, 0, 0, false}, {1, 0, 0, false}, {2, 0, 0, false}};
  MicroBatch batch = data.batch(0, 4, 4);
  batch.kept = names.data();
  const std::vector<float> parameters = initial(model);
  network.begin(parameters);
  EXPECT_DEATH(network.train(batch, true), "not kept");
  network.keep(Pictures({2, 2, 1}, 3).kept());
  EXPECT_DEATH(network.train(batch, true), "not kept");
  network.abandon();
}

}  // namespace
}  // namespace steelyard::nn::cuda::kept_samples_test
