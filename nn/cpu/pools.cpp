#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "nn/cpu/direct.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/cpu/kernels.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

// In the order of samples; padding samples are pooled too, so that they are finite.
template <class Pool>
PoolWindows windows_of(const Pool& op, const OpPlace& place) {
  const Shape in = place.inputs[0], out = place.output;
  return {in.height, in.width, in.channels, out.height, out.width, op.size, op.stride, op.padding, 0};
}

// In the order of lanes.
template <class Pool>
direct::Pool direct_pool(const Pool& op, Shape in, const Pass& pass) {
  return {in.height, in.width, in.channels, op.size, pass.lanes()};
}
template <class Pool>
void require_direct(const Pool& op) {
  if (op.stride != op.size || op.padding != 0) {
    throw Failure(ExitCode::configuration,
                  "has windows that overlap or a padding, in lanes: only samples can have them");
  }
}

// Stores the places of the maxima, in two bytes per output value, so that the input, at least four times as
// large, is neither kept nor read again.
class SamplesMaxPoolOp final : public DirectOp {
 public:
  SamplesMaxPoolOp(const MaxPool& op, const OpPlace& place)
      : windows_(windows_of(op, place)), places_(place.output.size() * place.micro_batch + slack) {}

  void forward(const Pass& pass, const Forward& call) override {
    windows_.samples = pass.size();
    pool_kernels().max_forward(windows_, call.inputs[0], call.output,
                               pass.training ? places_.data() : nullptr);
  }

  void backward(const Pass&, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    pool_kernels().max_backward(windows_, places_.data(), call.d_output, d_input.add, d_input.to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override { return places_.size() * sizeof(PlaceInWindow); }

 private:
  PoolWindows windows_;
  std::vector<PlaceInWindow> places_;
};

class LanesMaxPoolOp final : public DirectOp {
 public:
  LanesMaxPoolOp(const MaxPool& op, const OpPlace& place, bool relu)
      : op_(op), input_(place.inputs[0]), relu_(relu) {}

  void forward(const Pass& pass, const Forward& call) override {
    direct::max_pool_forward(direct_pool(op_, input_, pass), call.inputs[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    direct::max_pool_backward(direct_pool(op_, input_, pass), call.inputs[0], call.d_output, relu_,
                              call.d_inputs[0].to);
  }

 private:
  MaxPool op_;
  Shape input_;
  bool relu_;
};

class SamplesAveragePoolOp final : public DirectOp {
 public:
  SamplesAveragePoolOp(const AveragePool& op, const OpPlace& place) : windows_(windows_of(op, place)) {}

  void forward(const Pass& pass, const Forward& call) override {
    windows_.samples = pass.size();
    pool_kernels().average_forward(windows_, call.inputs[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    windows_.samples = pass.size();
    pool_kernels().average_backward(windows_, call.d_output, d_input.add, d_input.to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  PoolWindows windows_;
};

class LanesAveragePoolOp final : public DirectOp {
 public:
  LanesAveragePoolOp(const AveragePool& op, const OpPlace& place) : op_(op), input_(place.inputs[0]) {}

  void forward(const Pass& pass, const Forward& call) override {
    direct::average_pool_forward(direct_pool(op_, input_, pass), call.inputs[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    direct::average_pool_backward(direct_pool(op_, input_, pass), call.d_output, call.d_inputs[0].to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  AveragePool op_;
  Shape input_;
};

class GlobalAveragePoolOp final : public DirectOp {
 public:
  GlobalAveragePoolOp(const GlobalAveragePool& /*op*/, const OpPlace& place)
      : pixels_(pixels_of(place.inputs[0])), channels_(place.inputs[0].channels) {
    CHECK(place.order == Order::samples, "the global average pool works in the order of samples");
  }

  void forward(const Pass& pass, const Forward& call) override {
    for (std::size_t s = 0; s < pass.size(); ++s) {
      rows_kernels().mean(pixels_, channels_, call.inputs[0] + s * pixels_ * channels_,
                          call.output + s * channels_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    for (std::size_t s = 0; s < pass.size(); ++s) {
      rows_kernels().spread(pixels_, channels_, call.d_output + s * channels_, d_input.add,
                            d_input.to + s * pixels_ * channels_);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::size_t pixels_, channels_;
};

}  // namespace

std::unique_ptr<Op> make(const MaxPool& op, const OpPlace& place) {
  if (place.order == Order::lanes) return make_max_pool(op, place, false);
  if (op.size > 256) {
    throw Failure(ExitCode::configuration, "has windows of size " + std::to_string(op.size) +
                                               ": at most 256 are possible; pool twice instead");
  }
  return std::make_unique<SamplesMaxPoolOp>(op, place);
}

std::unique_ptr<Op> make_max_pool(const MaxPool& op, const OpPlace& place, bool relu) {
  require_direct(op);
  return std::make_unique<LanesMaxPoolOp>(op, place, relu);
}

std::unique_ptr<Op> make(const AveragePool& op, const OpPlace& place) {
  if (place.order == Order::samples) return std::make_unique<SamplesAveragePoolOp>(op, place);
  require_direct(op);
  return std::make_unique<LanesAveragePoolOp>(op, place);
}

STEELYARD_OP(GlobalAveragePool, GlobalAveragePoolOp)

}  // namespace steelyard::nn::cpu
