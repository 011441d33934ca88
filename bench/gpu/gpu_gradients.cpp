// Every built-in model: its gradient on the device, in each precision, against the processor's in float32,
// for two micro-batches, the second one smaller and padded. The same piece is computed as it is, captured,
// and as a graph, and must give the same bits.
//
// The allowed distance is as in the worker's own check (worker/compute/checked_engine.h): ten times the
// change of the processor's gradient if parameters move by the rounding of the precision, and at least a
// floor.
#include <algorithm>
#include <cmath>
#include <memory>
#include <variant>

#include "bench/gpu/compared.h"
#include "bench/gpu/gpu_models.h"
#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/timing.h"
#include "bench/pairs.h"
#include "core/random.h"
#include "nn/cuda/cuda_network.h"
#include "nn/network.h"
#include "tests/nn/lifted_norms.h"

namespace steelyard::bench {
namespace {

double floor_of(Precision precision) {
  return precision == Precision::float32 ? 1e-3 : precision == Precision::tf32 ? 1e-2 : 5e-2;
}
// As a share of each number.
float rounding(Precision precision) {
  return precision == Precision::float32 ? 0x1p-23F : precision == Precision::tf32 ? 0x1p-12F : 0x1p-9F;
}

// A model with its piece, and the processor's gradient of it, computed at first use.
class Question {
 public:
  explicit Question(const GpuModel& of)
      : model_(nn::make_model(of.name, small_sizes() ? of.small : of.published)),
        most_(small_sizes() ? of.small_samples : of.samples),
        samples_(model_, most_, of.tokens),
        parameters_(model_.parameters()) {
    model_.initialize(parameters_, 1);
    nn::lift_norms(model_, parameters_);
    const nn::MicroBatch whole = samples_.batch(most_, most_);
    // Half as many places, one of them padding.
    const std::uint32_t half = most_ / 2, count = half > 1 ? half - 1 : half;
    piece_ = {whole, samples_.batch(half, count)};
    expected_ = on_processor(parameters_);
  }

  void ask(Precision precision, const std::string& title) const {
    const nn::Model model = nn::Model(model_).multiply_in(precision);
    nn::cuda::Network network(model, 0, most_);
    std::vector<float> first = on_device(network);
    for (const char* how : {"captured", "as a graph"}) {
      // The executor would do the same again, which takes long for large models.
      if (small_sizes() && (how[0] == 'a' || model.parameters() > 1'000'000)) continue;
      expect(on_device(network) == first, std::string("other bits when ") + how + " than when run as it is");
    }
    spoil_if_planted(first);
    const double share = relative_distance(first, expected_), least = floor_of(precision);
    // The change costs another gradient of the processor.
    const double limit = share <= least ? least : std::max(least, 10 * change(rounding(precision)));
    const std::string percent = short_number(100 * share) + " % of its length",
                      of = short_number(100 * limit);
    expect(std::isfinite(limit), "the processor's gradient is not finite");
    expect(share <= limit,
           "the gradient differs from the processor's by " + percent + "; allowed: " + of + " %");
    print({title, "correct", percent + ", allowed " + of + " %", steps(network)});
  }

 private:
  // The change of the processor's gradient if each parameter moves by this share.
  [[nodiscard]] double change(float share) const {
    std::vector<float> near = parameters_;
    for (std::size_t i = 0; i < near.size(); ++i) near[i] *= 1 + (hash(i) % 2 == 0 ? share : -share);
    return relative_distance(on_processor(near), expected_);
  }

  std::vector<float> on_processor(const std::vector<float>& parameters) const {
    nn::Network network(model_);
    std::vector<float> gradient(model_.parameters());
    bool add = false;
    for (const nn::MicroBatch& batch : piece_) {
      network.train(parameters, batch, gradient, add, nullptr);
      add = true;
    }
    return gradient;
  }

  std::vector<float> on_device(nn::cuda::Network& network) const {
    std::vector<float> gradient(model_.parameters(), NAN);
    network.begin(parameters_);
    for (std::size_t i = 0; i < piece_.size(); ++i) network.train(piece_[i], i + 1 == piece_.size());
    network.finish(gradient, {});
    return gradient;
  }

  // "53 steps by cudnn, 0 direct, 12 merged"
  static std::string steps(const nn::cuda::Network& network) {
    const auto all = network.implementations();
    const auto count = [&](const char* word) {
      return std::ranges::count_if(all, [&](const auto& it) { return it.find(word) != std::string::npos; });
    };
    return std::to_string(count("cudnn")) + " steps by cudnn, " + std::to_string(count("direct")) +
           " direct, " + std::to_string(count("with bias") + count("layer norm behind")) + " merged";
  }

  nn::Model model_;
  std::uint32_t most_;
  RandomSamples samples_;
  std::vector<float> parameters_;
  std::vector<nn::MicroBatch> piece_;
  std::vector<float> expected_;
};

}  // namespace

std::vector<Case> model_cases() {
  std::vector<Case> cases;
  // Only the last model's question is kept: gradients of all models would fill the memory.
  const auto kept = std::make_shared<std::pair<std::string, std::unique_ptr<Question>>>();
  for (const GpuModel& it : gpu_models()) {
    for (const Precision precision : every_precision) {
      if (precision == Precision::tf32 && !measures()) continue;  // the executor does not round factors
      const std::string title = "model " + it.name + ", " + name(precision);
      cases.push_back({title, [=, &it] {
                         if (kept->first != it.name) *kept = {it.name, std::make_unique<Question>(it)};
                         kept->second->ask(precision, title);
                       }});
    }
  }
  return cases;
}

}  // namespace steelyard::bench
