#include <algorithm>
#include <array>
#include <cmath>

#include "core/random.h"
#include "nn/cpu/dropout_sweep.h"
#include "nn/cpu/ops.h"

namespace steelyard::nn::cpu {
namespace {

class DropoutOp final : public Op {
 public:
  DropoutOp(const Dropout& op, const OpPlace& place)
      : shape_(place.output),
        key_(place.key),
        order_(place.order),
        dropped_(static_cast<std::uint32_t>(std::lround(op.probability * 65536))),
        scale_(static_cast<float>(1 / (1 - op.probability))) {}

  void forward(const Pass& pass, const Forward& call) override {
    drop(pass, call.inputs[0], false, call.output);
  }
  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to != nullptr) drop(pass, call.d_output, d_input.add, d_input.to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true};
  }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  void drop(const Pass& pass, const float* from, bool add, float* to) const {
    const std::uint32_t places = pass.places(order_);
    if (!pass.training) {
      if (to != from) std::copy_n(from, shape_.size() * places, to);
      return;
    }
    std::array<std::uint64_t, largest_micro_batch> keys{};
    for (std::uint32_t s = 0; s < pass.size(); ++s) {
      keys[s] = hash(pass.batch.seed, pass.batch.epoch, pass.batch.positions[s], key_);
    }
    const std::uint64_t pixels = std::uint64_t{shape_.height} * shape_.width;
    const DropoutSweep sweep{pixels, shape_.channels, places, keys.data(), dropped_, scale_};
    if (order_ == Order::lanes) return drop_in_lanes(sweep, from, add, to);
    drop_in_samples(sweep, from, add, to);
  }

  Shape shape_;
  std::uint64_t key_;
  Order order_;
  std::uint32_t dropped_;  // of 65536
  float scale_;
};

}  // namespace

std::unique_ptr<Op> make(const Dropout& op, const OpPlace& place) {
  return std::make_unique<DropoutOp>(op, place);
}

}  // namespace steelyard::nn::cpu
