#include "nn/plan.h"

#include <algorithm>
#include <utility>

#include "nn/layers/average_pool.h"
#include "nn/layers/conv2d.h"
#include "nn/layers/dropout.h"
#include "nn/layers/linear.h"
#include "nn/layers/max_pool.h"
#include "nn/layers/relu.h"
#include "nn/layers/transpose.h"

namespace steelyard::nn {
namespace {

// From this number of input channels on, oneDNN keeps its vectors full.
constexpr std::uint32_t onednn_channels = 8;

// Walks the layers once, remembering in which order the last activation lies.
class Planner {
 public:
  Planner(const Model& model, Kernels kernels) : layers_(model.layers()), kernels_(kernels) {}

  Plan make() {
    for (place_ = 0; place_ < layers_.size(); ++place_) {
      std::visit([this](const auto& kind) { visit(kind); }, layers_[place_].kind);
    }
    plan_.last = order_;
    const auto learns = [](const Step& step) { return step.parameters > 0; };
    plan_.first_learning = static_cast<std::size_t>(
        std::find_if(plan_.steps.begin(), plan_.steps.end(), learns) - plan_.steps.begin());
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Layer& layer() const { return layers_[place_]; }
  [[nodiscard]] bool next_is_relu() const {
    return place_ + 1 < layers_.size() && std::holds_alternative<Relu>(layers_[place_ + 1].kind);
  }
  [[nodiscard]] bool max_pool_at(std::size_t place) const {
    return place < layers_.size() && std::holds_alternative<MaxPool>(layers_[place].kind);
  }

  void visit(const Conv2d& options) {
    const Shape in = layer().input, out = layer().output;
    const bool direct =
        in.channels < onednn_channels && options.stride == 1 && options.padding < options.kernel;
    if (kernels_ == Kernels::reference) {
      append(make_reference_conv2d(in, out, options));
    } else if (!direct) {
      turn_to(Order::samples);
      append(make_onednn_conv2d(in, out, options));
    } else {
      turn_to(Order::lanes);
      FusedRelu relu = FusedRelu::no;
      // The ReLU goes into the convolution; if a max pool follows, that does the backward of the ReLU in its
      // own sweep, which then touches each gradient once instead of twice.
      if (next_is_relu()) relu = max_pool_at(place_ + 2) ? FusedRelu::forward_only : FusedRelu::yes;
      append(make_direct_conv2d(in, out, options, relu));
      if (relu != FusedRelu::no) ++place_;
      relu_left_to_pool_ = relu == FusedRelu::forward_only;
    }
  }

  void visit(const MaxPool& options) {
    append(make_max_pool(layer().input, options.size, order_, std::exchange(relu_left_to_pool_, false)));
  }
  void visit(const AveragePool& options) { append(make_average_pool(layer().input, options.size, order_)); }
  void visit(const Relu&) {
    append(kernels_ == Kernels::reference ? make_reference_relu(layer().input)
                                          : make_relu(layer().input, order_));
  }
  void visit(const Dropout& options) {
    append(make_dropout(layer().input, options.probability, place_, order_));
  }

  void visit(const Linear& options) {
    if (kernels_ == Kernels::reference) {
      append(make_reference_linear(layer().input, options.outputs));
    } else {
      append(make_linear(layer().input, options.outputs, order_));
      order_ = Order::lanes;
    }
  }

  // Puts a transpose before the layer if the last activation is not in the order it needs.
  void turn_to(Order order) {
    if (order_ == order) return;
    add_step({layer().name + " (transposed)", make_transpose(layer().input, order), 0, 0, nullptr, false},
             layer().input);
    order_ = order;
  }

  void append(std::unique_ptr<Op> op) {
    // The first op never works in place: its input is the caller's.
    const bool in_place = op->in_place() && !plan_.steps.empty();
    add_step({layer().name, std::move(op), layer().offset, layer().parameters(), nullptr, in_place},
             layer().output);
  }

  void add_step(Step step, Shape output) {
    if (!step.in_place) {
      const std::uint64_t size = output.size() * largest_micro_batch;
      plan_.activations.push_back(std::make_unique<FloatBuffer>(size));
      plan_.largest = std::max(plan_.largest, size);
    }
    step.output = plan_.activations.back().get();
    plan_.steps.push_back(std::move(step));
  }

  const std::vector<Layer>& layers_;
  Kernels kernels_;
  std::size_t place_ = 0;
  Order order_ = Order::samples;  // of the last activation
  bool relu_left_to_pool_ = false;
  Plan plan_;
};

}  // namespace

Plan make_plan(const Model& model, Kernels kernels) {
  model.check();
  return Planner(model, kernels).make();
}

}  // namespace steelyard::nn
