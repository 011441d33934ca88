#include "worker/compute/checked_engine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "nn/cpu/onednn.h"
#include "nn/network.h"

namespace steelyard {
namespace {

constexpr std::uint64_t pieces_between = 1024;
// A few seconds of a CPU, for both gradients that it computes.
constexpr double most_flops = 100e9;

// Statistics over fewer samples are too sensitive to compare.
constexpr std::uint32_t least_samples = 8;

std::uint32_t samples_to_check(const nn::Model& model) {
  const double affordable = most_flops / 2 / std::max(model.flops_per_sample(), 1.0);
  return static_cast<std::uint32_t>(std::min(std::max(affordable, 2.0), 1.0 * model.micro_batch()));
}

// The same model in float32 and for no more samples than a check needs.
nn::Model for_checks(nn::Model model) {
  model.multiply_in(Precision::float32);
  if (model.normalizes_shares()) model.normalize_shares(nn::largest_micro_batch);
  return model;
}

struct Rounding {
  double floor;  // least tolerance for a gradient
  float moves;   // as a share of each parameter
};
Rounding rounding(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return {5e-2, 0x1p-9F};
    case Precision::tf32:
      return {1e-2, 0x1p-12F};
    case Precision::float32:
      break;
  }
  return {1e-3, 0x1p-23F};
}

// Returns the given micro-batch first, then the rest.
class Again final : public Samples {
 public:
  Again(const nn::MicroBatch* first, Samples& rest) : first_(first), rest_(rest) {}
  const nn::MicroBatch* next() override {
    return first_ != nullptr ? std::exchange(first_, nullptr) : rest_.next();
  }
  [[nodiscard]] bool at_end() const override { return rest_.at_end(); }

 private:
  const nn::MicroBatch* first_;
  Samples& rest_;
};

class Alone final : public Samples {
 public:
  explicit Alone(const nn::MicroBatch& batch) : batch_(&batch) {}
  const nn::MicroBatch* next() override { return std::exchange(batch_, nullptr); }
  [[nodiscard]] bool at_end() const override { return true; }

 private:
  const nn::MicroBatch* batch_;
};

// |a - b| as a share of |b|.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double{a[i]} - double{b[i]}, 2);
    length += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / length);
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g %%", 100 * share);
  return text;
}

}  // namespace

CheckedEngine::CheckedEngine(std::unique_ptr<Engine> engine, const nn::Model& model, Precision precision,
                             std::string name)
    : engine_(std::move(engine)),
      model_(for_checks(model)),
      precision_(precision),
      samples_(samples_to_check(model_)),
      name_(std::move(name)) {}

nn::Sums CheckedEngine::train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                              const FinalRange& on_final) {
  const nn::MicroBatch* const first = samples.next();
  if (first == nullptr) return {};
  if (pieces_to_next_ > 0) {
    --pieces_to_next_;
  } else if (first->count >= std::min(samples_, least_samples)) {
    check(parameters, *first);
  }
  Again all(first, samples);
  return engine_->train(parameters, all, gradient, on_final);
}

void CheckedEngine::check(std::span<const float> parameters, const nn::MicroBatch& batch) {
  nn::MicroBatch part = batch;
  part.count = std::min(samples_, batch.count);
  part.size = std::bit_ceil(part.count);
  std::vector<float> ours(parameters.size()), processors(parameters.size()), moved(parameters.size());
  Alone alone(part);
  engine_->train(parameters, alone, ours, {});
  const Rounding by = rounding(precision_);
  nn::onednn::use_this_thread_only();
  nn::Network network(model_);
  network.train(parameters, part, processors, false, nullptr);
  std::vector<float> near(parameters.begin(), parameters.end());
  for (std::size_t i = 0; i < near.size(); ++i) near[i] *= 1 + (hash(i) % 2 == 0 ? by.moves : -by.moves);
  network.train(near, part, moved, false, nullptr);

  const double sensitivity = distance(moved, processors), limit = std::max(by.floor, 10 * sensitivity);
  // A diverged training has no gradient to compare; the servers report it.
  if (!std::isfinite(sensitivity)) return;
  const double off = distance(ours, processors);
  if (off <= limit) {  // false for NaN
    beyond_ = false;
    pieces_to_next_ = pieces_between - 1;
    return;
  }
  if (!std::exchange(beyond_, true)) return;  // the next piece decides
  throw Failure(ExitCode::failed, "the gradients of " + name_ + " differ by " + percent(off) +
                                      " from the processor's for the same samples; rounding to " +
                                      steelyard::name(precision_) + " explains " + percent(limit) +
                                      ": this device computes wrong results. Check its memory "
                                      "(`nvidia-smi -q` lists errors) and its driver, or do not use it");
}

}  // namespace steelyard
