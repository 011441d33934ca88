// An engine of your own, trained by a whole cluster: logistic regression, written by hand. It gets parameters
// and a stream of samples, and returns sums of gradient and loss. Division of samples, servers, balancing,
// fault tolerance and checkpoints are the same for all engines.
//
//   own_engine train examples/jobs/own_engine.toml    prints "test accuracy 93.30 %" after a second or two
//
// With --set model.name=external, model and data come from the workers: scheduler and servers may then run a
// program without this engine, such as `steelyard`.
#include <algorithm>
#include <cmath>
#include <memory>

#include <steelyard/run.h>

namespace {

using steelyard::nn::MicroBatch;
using steelyard::nn::Sums;

// Two classes. The parameters are one weight per feature, followed by the bias.
class LogisticRegression final : public steelyard::Engine {
 public:
  // With z = w x + b and p = 1 / (1 + exp(-z)), the loss is -log p for label 1 and -log(1 - p) for label 0.
  // Its gradient with respect to w is (p - label) x.
  Sums train(std::span<const float> parameters, steelyard::Samples& samples, std::span<float> gradient,
             const steelyard::FinalRange&) override {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    return walk(parameters, samples, [&](const float* x, double error) {
      for (std::size_t i = 0; i + 1 < gradient.size(); ++i) gradient[i] += static_cast<float>(error * x[i]);
      gradient.back() += static_cast<float>(error);
    });
  }
  Sums evaluate(std::span<const float> parameters, steelyard::Samples& samples) override {
    return walk(parameters, samples, [](const float*, double) {});
  }
  std::vector<std::uint32_t> micro_batch_sizes() const override { return {64, 1}; }
  std::uint64_t bytes() const override { return 0; }

 private:
  template <class Each>
  static Sums walk(std::span<const float> parameters, steelyard::Samples& samples, Each each) {
    const std::size_t features = parameters.size() - 1;
    Sums sums;
    while (const MicroBatch* batch = samples.next()) {
      for (std::uint32_t s = 0; s < batch->count; ++s) {
        const float* x = batch->inputs + s * features;
        const double label = batch->labels[s];
        double z = parameters.back();
        for (std::size_t i = 0; i < features; ++i) z += static_cast<double>(parameters[i]) * x[i];
        sums.loss += std::log1p(std::exp(label > 0 ? -z : z));
        sums.correct += (z > 0) == (label > 0) ? 1 : 0;
        each(x, 1 / (1 + std::exp(-z)) - label);
      }
    }
    return sums;
  }
};

steelyard::Workload logistic(const steelyard::DataSets& data) {
  steelyard::Workload workload{.data = data};
  append(workload.layout, "weight", {data.train->shape().size()});
  append(workload.layout, "bias", {1});
  workload.initialize = [](std::span<float> w, std::uint64_t) { std::fill(w.begin(), w.end(), 0.0F); };
  workload.make_engine = [] { return std::make_unique<LogisticRegression>(); };
  return workload;
}

steelyard::Workload brought() {
  const steelyard::DataSets data = steelyard::open_data("synthetic", {{"classes", "2"}, {"noise", "8"}});
  return logistic(data);
}

}  // namespace

int main(int argc, char** argv) {
  const auto named = [](const steelyard::DataSets& data, const steelyard::Options&) {
    return logistic(data);
  };
  return steelyard::run(
      argc, argv, {.engines = {{"logistic", named, "logistic regression by hand"}}, .workload = brought});
}
