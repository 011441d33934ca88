// Each op of the op table on one thread of the CPU, forward and backward, at sizes of the built-in models.
// Ops with products are measured in GFLOP/s beside the FMA peak; all others by the bytes that they must touch
// at the least, beside memcpy between two buffers that hold as many. Both in CPU time of the thread. First,
// each op's results are compared with the reference's.
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "bench/hardware.h"
#include "bench/nn/fma_peak.h"
#include "bench/nn/op_run.h"
#include "bench/sections.h"
#include "core/random.h"
#include "nn/cpu/onednn.h"
#include "nn/models/convolution.h"

namespace steelyard::bench {
namespace {

using namespace nn;

template <class Kind>
struct Row {
  const char* detail;
  Kind op;
  std::vector<Shape> inputs;
  Order order;

  Row(const char* detail_, Kind op_, std::vector<Shape> inputs_, Order order_ = Order::samples)
      : detail(detail_), op(op_), inputs(std::move(inputs_)), order(order_) {}
};

auto rows() {
  using Act = Activation::Kind;
  const auto conv = [](std::uint32_t channels, std::uint32_t kernel, std::uint32_t stride,
                       std::uint32_t groups) {
    return unbiased(channels, kernel, stride, Init::fan_in, groups);
  };
  const Shape wide{32, 32, 16}, picture{16, 16, 64}, shuffled{16, 16, 116}, tokens{1, 64, 256};
  return std::tuple{
      Row{"3x3", conv(32, 3, 1, 1), {{16, 16, 32}}},
      Row{"3x3 by 2, to 64", conv(64, 3, 2, 1), {{16, 16, 32}}},
      Row{"1x1, to 256", conv(256, 1, 1, 1), {{8, 8, 64}}},
      Row{"3x3, 4 groups", conv(64, 3, 1, 4), {picture}},
      Row{"3x3, depth-wise", conv(64, 3, 1, 64), {picture}},
      Row{"5x5, to 6, lanes", Conv2d{.channels = 6, .kernel = 5, .padding = 2}, {{28, 28, 1}}, Order::lanes},
      Row{"3x3 by 2", MaxPool(3, 2, 1), {picture}},
      Row{"2x2, lanes", MaxPool(2), {{28, 28, 6}}, Order::lanes},
      Row{"2x2", AveragePool(2), {picture}},
      Row{"3x3 by 1", AveragePool(3, 1, 1), {picture}},
      Row{"", GlobalAveragePool(), {picture}},
      Row{"", ChannelShuffle(2), {shuffled}},
      Row{"half", ChannelSlice(58, 116), {shuffled}},
      Row{"", Activation(Act::relu), {wide}},
      Row{"", Activation(Act::gelu), {wide}},
      Row{"", Activation(Act::gelu_tanh), {wide}},
      Row{"", Activation(Act::silu), {wide}},
      Row{"", Activation(Act::hard_swish), {wide}},
      Row{"", Activation(Act::sigmoid), {wide}},
      Row{"", Activation(Act::tanh), {wide}},
      Row{"a tenth", Dropout(0.1), {tokens}},
      Row{"half, lanes", Dropout(0.5), {{1, 1, 512}}, Order::lanes},
      Row{"to 512", Linear{.outputs = 512}, {{1, 1, 784}}},
      Row{"to 120, lanes", Linear{.outputs = 120}, {{5, 5, 16}}, Order::lanes},
      Row{"to 1024", TokenLinear{.outputs = 1024}, {tokens}},
      Row{"", BatchNorm(), {wide}},
      Row{"", BatchNorm(), {{16, 16, 65}}},
      Row{"+ b, ReLU", BatchNorm(), {wide, wide}},
      Row{"", LayerNorm(), {tokens}},
      Row{"32 groups", GroupNorm(32), {picture}},
      Row{"2 groups", GroupNorm(2), {wide}},
      Row{"", Add(), {wide, wide}},
      Row{"", Scale(), {{16, 16, 96}, {1, 1, 96}}},
      Row{"and 32", Concat(), {{16, 16, 96}, {16, 16, 32}}},
      Row{"256 rows of 256", Embedding{.rows = 256, .features = 256}, {{1, 64, 1}}},
      Row{"", PositionEmbedding{}, {tokens}},
      Row{"", ClassToken(), {tokens}},
      Row{"", SelectToken(), {{1, 65, 256}}},
      Row{"copied", Tokens(), {{8, 8, 192}}},
      Row{"4 heads", Attention(4, false), {{1, 64, 768}}},
      Row{"causal", Attention(4, true), {{1, 64, 768}}},
  };
}

template <class... Kinds, class... Shown>
constexpr bool all_shown(std::type_identity<std::variant<Kinds...>>,
                         std::type_identity<std::tuple<Row<Shown>...>>) {
  const auto is_shown = []<class Kind>(std::type_identity<Kind>) {
    return (std::is_same_v<Kind, Shown> || ...);
  };
  return (is_shown(std::type_identity<Kinds>{}) && ...);
}
static_assert(all_shown(std::type_identity<OpKind>{}, std::type_identity<decltype(rows())>{}),
              "an op of nn/ops.h has no row above");

std::vector<OpCase> cases() {
  return std::apply(
      [](const auto&... row) {
        return std::vector<OpCase>{{row.detail, row.op, row.inputs, row.order}...};
      },
      rows());
}

// Between two buffers.
class Copying {
 public:
  explicit Copying(double bytes) : from_(floats_of(bytes / 2)), to_(from_.size()) {
    Random random(from_.size());
    for (float& value : from_.span()) value = static_cast<float>(random.uniform());
  }

  void once() {
    std::memcpy(to_.data(), from_.data(), from_.size() * sizeof(float));
    expect(to_.span().back() == from_.span().back(), "ops: memcpy does not copy");
  }

 private:
  static std::size_t floats_of(double bytes) { return static_cast<std::size_t>(bytes) / sizeof(float); }
  FloatBuffer from_, to_;
};

// How much of it a second of CPU time does, in units of 1e9.
double rate(double work, double for_seconds, const std::function<void()>& once) {
  double taken = 0, done = 0;
  const Duration start = thread_cpu_time();
  for (; taken < for_seconds; taken = seconds(thread_cpu_time() - start)) {
    once();
    done += work;
  }
  return done / taken * 1e-9;
}

// To what float sums in another order may differ.
void check(const OpCase& it, OpRun& run) {
  OpRun reference(it, Column::reference);
  reference.forward_and_backward();
  run.forward_and_backward();
  const auto wanted = reference.results(), got = run.results();
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < wanted[k].numbers.size(); ++i) {
      const double number = wanted[k].numbers[i];
      difference += (got[k].numbers[i] - number) * (got[k].numbers[i] - number);
      norm += number * number;
    }
    expect(difference <= 1e-10 * norm,
           "ops: " + it.title() + ": the " + wanted[k].what + " is not what the reference gives");
  }
}

void measure(const OpCase& it, const Effort& effort, Table& table) {
  OpRun run(it, Column::cpu);
  check(it, run);
  const bool products = run.flops() > 0;
  const double work = products ? run.flops() : run.bytes(), reading = seconds(effort.reading) / 4;
  Copying copying(run.bytes());
  const auto spreads = alternate(
      effort.pairs,
      {[&] { return rate(work, reading, [&] { run.forward_and_backward(); }); },
       [&] { return products ? fma_gigaflops(reading) : rate(work, reading, [&] { copying.once(); }); }});
  char figure[64];
  std::snprintf(figure, sizeof figure, "%-33s %5.0f us", it.title().c_str(), work / spreads[0].median * 1e-3);
  table.add({figure,
             products ? "GFLOP/s" : "GB/s",
             spreads[0],
             products ? "FMA peak" : "memcpy",
             spreads[1],
             false,
             {}});
}

}  // namespace

void ops_section(const Effort& effort, Table& table) {
  table.section("ops of the CPU, forward and backward, one thread, 32 samples");
  const auto run = [&] {
    pin(0);
    onednn::use_this_thread_only();
    for (const OpCase& it : cases()) measure(it, effort, table);
  };
  std::async(std::launch::async, run).get();  // pinned, and gone afterwards
}

}  // namespace steelyard::bench
