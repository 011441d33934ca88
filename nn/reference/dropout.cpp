#include <cmath>

#include "core/random.h"
#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

// Draws the mask that nn/cpu/dropout_sweep.h tells of.
class DropoutOp final : public Op {
 public:
  DropoutOp(const Dropout& op, const OpPlace& place)
      : size_(place.output.size()),
        key_(place.key),
        dropped_(static_cast<std::uint64_t>(std::lround(op.probability * 65536))),
        scale_(static_cast<float>(1 / (1 - op.probability))) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < pass.size() * size_; ++i)
      call.output[i] = passed(pass, i, call.inputs[0][i]);
  }
  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    for (std::uint64_t i = 0; i < pass.size() * size_; ++i) {
      call.d_inputs[0].to[i] = passed(pass, i, call.d_output[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  [[nodiscard]] float passed(const Pass& pass, std::uint64_t i, float value) const {
    if (!pass.training) return value;
    const MicroBatch& batch = pass.batch;
    const std::uint64_t feature = i % size_, together = feature % 4;
    const std::uint64_t key = hash(batch.seed, batch.epoch, batch.positions[i / size_], key_);
    const std::uint64_t bits = hash(key, feature - together) >> (16 * together) & 0xFFFF;
    return bits < dropped_ ? 0 : value * scale_;
  }

  std::uint64_t size_, key_, dropped_;  // dropped_: of 65536
  float scale_;
};

}  // namespace

std::unique_ptr<Op> make(const Dropout& op, const OpPlace& place) {
  return std::make_unique<DropoutOp>(op, place);
}

}  // namespace steelyard::nn::reference
