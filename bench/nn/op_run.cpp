#include "bench/nn/op_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/random.h"
#include "nn/op_table.h"

namespace steelyard::bench {
namespace {

constexpr std::uint32_t micro = nn::largest_micro_batch;
static_assert(nn::lanes_of(micro) == micro, "there are no padded lanes here");

constexpr auto positions = [] {
  std::array<std::uint64_t, micro> all{};
  std::iota(all.begin(), all.end(), 0);
  return all;
}();

// The index of a sample's feature; features are numbered by row, column, channel.
std::uint64_t place_of(nn::Order order, nn::Shape shape, std::uint64_t sample, std::uint64_t feature) {
  if (order == nn::Order::samples) return sample * shape.size() + feature;
  const std::uint64_t pixels = std::uint64_t{shape.height} * shape.width;
  return (feature % shape.channels * pixels + feature / shape.channels) * micro + sample;
}

std::vector<float> as_samples(const FloatBuffer& values, nn::Order order, nn::Shape shape) {
  std::vector<float> samples;
  samples.reserve(values.size());
  for (std::uint64_t s = 0; s < micro; ++s) {
    for (std::uint64_t f = 0; f < shape.size(); ++f) {
      samples.push_back(values.data()[place_of(order, shape, s, f)]);
    }
  }
  return samples;
}

void draw_samples(FloatBuffer& to, nn::Order order, nn::Shape shape, const std::function<double()>& next) {
  for (std::uint64_t s = 0; s < micro; ++s) {
    for (std::uint64_t f = 0; f < shape.size(); ++f) {
      to.data()[place_of(order, shape, s, f)] = static_cast<float>(next());
    }
  }
}

std::uint64_t size_of(const nn::ParameterSpec& spec) {
  return std::accumulate(spec.shape.begin(), spec.shape.end(), std::uint64_t{1}, std::multiplies<>());
}

template <class Kind>
bool is(const OpCase& it) {
  return std::holds_alternative<Kind>(it.kind);
}

// relu(batch_norm(a) + b), using the reference's batch norm.
class PlainFused final : public nn::Op {
 public:
  PlainFused(const nn::BatchNorm& op, const nn::OpPlace& place)
      : size_(place.output.size()), norm_(nn::reference::make(op, place)) {}

  void forward(const nn::Pass& pass, const nn::Forward& call) override {
    norm_->forward(pass, call);
    for (std::uint64_t i = 0; i < pass.size() * size_; ++i) {
      call.output[i] = std::max(0.0F, call.output[i] + call.inputs[1][i]);
    }
  }
  void backward(const nn::Pass& pass, const nn::Backward& call) override {
    for (std::uint64_t i = 0; i < pass.size() * size_; ++i) {
      if (call.output[i] <= 0) call.d_output[i] = 0;
      call.d_inputs[1].to[i] = call.d_output[i];
    }
    norm_->backward(pass, call);
  }

  [[nodiscard]] nn::Traits traits() const override { return {.reads_output = true}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  std::uint64_t size_;
  std::unique_ptr<nn::Op> norm_;
};

std::unique_ptr<nn::Op> make_fused(const nn::BatchNorm& op, const nn::OpPlace& place, Column column) {
  if (column == Column::reference) return std::make_unique<PlainFused>(op, place);
  return nn::cpu::make_batch_norm(op, place, {.add = true, .relu = true});
}

std::unique_ptr<nn::Op> make(const OpCase& it, Column column, nn::Order order) {
  const nn::OpPlace place{.inputs = it.inputs, .output = it.output(), .order = order};
  if (it.is_fused()) return make_fused(std::get<nn::BatchNorm>(it.kind), place, column);
  return std::visit(
      [&](const auto& op) {
        return column == Column::cpu ? nn::cpu::make(op, place) : nn::reference::make(op, place);
      },
      it.kind);
}

}  // namespace

std::string OpCase::title() const {
  const nn::Shape in = inputs[0];
  return std::string(name_of(kind)) + " " + std::to_string(in.height) + "x" + std::to_string(in.width) + "x" +
         std::to_string(in.channels) + (detail.empty() ? "" : ", " + detail);
}

nn::Shape OpCase::output() const {
  return std::visit([&](const auto& op) { return op.shape(inputs); }, kind);
}

bool OpCase::is_fused() const { return is<nn::BatchNorm>(*this) && inputs.size() == 2; }

double OpCase::flops(std::uint32_t samples) const {
  const double products = std::visit([&](const auto& op) { return op.products(inputs); }, kind);
  return 3 * 2 * products * samples;
}

double OpCase::bytes(const nn::Traits& traits, std::uint32_t samples) const {
  // These read only the part of their input that they output.
  const bool selects = is<nn::ChannelSlice>(*this) || is<nn::SelectToken>(*this);
  const std::uint64_t result = output().size() * samples;
  std::uint64_t floats = (traits.reads_output ? 3 : 2) * result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t input = inputs[i].size() * samples;
    const bool again = traits.reads_inputs && !(is_fused() && i == 1);
    floats += (again ? 2 : 1) * (selects ? result : input);
    if (!is<nn::Embedding>(*this)) floats += input;  // row numbers have no gradient
  }
  for (const nn::ParameterSpec& spec :
       std::visit([&](const auto& op) { return op.parameters(inputs); }, kind)) {
    floats += 2 * size_of(spec);
  }
  return static_cast<double>(floats * sizeof(float));
}

// Values that an op fails to write stay NaN, which compares unequal to everything.
OpRun::Buffers::Buffers(std::uint64_t size) : value(size), gradient(size) {
  std::ranges::fill(value.span(), NAN);
  std::ranges::fill(gradient.span(), NAN);
}

OpRun::OpRun(const OpCase& of, Column column)
    : of_(of),
      output_shape_(of.output()),
      in_(column == Column::cpu ? of.order : nn::Order::samples),
      // Linear layers of the CPU always output lanes.
      out_(column == Column::cpu && is<nn::Linear>(of) ? nn::Order::lanes : in_),
      op_(make(of, column, in_)),
      output_(output_shape_.size() * micro),
      workspace_(op_->traits().workspace) {
  draw();
  for (Buffers& input : inputs_) {
    input_values_.push_back(input.value.data());
    // Row numbers have no gradient.
    d_inputs_.push_back({is<nn::Embedding>(of) ? nullptr : input.gradient.data()});
  }
  for (Buffers& parameter : parameters_) {
    parameter_values_.push_back(parameter.value.data());
    d_parameters_.push_back(parameter.gradient.data());
  }
}

void OpRun::draw() {
  Random random(1);
  // Exact in bfloat16: in that precision ops differ by how they round, not by other inputs.
  const auto noise = [&] { return (static_cast<double>(random.below(511)) - 255) / 256; };
  const auto* embedding = std::get_if<nn::Embedding>(&of_.kind);
  const auto row = [&] { return static_cast<double>(random.below(embedding->rows)); };
  for (const nn::Shape shape : of_.inputs) {
    Buffers& input = inputs_.emplace_back(shape.size() * micro);
    embedding == nullptr ? draw_samples(input.value, in_, shape, noise)
                         : draw_samples(input.value, in_, shape, row);
  }
  const auto specs = std::visit([&](const auto& op) { return op.parameters(of_.inputs); }, of_.kind);
  for (const nn::ParameterSpec& spec : specs) {
    Buffers& parameter = parameters_.emplace_back(size_of(spec));
    for (float& value : parameter.value.span()) value = static_cast<float>(noise());
  }
  draw_samples(output_.gradient, out_, output_shape_, noise);
}

void OpRun::forward_and_backward() {
  const nn::MicroBatch batch{.positions = positions.data(), .size = micro, .count = micro};
  const nn::Pass pass{batch, true};
  op_->forward(pass, {input_values_, parameter_values_, output_.value.data(), workspace_.data()});
  op_->backward(pass, {input_values_, parameter_values_, output_.value.data(), output_.gradient.data(),
                       d_inputs_, d_parameters_, false, workspace_.data()});
}

std::vector<OpResult> OpRun::results() const {
  std::vector<OpResult> all{{"output", as_samples(output_.value, out_, output_shape_)}};
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (d_inputs_[i].to == nullptr) continue;
    all.push_back(
        {"gradient of input " + std::to_string(i), as_samples(inputs_[i].gradient, in_, of_.inputs[i])});
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto gradient = parameters_[i].gradient.span();
    all.push_back({"gradient of parameter " + std::to_string(i), {gradient.begin(), gradient.end()}});
  }
  return all;
}

std::vector<std::span<const float>> OpRun::values(const std::deque<Buffers>& of) {
  std::vector<std::span<const float>> all;
  for (const Buffers& it : of) all.push_back(it.value.span());
  return all;
}

double OpRun::flops() const { return of_.flops(micro); }
double OpRun::bytes() const { return of_.bytes(op_->traits(), micro); }

}  // namespace steelyard::bench
