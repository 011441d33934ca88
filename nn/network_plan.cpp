#include "nn/network_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "nn/cpu/storage.h"
#include "nn/op_table.h"
#include "nn/recomputation.h"

namespace steelyard::nn {
namespace {

constexpr std::uint32_t nobody = UINT32_MAX;

Column reference_column() {
  return {[](const OpKind& kind, const OpPlace& place) {
    return std::visit([&](const auto& op) { return reference::make(op, place); }, kind);
  }};
}
Column cpu_column(Precision precision) {
  const bool halves = precision == Precision::bf16 && cpu::stores_bf16();
  return {cpu::make_stored, cpu::make_batch_norm, halves ? Storage::bf16 : Storage::float32, cpu::make_cast};
}

// The form in which a value is available.
struct Form {
  Order order = Order::samples;
  Storage storage = Storage::float32;
  friend auto operator<=>(const Form&, const Form&) = default;
};

// Visits the nodes once, keeping track of the forms in which each value is available. With `lanes` the column
// is that of the CPU: its ops support both orders.
class Planner {
 public:
  Planner(const Model& model, const Column& column, std::uint32_t micro_batch, bool lanes)
      : model_(model), column_(column), micro_batch_(micro_batch), lanes_(lanes) {
    const std::size_t nodes = model.nodes().size();
    readers_.resize(nodes);
    for (std::uint32_t i = 1; i < nodes; ++i) {
      for (const std::uint32_t input : node(i).inputs) readers_[input].push_back(i);
    }
    values_.resize(nodes);
    done_.resize(nodes);
    plan_.values.push_back({node(0).shape});
    values_[0][{}] = 0;
    find_exact();
  }

  Plan make() {
    for (std::uint32_t i = 1; i < model_.nodes().size(); ++i) {
      if (done_[i]) continue;
      if (lanes_) {
        std::visit([&](const auto& op) { visit(i, op); }, node(i).kind);
      } else if (is<BatchNorm>(i) && column_.make_batch_norm) {
        visit(i, std::get<BatchNorm>(node(i).kind));
      } else if (waiting_.contains(i)) {
        visit(i, std::get<Add>(node(i).kind));
      } else if (is<Linear>(i)) {
        append_linear<Linear>(i);
      } else if (is<TokenLinear>(i)) {
        append_linear<TokenLinear>(i);
      } else if (is<LayerNorm>(i)) {
        append_norm(i);
      } else {
        append(i);
      }
    }
    find_final();
    plan_backward(plan_);
    plan_memory(plan_);
    if (model_.recomputes_activations()) plan_recomputation(plan_);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Node& node(std::uint32_t i) const { return model_.nodes()[i]; }
  template <class Kind>
  [[nodiscard]] bool is(std::uint32_t i) const {
    return i != nobody && std::holds_alternative<Kind>(node(i).kind);
  }
  [[nodiscard]] bool is_relu(std::uint32_t i) const {
    return is<Activation>(i) && std::get<Activation>(node(i).kind).kind == Activation::Kind::relu;
  }
  [[nodiscard]] std::uint32_t only_reader(std::uint32_t i) const {
    return i != nobody && readers_[i].size() == 1 ? readers_[i][0] : nobody;
  }
  [[nodiscard]] bool in_lanes(std::uint32_t i) const { return values_[i].contains({Order::lanes}); }

  // The scores, and all that leads to the row numbers of an embedding: bfloat16 has 8 bits, for numbers up to
  // 256.
  void find_exact() {
    exact_.resize(model_.nodes().size());
    for (auto i = static_cast<std::uint32_t>(exact_.size()); i-- > 1;) {
      if (!is<Embedding>(i) && !exact_[i]) continue;
      for (const std::uint32_t input : node(i).inputs) exact_[input] = true;
    }
    exact_.back() = true;
    // Their outputs are in lanes.
    for (std::uint32_t i = 1; lanes_ && i < exact_.size(); ++i) exact_[i] = exact_[i] || is<Linear>(i);
  }
  [[nodiscard]] Storage storage(std::uint32_t i, Order order = Order::samples) const {
    return exact_[i] || order == Order::lanes ? Storage::float32 : column_.storage;
  }

  // `shown`: the node whose value the op computes, if others are merged into its step.
  [[nodiscard]] OpPlace place(std::uint32_t i, Order order = Order::samples) const {
    return place(i, order, i);
  }
  [[nodiscard]] OpPlace place(std::uint32_t i, Order order, std::uint32_t shown) const {
    return {model_.input_shapes(node(i)), node(i).shape,        micro_batch_, i, order,
            model_.precision(),           storage(shown, order)};
  }

  // Ops without an overload below work on samples.
  template <class Kind>
  void visit(std::uint32_t i, const Kind& /*op*/) {
    append(i);
  }

  // Elementwise: works in the order of the input.
  void visit(std::uint32_t i, const Activation& /*op*/) { visit_either(i); }
  void visit(std::uint32_t i, const Dropout& /*op*/) { visit_either(i); }
  void visit_either(std::uint32_t i) {
    const auto& inputs = node(i).inputs;
    const bool lanes = std::all_of(inputs.begin(), inputs.end(), [&](auto input) { return in_lanes(input); });
    const Order order = lanes ? Order::lanes : Order::samples;
    append(i, order);
  }

  void visit(std::uint32_t i, const Conv2d& op) {
    const bool many = micro_batch_ > largest_micro_batch;  // more lanes than direct kernels have
    if (many || !cpu::suits_direct(op, place(i).inputs[0])) return append(i);
    // The ReLU is merged into the convolution; if a max pool follows, it does the backward of the ReLU in its
    // own sweep, which then touches each gradient once instead of twice.
    const std::uint32_t relu = is_relu(only_reader(i)) ? only_reader(i) : nobody;
    const std::uint32_t pool = only_reader(relu);
    cpu::FusedRelu fused = relu == nobody ? cpu::FusedRelu::no : cpu::FusedRelu::yes;
    if (is<MaxPool>(pool) && whole_windows(std::get<MaxPool>(node(pool).kind))) {
      fused = cpu::FusedRelu::forward_only;
      pools_with_relu_.push_back(pool);
    }
    append(i, Order::lanes, Order::lanes, cpu::make_direct_conv2d(op, place(i, Order::lanes), fused));
    if (relu != nobody) become(relu, i);
  }

  template <class Pool>
  [[nodiscard]] static bool whole_windows(const Pool& op) {
    return op.stride == op.size && op.padding == 0;
  }
  // The direct kernels support only windows that do not overlap.
  template <class Pool>
  [[nodiscard]] Order order_of(std::uint32_t i, const Pool& op) const {
    return in_lanes(node(i).inputs[0]) && whole_windows(op) ? Order::lanes : Order::samples;
  }
  void visit(std::uint32_t i, const MaxPool& op) {
    const Order order = order_of(i, op);
    const bool relu =
        std::find(pools_with_relu_.begin(), pools_with_relu_.end(), i) != pools_with_relu_.end();
    if (!relu) return append(i, order);
    append(i, order, order, cpu::make_max_pool(op, place(i, order), relu));
  }
  void visit(std::uint32_t i, const AveragePool& op) { append(i, order_of(i, op)); }

  // In lanes a picture lies channel by channel, as the weights require.
  void visit(std::uint32_t i, const Linear& /*op*/) {
    const Shape in = place(i).inputs[0];
    const bool samples = !in_lanes(node(i).inputs[0]) && (in.channels == 1 || in.height * in.width == 1);
    const Order order = samples ? Order::samples : Order::lanes;
    append(i, order, Order::lanes, column_.make(node(i).kind, place(i, order)));
  }

  // A batch norm includes a following ReLU, and an addition before it or without it; with an addition it is
  // planned once both inputs are.
  void visit(std::uint32_t i, const BatchNorm& op) {
    const std::uint32_t next = only_reader(i);
    if (is<Add>(next) && !waiting_.contains(next) && !reads(next, node(i).inputs[0])) {
      waiting_[next] = i;
      return;
    }
    const std::uint32_t shown = is_relu(next) ? next : i;
    append(
        i, {Order::samples, storage(shown)}, {Order::samples, storage(shown)},
        column_.make_batch_norm(op, place(i, Order::samples, shown), {.add = false, .relu = is_relu(next)}));
    if (is_relu(next)) become(next, i);
  }
  void visit(std::uint32_t i, const Add& /*op*/) {
    if (!waiting_.contains(i)) return visit_either(i);
    const std::uint32_t norm = waiting_[i], next = only_reader(i);
    const std::uint32_t other = node(i).inputs[node(i).inputs[0] == norm ? 1 : 0];
    const Form form{Order::samples, storage(is_relu(next) ? next : i)};
    OpPlace where = place(norm, form.order, is_relu(next) ? next : i);
    where.inputs.push_back(node(other).shape);
    const auto& options = std::get<BatchNorm>(node(norm).kind);
    Step step{.name = node(norm).name,
              .op = column_.make_batch_norm(options, where, {.add = true, .relu = is_relu(next)}),
              .inputs = {value(node(norm).inputs[0], form), value(other, form)},
              .tensors = node(norm).tensors};
    values_[norm][form] = add_step(std::move(step), node(norm).shape, form);
    become(i, norm);
    if (is_relu(next)) become(next, norm);
  }
  [[nodiscard]] bool reads(std::uint32_t i, std::uint32_t input) const {
    return std::find(node(i).inputs.begin(), node(i).inputs.end(), input) != node(i).inputs.end();
  }

  // A linear layer leaves its bias to an activation behind it, which then also sums the bias's gradient.
  template <class Kind>
  void append_linear(std::uint32_t i) {
    auto product = std::get<Kind>(node(i).kind);
    const std::uint32_t next = only_reader(i);
    const bool merges = column_.make_biased_activation && product.bias && next == i + 1 &&
                        is<Activation>(next) && storage(next) == storage(i);
    if (!merges) return append(i);
    product.bias = false;
    append(i, Order::samples, Order::samples, column_.make(product, place(i)));
    plan_.steps.back().tensors = {node(i).tensors[0]};
    const Form form{Order::samples, storage(i)};
    Step step{.name = node(next).name,
              .op = column_.make_biased_activation(std::get<Activation>(node(next).kind), place(next)),
              .inputs = {value(i, form)},
              .tensors = {node(i).tensors[1]}};
    values_[next][form] = add_step(std::move(step), node(next).shape, form);
    done_[next] = true;
  }

  // If the step before a layer norm is the addition that it reads, both are one sweep.
  void append_norm(std::uint32_t i) {
    const std::uint32_t sum = node(i).inputs[0];
    const Form form{Order::samples, storage(i)};
    const bool plain = is<Add>(sum) && !waiting_.contains(sum) && storage(sum) == form.storage;
    if (column_.norms_add && plain && values_[sum][form] == plan_.steps.back().output)
      plan_.steps.back().with_next = true;
    append(i);
  }

  // Node `i` is computed by the step of node `by`.
  void become(std::uint32_t i, std::uint32_t by) {
    values_[i] = values_[by];
    done_[i] = true;
  }

  // The value of a node in this form, converted if necessary.
  std::uint32_t value(std::uint32_t i, Form form) {
    const auto found = values_[i].find(form);
    if (found != values_[i].end()) return found->second;
    const Form plain{};  // both a cast and a transpose convert from it or to it
    if (lanes_ && form != plain && !values_[i].contains(plain)) value(i, plain);
    const auto& [other, value] = lanes_ && form != plain ? *values_[i].find(plain) : *values_[i].begin();
    OpPlace place{{node(i).shape}, node(i).shape, micro_batch_, i, form.order};
    place.storage = form.storage;
    const bool cast = other.storage != form.storage;
    Step step{.name = node(i).name + (cast ? " (cast)" : " (transposed)"),
              .op = cast ? column_.make_cast(place) : cpu::make_transpose(place),
              .inputs = {value}};
    return values_[i][form] = add_step(std::move(step), node(i).shape, form);
  }

  void append(std::uint32_t i, Order order = Order::samples) {
    append(i, order, order, column_.make(node(i).kind, place(i, order)));
  }
  void append(std::uint32_t i, Order in, Order out, std::unique_ptr<Op> op) {
    append(i, Form{in, is<Embedding>(i) ? Storage::float32 : storage(i, in)}, Form{out, storage(i, out)},
           std::move(op));
  }
  void append(std::uint32_t i, Form in, Form out, std::unique_ptr<Op> op) {
    Step step{.name = node(i).name, .op = std::move(op), .tensors = node(i).tensors};
    for (const std::uint32_t input : node(i).inputs) step.inputs.push_back(value(input, in));
    values_[i][out] = add_step(std::move(step), node(i).shape, out);
  }

  std::uint32_t add_step(Step step, Shape output, Form form) {
    const std::uint32_t places = form.order == Order::lanes ? lanes_of(micro_batch_) : micro_batch_;
    plan_.values.push_back({output, form.order, output.size() * places, form.storage});
    step.traits = step.op->traits();
    step.output = static_cast<std::uint32_t>(plan_.values.size() - 1);
    plan_.steps.push_back(std::move(step));
    return plan_.steps.back().output;
  }

  void find_final() {
    std::vector<bool> seen(model_.tensors().size());
    for (Step& step : plan_.steps) {
      for (const std::uint32_t tensor : step.tensors) {
        if (!seen[tensor]) add_final(step.final, model_.tensors()[tensor]);
        seen[tensor] = true;
      }
    }
    seen.assign(seen.size(), false);
    for (auto step = plan_.steps.rbegin(); step != plan_.steps.rend(); ++step) {
      for (const std::uint32_t tensor : step->tensors) {
        step->first_backward = step->first_backward && !seen[tensor];
        seen[tensor] = true;
      }
    }
  }

  // Merges adjacent intervals.
  static void add_final(std::vector<Interval>& finals, const Tensor& tensor) {
    const std::uint64_t end = tensor.offset + tensor.size;
    if (!finals.empty() && finals.back().end == tensor.offset) {
      finals.back().end = end;
    } else {
      finals.push_back({tensor.offset, end});
    }
  }

  const Model& model_;
  const Column& column_;
  std::uint32_t micro_batch_;  // samples
  bool lanes_;
  std::vector<std::vector<std::uint32_t>> readers_;    // nodes, by node
  std::vector<std::map<Form, std::uint32_t>> values_;  // by node
  std::vector<bool> exact_;                            // nodes with values in float32
  std::vector<bool> done_;                             // nodes merged into another's step
  std::vector<std::uint32_t> pools_with_relu_;         // nodes
  std::map<std::uint32_t, std::uint32_t> waiting_;     // additions, and the batch norm that includes them
  Plan plan_;
};

}  // namespace

std::uint64_t Plan::bytes() const {
  std::uint64_t all = arena * sizeof(float);
  for (const Step& step : steps) all += step.op->bytes();
  return all;
}

std::vector<std::string> Plan::implementations() const {
  std::vector<std::string> all;
  for (const Step& step : steps) {
    all.push_back(step.name + ": " + step.op->implementation() +
                  (step.with_next ? ", in the layer norm behind it" : ""));
  }
  return all;
}

Plan make_plan(const Model& model, Backend backend) {
  model.check();
  const bool cpu = backend == Backend::cpu;
  const Column column = cpu ? cpu_column(model.precision()) : reference_column();
  return Planner(model, column, model.micro_batch(), cpu).make();
}

Plan make_plan(const Model& model, const Column& column, std::uint32_t micro_batch) {
  model.check();
  return Planner(model, column, micro_batch, false).make();
}

}  // namespace steelyard::nn
