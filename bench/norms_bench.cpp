// Norms, activations and addition at the sizes of small image networks: the bytes that a forward and a
// backward pass must move, beside what memcpy moves between two buffers of 2 MB in the same minutes. Buffers
// of that size are in a cache, as they are in a network whose layers follow each other.
#include <cstring>
#include <future>
#include <vector>

#include "bench/hardware.h"
#include "bench/sections.h"
#include "core/random.h"
#include "nn/cpu/fused.h"
#include "nn/cpu/ops.h"

namespace steelyard::bench {
namespace {

constexpr std::uint32_t micro = nn::largest_micro_batch;

std::vector<float> noise(std::size_t size) {
  std::vector<float> values(size);
  Random random(size);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  return values;
}

// One op with buffers of its own.
class Moving {
 public:
  // `sweeps`: how many buffers of the output's size both passes read and write, at the least.
  Moving(std::string name, std::unique_ptr<nn::Op> op, nn::Shape shape, std::size_t inputs,
         std::size_t parameters, double sweeps)
      : name_(std::move(name)),
        op_(std::move(op)),
        bytes_(sweeps * static_cast<double>(shape.size() * micro * sizeof(float))),
        output_(shape.size() * micro),
        d_output_(noise(shape.size() * micro)) {
    for (std::size_t i = 0; i < inputs; ++i) {
      inputs_.push_back(noise(output_.size()));
      d_inputs_.emplace_back(output_.size());
      sources_.push_back(inputs_[i].data());
      gradients_.push_back({d_inputs_[i].data(), false});
    }
    for (std::size_t i = 0; i < parameters; ++i) {
      parameters_.push_back(noise(shape.channels));
      d_parameters_.emplace_back(shape.channels);
      parameter_sources_.push_back(parameters_[i].data());
      parameter_gradients_.push_back(d_parameters_[i].data());
    }
  }

  // GB/s of CPU time.
  double rate(double for_seconds) {
    const nn::MicroBatch batch{.size = micro, .count = micro};
    const nn::Pass pass{batch, true};
    double taken = 0, moved = 0;
    const Duration start = thread_cpu_time();
    for (; taken < for_seconds; taken = seconds(thread_cpu_time() - start)) {
      op_->forward(pass, {sources_, parameter_sources_, output_.data(), nullptr});
      op_->backward(pass, {sources_, parameter_sources_, output_.data(), d_output_.data(), gradients_,
                           parameter_gradients_, false, nullptr});
      moved += bytes_;
    }
    return moved / taken * 1e-9;
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::unique_ptr<nn::Op> op_;
  double bytes_;
  std::vector<float> output_, d_output_;
  std::vector<std::vector<float>> inputs_, d_inputs_, parameters_, d_parameters_;
  std::vector<const float*> sources_, parameter_sources_;
  std::vector<nn::InputGradient> gradients_;
  std::vector<float*> parameter_gradients_;
};

std::vector<Moving> all() {
  const nn::Shape picture{32, 32, 16}, odd{16, 16, 65}, tokens{1, 64, 192};
  const auto at = [](nn::Shape shape) { return nn::OpPlace{.inputs = {shape, shape}, .output = shape}; };
  const auto activation = [&](nn::Activation::Kind kind) {
    return nn::cpu::make(nn::Activation(kind), at(picture));
  };
  using Kind = nn::Activation::Kind;
  std::vector<Moving> ops;
  ops.emplace_back("batch norm, 16 channels", nn::cpu::make(nn::BatchNorm(), at(picture)), picture, 1, 4, 8);
  ops.emplace_back("batch norm, 65 channels", nn::cpu::make(nn::BatchNorm(), at(odd)), odd, 1, 4, 8);
  ops.emplace_back("with residual and ReLU",
                   nn::cpu::make_batch_norm(nn::BatchNorm(), at(picture), {.add = true, .relu = true}),
                   picture, 2, 4, 11);
  ops.emplace_back("group norm", nn::cpu::make(nn::GroupNorm(2), at(picture)), picture, 1, 2, 8);
  ops.emplace_back("layer norm, 192 features", nn::cpu::make(nn::LayerNorm(), at(tokens)), tokens, 1, 2, 5);
  ops.emplace_back("ReLU", activation(Kind::relu), picture, 1, 0, 5);
  ops.emplace_back("GELU", activation(Kind::gelu), picture, 1, 0, 5);
  ops.emplace_back("SiLU", activation(Kind::silu), picture, 1, 0, 5);
  ops.emplace_back("add", nn::cpu::make(nn::Add(), at(picture)), picture, 2, 0, 7);
  return ops;
}

// Reads and writes, GB/s of CPU time.
double copy_rate(double for_seconds) {
  const std::vector<float> from = noise(nn::Shape{32, 32, 16}.size() * micro);
  std::vector<float> to(from.size());
  double taken = 0, moved = 0;
  const Duration start = thread_cpu_time();
  for (; taken < for_seconds; taken = seconds(thread_cpu_time() - start)) {
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    expect(to.back() == from.back(), "norms: memcpy does not copy");
    moved += 2.0 * static_cast<double>(from.size() * sizeof(float));
  }
  return moved / taken * 1e-9;
}

void run(const Effort& effort, Table& table) {
  pin(0);
  const double reading = seconds(effort.reading) / 4;
  for (Moving& op : all()) {
    const auto spreads =
        alternate(effort.pairs, {[&] { return copy_rate(reading); }, [&] { return op.rate(reading); }});
    table.add({op.name(), "GB/s", spreads[1], "memcpy", spreads[0], false, {}});
  }
}

}  // namespace

void norms_section(const Effort& effort, Table& table) {
  table.section("ops that memory limits, forward and backward, one thread, 32 samples");
  std::async(std::launch::async, [&] { run(effort, table); }).get();  // pinned, and gone afterwards
}

}  // namespace steelyard::bench
