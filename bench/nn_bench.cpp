// Training steps on one thread, as in a worker's compute node: micro-batches of 32 summed into one flat
// gradient, 128 samples per step. The limit is the FMA peak of this thread within the same minutes. All times
// are CPU time of the thread, so that other processes on the core do not affect the figures.
#include <cmath>
#include <future>
#include <vector>

#include "bench/hardware.h"
#include "bench/nn/fma_peak.h"
#include "bench/sections.h"
#include "core/buffer.h"
#include "core/random.h"
#include "nn/cpu/onednn.h"
#include "nn/models.h"
#include "nn/network.h"
#include "nn/optimizer/rule.h"

namespace steelyard::bench {
namespace {

constexpr std::uint32_t batch = 128, micro = nn::largest_micro_batch;

// One model in training, with its own data.
class Trainee {
 public:
  Trainee(const std::string& name, std::uint64_t seed)
      : model_(nn::make_model(name, {{28, 28, 1}, 10, {}})),
        network_(model_),
        parameters_(model_.parameters()),
        next_(model_.parameters()),
        gradient_(model_.parameters()),
        momentum_(model_.parameters()),
        inputs_(batch * model_.input().size()),
        labels_(batch),
        positions_(batch) {
    model_.initialize(parameters_, seed);
    Random random(seed);
    const std::uint64_t size = model_.input().size();
    for (std::uint32_t i = 0; i < batch; ++i) {
      labels_[i] = static_cast<std::uint32_t>(random.below(10));
      positions_[i] = i;
      for (std::uint64_t at = 0; at < size; ++at) {  // the image of its class, and noise
        const double picture = unit(hash(seed, labels_[i], at));
        inputs_[i * size + at] = static_cast<float>(picture + random.uniform() - 1);
      }
    }
  }

  // Forward and backward over all samples; returns the loss per sample.
  double compute() { return gradients_of(network_, gradient_); }

  // compute(), and the update of a server: SGD with momentum and weight decay.
  double compute_and_update() {
    const double loss = compute();
    nn::step({nn::Optimizer::Kind::momentum, 0.9, 1e-4}, {next_, parameters_, gradient_, 1.0 / batch},
             momentum_, 0.05, 1);
    std::swap(next_, parameters_);
    return loss;
  }

  // Throws WrongResult unless the fast kernels agree with the plain ones and training lowers the loss.
  void check() {
    nn::Network plain(model_, nn::Backend::reference);
    std::vector<float> wanted(gradient_.size());
    const double plain_loss = gradients_of(plain, wanted), loss = compute();
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      difference += std::pow(static_cast<double>(gradient_[i]) - static_cast<double>(wanted[i]), 2);
      norm += std::pow(static_cast<double>(wanted[i]), 2);
    }
    expect(difference <= 1e-10 * norm && std::abs(loss - plain_loss) <= 1e-5 * plain_loss,
           "nn: the gradient of the fast kernels differs from that of the plain ones");
    double last = loss;
    for (int i = 0; i < 400; ++i) last = compute_and_update();
    expect(last < 0.9 * loss,
           "nn: training changed the loss from " + std::to_string(loss) + " to " + std::to_string(last));
  }

  // Samples per second of CPU time.
  double rate(double (Trainee::*step)(), double for_seconds) {
    std::uint64_t samples = 0;
    double taken = 0;
    const Duration start = thread_cpu_time();
    for (; taken < for_seconds; taken = seconds(thread_cpu_time() - start)) {
      expect(std::isfinite((this->*step)()), "nn: the loss is not finite");
      samples += batch;
    }
    return static_cast<double>(samples) / taken;
  }
  [[nodiscard]] double gigaflops_per_sample() const { return model_.flops_per_sample() * 1e-9; }

 private:
  double gradients_of(nn::Network& network, std::vector<float>& gradient) {
    nn::Sums sums;
    for (std::uint32_t at = 0; at < batch; at += micro) {
      const nn::MicroBatch part{inputs_.data() + at * model_.input().size(),
                                labels_.data() + at,
                                positions_.data() + at,
                                micro,
                                micro,
                                1,
                                0};
      sums += network.train(parameters_, part, gradient, at > 0, nullptr);
    }
    return sums.loss / batch;
  }

  nn::Model model_;
  nn::Network network_;
  std::vector<float> parameters_, next_, gradient_, momentum_, inputs_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::uint64_t> positions_;
};

Spread scaled(const Spread& spread, double factor) {
  return {spread.median * factor, spread.lowest * factor, spread.highest * factor};
}

void run(const Effort& effort, Table& table) {
  pin(0);
  nn::onednn::use_this_thread_only();
  Trainee mlp("mlp", effort.seed), lenet("lenet5", effort.seed);
  mlp.check();
  lenet.check();
  const double reading = seconds(effort.reading);
  const auto spreads =
      alternate(effort.pairs, {[&] { return fma_gigaflops(reading / 2); },
                               [&] { return mlp.rate(&Trainee::compute, reading); },
                               [&] { return lenet.rate(&Trainee::compute, reading); },
                               [&] { return mlp.rate(&Trainee::compute_and_update, reading); },
                               [&] { return lenet.rate(&Trainee::compute_and_update, reading); }});
  const Spread& peak = spreads[0];
  const double mlp_flops = mlp.gigaflops_per_sample(), lenet_flops = lenet.gigaflops_per_sample();
  table.add({"MLP 784-512-256-10", "GFLOP/s", scaled(spreads[1], mlp_flops), "FMA peak", peak, false, 0.75});
  table.add({"",
             "k samples/s",
             scaled(spreads[1], 1e-3),
             "the peak allows",
             scaled(peak, 1e-3 / mlp_flops),
             false,
             {}});
  // 25 k samples/s at a peak of 117 GFLOP/s, as a fraction of the peak.
  const double lenet_share = 25e3 * lenet_flops / 117;
  table.add({"LeNet-5", "k samples/s", scaled(spreads[2], 1e-3), "the peak allows",
             scaled(peak, 1e-3 / lenet_flops), false, lenet_share});
  table.add({"MLP, with the update",
             "k samples/s",
             scaled(spreads[3], 1e-3),
             "the peak allows",
             scaled(peak, 1e-3 / mlp_flops),
             false,
             {}});
  table.add({"LeNet-5, with the update",
             "k samples/s",
             scaled(spreads[4], 1e-3),
             "the peak allows",
             scaled(peak, 1e-3 / lenet_flops),
             false,
             {}});
}

}  // namespace

void nn_section(const Effort& effort, Table& table) {
  table.section("training steps, one thread, 128 samples in micro-batches of 32");
  std::async(std::launch::async, [&] { run(effort, table); }).get();  // a separate, pinned thread
}

}  // namespace steelyard::bench
