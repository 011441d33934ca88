#include "worker/data/sets/synthetic.h"

#include <algorithm>
#include <numbers>

#include "core/check.h"
#include "core/error.h"
#include "core/random.h"
#include "worker/data/data_sets.h"

namespace steelyard {
namespace {

constexpr std::uint32_t square = 4;  // pixels with one value in a prototype

// 16 random bits as a number with mean 0 and deviation 1: uniform in +-sqrt(3).
float scatter(std::uint64_t bits) {
  constexpr float scale = 2 * std::numbers::sqrt3_v<float> / 0x10000;
  return (static_cast<float>(bits & 0xFFFF) - 32767.5F) * scale;
}

// Far beyond any use, and small enough that no product of them overflows.
constexpr std::uint64_t most_samples = std::uint64_t{1} << 40;
constexpr std::uint64_t most_prototype_floats = std::uint64_t{1} << 28;

DataSets make_synthetic(const Options& options) {
  const auto small = [&](const char* key) { return static_cast<std::uint32_t>(options.whole(key)); };
  SyntheticOptions train;
  train.classes = small("classes");
  train.shape = {small("height"), small("width"), small("channels")};
  train.noise = options.number("noise");
  train.seed = options.whole("seed");
  if (train.classes * train.shape.size() > most_prototype_floats) {
    throw Failure(ExitCode::configuration, "classes x height x width x channels is more than " +
                                               std::to_string(most_prototype_floats) +
                                               ": make the pictures smaller");
  }
  SyntheticOptions test = train;
  test.part = 1;
  train.samples = options.whole("train");
  test.samples = options.whole("test");
  return {std::make_shared<const SyntheticDataSet>(train), std::make_shared<const SyntheticDataSet>(test)};
}

}  // namespace

SyntheticDataSet::SyntheticDataSet(const SyntheticOptions& options) : options_(options) {
  const nn::Shape shape = options.shape;
  // Each value is a hash of its place, so squares need no bookkeeping.
  CHECK(options.samples > 0 && options.classes > 0 && shape.size() > 0, "an empty data set");
  prototypes_.reserve(options.classes * shape.size());
  for (std::uint32_t label = 0; label < options.classes; ++label) {
    for (std::uint32_t row = 0; row < shape.height; ++row) {
      for (std::uint32_t column = 0; column < shape.width; ++column) {
        for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
          const std::uint64_t bits = hash(options.seed, label, row / square, column / square, channel);
          prototypes_.push_back(static_cast<float>(2 * unit(bits) - 1));
        }
      }
    }
  }
}

void SyntheticDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  CHECK(index < options_.samples, "a sample is read that does not exist");
  // Each sample has its own sequence: first the label, then the noise.
  Random random(hash(options_.seed, options_.part, index));
  *labels = static_cast<std::uint32_t>(random.below(options_.classes));
  const float* center = prototype(*labels);
  const float noise = static_cast<float>(options_.noise);
  const std::uint64_t count = options_.shape.size();
  // One random number supplies four pixels.
  for (std::uint64_t start = 0; start < count; start += 4) {
    std::uint64_t bits = random.next();
    const std::uint64_t end = std::min(start + 4, count);
    for (std::uint64_t i = start; i < end; ++i, bits >>= 16) into[i] = center[i] + noise * scatter(bits);
  }
}

DataTable synthetic_rows() {
  const auto side = [](const char* name, std::uint64_t otherwise) {
    return whole_option(name, otherwise, 1, longest_side, "of the pictures");
  };
  return {{"synthetic",
           make_synthetic,
           "noise around one random picture for each class, computed when read",
           {whole_option("train", 10000, 1, most_samples, "samples to train on"),
            whole_option("test", 1000, 1, most_samples, "samples to test on"),
            whole_option("classes", 10, 2, most_classes, "number of classes"), side("height", 28),
            side("width", 28), side("channels", 1),
            number_option("noise", 1, 0, 1000, "standard deviation; the pictures are in [-1, 1)"),
            whole_option("seed", 1, 0, UINT64_MAX, "of pictures and noise")}}};
}

}  // namespace steelyard
