#include "worker/compute/checked_engine.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "nn/cpu/onednn.h"
#include "nn/network.h"
#include "worker/compute/kept_data.h"

namespace steelyard {
namespace {

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
                             std::string name, std::function<Time()> clock)
    : WrappedEngine(std::move(engine)),
      model_(for_checks(model)),
      precision_(precision),
      samples_(samples_to_check(model_)),
      name_(std::move(name)),
      clock_(std::move(clock)) {}

CheckedEngine::~CheckedEngine() {
  leaving_ = true;
  if (comparison_.valid()) comparison_.wait();
}

CheckedEngine::KeptBatch::KeptBatch(const nn::Model& model, const nn::MicroBatch& from, std::uint32_t count,
                                    const KeptData* data)
    : batch(from) {
  batch.count = count;
  batch.size = std::bit_ceil(count);
  const auto copied = [&](auto& to, const auto* source, std::size_t each) {
    to.assign(each * batch.size, {});
    if (source != nullptr) std::copy_n(source, each * count, to.begin());
  };
  copied(inputs, from.inputs, model.input().size());
  copied(samples, from.kept, 1);
  for (std::uint32_t i = 0; from.kept != nullptr && i < count; ++i)
    data->read(samples[i], inputs.data() + i * model.input().size());
  copied(labels, from.labels, model.labels());
  copied(positions, from.positions, 1);
  if (from.targets != nullptr) copied(targets, from.targets, model.classes());
  batch.inputs = inputs.data();
  batch.labels = labels.data();
  batch.positions = positions.data();
  batch.targets = from.targets != nullptr ? targets.data() : nullptr;
  batch.kept = from.kept != nullptr ? samples.data() : nullptr;
}

void CheckedEngine::before_piece(const std::function<std::span<const float>()>& parameters) {
  if (comparison_.valid() && comparison_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    conclude();
  if (kept_) begin_comparison(parameters());
}

const nn::MicroBatch* CheckedEngine::first_of(Samples& samples) {
  const nn::MicroBatch* const first = samples.next();
  if (first == nullptr) return nullptr;
  const bool enough = first->count >= std::min(samples_, least_samples);
  if (!comparison_.valid() && schedule_.due(clock_()) && enough) {
    kept_ = std::make_unique<KeptBatch>(model_, *first, std::min(samples_, first->count), kept_data());
    schedule_.begin();
  } else {
    schedule_.pass();
  }
  return first;
}

nn::Sums CheckedEngine::train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                              const FinalRange& on_final) {
  return train_checked([&] { return parameters; }, samples,
                       [&](Samples& all) { return engine_->train(parameters, all, gradient, on_final); });
}

nn::Sums CheckedEngine::train_there(const Blob& parameters, Samples& samples,
                                    const DeviceGradient& gradient) {
  return train_checked(
      [&] { return parameters.floats(); }, samples,
      [&](Samples& all) { return engine_->device_trainer()->train_there(parameters, all, gradient); });
}

nn::Sums CheckedEngine::train_checked(const std::function<std::span<const float>()>& parameters,
                                      Samples& samples, const std::function<nn::Sums(Samples&)>& train) {
  before_piece(parameters);
  const nn::MicroBatch* const first = first_of(samples);
  if (first == nullptr) return {};
  Again all(first, samples);
  return train(all);
}

bool CheckedEngine::Steps::begin(std::span<const float> parameters, std::span<float> moved) {
  engine_.before_piece([&] { return parameters; });
  begun_ = true;
  return its().begin(parameters, moved);
}

nn::Sums CheckedEngine::Steps::train(Samples& samples) {
  if (!std::exchange(begun_, false)) return its().train(samples);
  const nn::MicroBatch* const first = engine_.first_of(samples);
  if (first == nullptr) return {};
  Again all(first, samples);
  return its().train(all);
}

void CheckedEngine::settle() {
  if (comparison_.valid()) conclude();
}

// The device computes here, since an engine belongs to one thread; the processor on another.
void CheckedEngine::begin_comparison(std::span<const float> parameters) {
  const Time begin = clock_();
  std::vector<float> ours(parameters.size());
  Alone alone(kept_->batch);
  engine_->train(parameters, alone, ours, {});
  const Duration cost = clock_() - begin;
  comparison_ =
      std::async(std::launch::async, [this, cost, batch = std::move(kept_), ours = std::move(ours),
                                      same = std::vector<float>(parameters.begin(), parameters.end())] {
        const Time started = clock_();
        Comparison result = compare(same, *batch, ours);
        result.cost = cost + (clock_() - started);
        return result;
      });
}

CheckedEngine::Comparison CheckedEngine::compare(const std::vector<float>& parameters, const KeptBatch& kept,
                                                 const std::vector<float>& ours) const {
  std::vector<float> processors(parameters.size()), moved(parameters.size()), near = parameters;
  const Rounding by = rounding(precision_);
  nn::onednn::use_this_thread_only();
  nn::Network network(model_);
  network.train(parameters, kept.batch, processors, false, nullptr);
  if (leaving_) return {};
  for (std::size_t i = 0; i < near.size(); ++i) near[i] *= 1 + (hash(i) % 2 == 0 ? by.moves : -by.moves);
  network.train(near, kept.batch, moved, false, nullptr);
  const double sensitivity = distance(moved, processors);
  return {.off = distance(ours, processors),
          .limit = std::max(by.floor, 10 * sensitivity),
          .comparable = std::isfinite(sensitivity)};
}

void CheckedEngine::conclude() {
  const Comparison result = comparison_.get();
  // A diverged training has no gradient to compare; the servers report it.
  if (!result.comparable || result.off <= result.limit) {  // false for NaN
    if (result.comparable) beyond_ = false;
    return schedule_.within_limit(clock_(), result.cost);
  }
  schedule_.beyond_limit();
  if (!std::exchange(beyond_, true)) return;  // the next piece decides
  throw Failure(ExitCode::failed, "the gradients of " + name_ + " differ by " + percent(result.off) +
                                      " from the processor's for the same samples; rounding to " +
                                      steelyard::name(precision_) + " explains " + percent(result.limit) +
                                      ": this device computes wrong results. Check its memory "
                                      "(`nvidia-smi -q` lists errors) and its driver, or do not use it");
}

}  // namespace steelyard
