// Ops on activations in bfloat16, against the reference on the same numbers.
#include <steelyard/model.h>

#include <cmath>
#include <map>

#include "nn/cpu/storage.h"
#include "tests/nn/ops/op_cases.h"
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::stored_ops_test {
namespace {

// One unit in the last place of bfloat16, and the rounding of a sum that is added to. Products also round
// their weights, which the reference does not.
constexpr float tolerance = 0x1p-7F, tolerance_of_products = 0x1p-5F;

bool is_product(const OpKind& kind) {
  return std::holds_alternative<TokenLinear>(kind) || std::holds_alternative<Conv2d>(kind);
}

// An op for tests that keep their numbers as floats: each call gets them rounded to bfloat16, as bits or, for
// an op of float32, still as floats, and its results are rounded. Arguments that share a buffer share one
// here.
class Rounded final : public Op {
 public:
  Rounded(std::unique_ptr<Op> op, OpPlace place, bool as_bits, bool numbers)
      : op_(std::move(op)), place_(std::move(place)), as_bits_(as_bits), numbers_(numbers) {}

  void forward(const Pass& pass, const Forward& call) override {
    Copies copies(as_bits_);
    const std::vector<const float*> inputs = inputs_of(copies, pass, call.inputs);
    float* const output = copies.of(call.output, place_.output.size() * pass.size());
    op_->forward(with_positions(pass), {inputs, call.parameters, output, call.workspace});
    copies.back();
  }

  void backward(const Pass& pass, const Backward& call) override {
    Copies copies(as_bits_);
    const std::vector<const float*> inputs = inputs_of(copies, pass, call.inputs);
    const std::uint64_t out = place_.output.size() * pass.size();
    const float* const output = copies.of(const_cast<float*>(call.output), out);
    float* const d_output = copies.of(call.d_output, out);
    std::vector<InputGradient> d_inputs;
    for (std::size_t i = 0; i < call.d_inputs.size(); ++i) {
      const auto [to, add] = call.d_inputs[i];
      const std::uint64_t size = place_.inputs[i].size() * pass.size();
      d_inputs.push_back({to == nullptr || numbers_ ? to : copies.of(to, size), add});
    }
    op_->backward(with_positions(pass), {inputs, call.parameters, output, d_output, d_inputs,
                                         call.d_parameters, call.add, call.workspace});
    copies.back();
  }

  [[nodiscard]] Traits traits() const override { return op_->traits(); }
  [[nodiscard]] std::string implementation() const override { return op_->implementation(); }

 private:
  // Buffers by the address of the test's.
  class Copies {
   public:
    explicit Copies(bool as_bits) : as_bits_(as_bits) {}

    float* of(float* host, std::uint64_t size) {
      const auto [found, added] = copies_.try_emplace(host);
      Copy& copy = found->second;
      if (added) {
        copy.bits.resize(size);
        cpu::storage_kernels().narrow(size, host, copy.bits.data());
        copy.floats.resize(size);
        cpu::storage_kernels().widen(size, copy.bits.data(), copy.floats.data());
      }
      return as_bits_ ? cpu::stored<float>(reinterpret_cast<float*>(copy.bits.data())) : copy.floats.data();
    }
    void back() {
      for (auto& [host, copy] : copies_) {
        const std::size_t size = copy.bits.size();
        if (!as_bits_) cpu::storage_kernels().narrow(size, copy.floats.data(), copy.bits.data());
        cpu::storage_kernels().widen(size, copy.bits.data(), host);
      }
    }

   private:
    struct Copy {
      std::vector<Bf16Bits> bits;
      Floats floats;
    };
    bool as_bits_;
    std::map<float*, Copy> copies_;
  };

  std::vector<const float*> inputs_of(Copies& copies, const Pass& pass,
                                      std::span<const float* const> host) const {
    std::vector<const float*> all;
    for (std::size_t i = 0; i < host.size(); ++i) {
      const std::uint64_t size = place_.inputs[i].size() * pass.size();
      all.push_back(numbers_ ? host[i] : copies.of(const_cast<float*>(host[i]), size));
    }
    return all;
  }

  Pass with_positions(const Pass& pass) {
    positions_.resize(pass.size());
    for (std::size_t i = 0; i < positions_.size(); ++i) positions_[i] = 5 * i + 3;
    batch_ = pass.batch;
    batch_.positions = positions_.data();
    return {batch_, pass.training, pass.renewed};
  }

  const std::unique_ptr<Op> op_;
  const OpPlace place_;
  const bool as_bits_, numbers_;
  std::vector<std::uint64_t> positions_;
  MicroBatch batch_;
};

void expect_same_in_storage(const OpKind& kind, const std::vector<Shape>& inputs, Random& random) {
  Question q = random_question(kind, inputs, 1, 1, false, random);
  const bool numbers = std::holds_alternative<Embedding>(kind);
  OpPlace place = q.place;
  place.storage = Storage::bf16;
  place.precision = Precision::bf16;
  Rounded ours(cpu::make_stored(kind, place), place, true, numbers);
  Rounded believed(reference_op(q), q.place, false, numbers);
  expect_same_op(ours, believed, kind, q.place, random, is_product(kind) ? tolerance_of_products : tolerance);
}

TEST(StoredOps, MatchTheReference) {
  Random random(5);
  for (const OpCase& it : op_cases()) {
    if (is_product(it.kind) && !cpu::stores_bf16()) continue;  // needs a processor that has them
    std::string name = name_of(it.kind);
    for (const Shape shape : it.inputs) name += " " + to_string(shape);
    SCOPED_TRACE(name);
    expect_same_in_storage(it.kind, it.inputs, random);
  }
}

// By Winograd's method, by oneDNN in bf16 (also with groups), and by oneDNN in float32.
TEST(StoredOps, ConvolutionsOfAllKindsMatchTheReference) {
  if (!cpu::stores_bf16()) GTEST_SKIP() << "this processor does not multiply bf16";
  Random random(6);
  const std::vector<std::pair<Conv2d, Shape>> all{
      {{.channels = 32, .kernel = 3, .padding = 1}, {8, 8, 16}},
      {{.channels = 32, .kernel = 3, .stride = 2, .padding = 1, .bias = false}, {9, 9, 16}},
      {{.channels = 48, .kernel = 1}, {4, 4, 32}},
      {{.channels = 32, .kernel = 3, .padding = 1, .groups = 32}, {6, 6, 32}},
      {{.channels = 32, .kernel = 3, .padding = 1, .groups = 4}, {6, 6, 32}},
      {{.channels = 7, .kernel = 3, .padding = 1}, {6, 6, 11}}};
  for (const auto& [op, shape] : all) {
    SCOPED_TRACE(testing::Message() << op.channels << " channels, stride " << op.stride << ", groups "
                                    << op.groups);
    expect_same_in_storage(op, {shape}, random);
  }
}

// The masks depend on the samples' positions.
TEST(StoredOps, DropoutMatchesTheReference) {
  Random random(7);
  expect_same_in_storage(Dropout(0.4), {{3, 4, 5}}, random);
}

TEST(StoredOps, CastsKeepNumbersThatBothStoragesHave) {
  Floats numbers, back(60, NAN);
  for (int i = 0; i < 60; ++i) numbers.push_back(static_cast<float>(i) / 4);
  std::vector<Bf16Bits> bits(60);
  OpPlace place{.inputs = {{1, 1, 20}}, .output = {1, 1, 20}, .storage = Storage::bf16};
  const MicroBatch batch{.size = 3, .count = 3};
  const auto op = cpu::make_cast(place);
  const std::vector<const float*> inputs{numbers.data()};
  auto* const stored = reinterpret_cast<float*>(bits.data());
  op->forward({batch, true}, {inputs, {}, stored, nullptr});
  for (const bool add : {false, true}) {
    const std::vector<InputGradient> to{{back.data(), add}};
    op->backward({batch, true}, {inputs, {}, stored, stored, to, {}, false, nullptr});
    for (std::size_t i = 0; i < back.size(); ++i) EXPECT_EQ(back[i], numbers[i] * (add ? 2 : 1));
  }
}

TEST(Storage, RoundsToTheNearest) {
  for (const Level level : {Level::baseline, Level::v3, Level::v4}) {
    if (level > cpu_level()) continue;
    const Floats from{1, 1 + 0x1p-8F, 1 + 0x1.8p-8F, 1 + 0x1p-7F + 0x1p-8F, -3.5F, INFINITY, NAN, 0};
    std::vector<Bf16Bits> bits(from.size());
    Floats to(from.size());
    cpu::storage_kernels(level).narrow(from.size(), from.data(), bits.data());
    cpu::storage_kernels(level).widen(from.size(), bits.data(), to.data());
    const Floats expected{1, 1, 1 + 0x1p-7F, 1 + 0x1p-6F, -3.5F, INFINITY, 0, 0};
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (i == 6) {
        EXPECT_TRUE(std::isnan(to[i]));
      } else {
        EXPECT_EQ(to[i], expected[i]) << i;
      }
    }
  }
}

TEST(Storage, SumsOfRowsAreFloat32) {
  const std::vector<Bf16Bits> ones(9 * 3, 0x3F80);
  Floats sums{1000, 2000, 3000};
  cpu::storage_kernels().sum_rows(9, 3, ones.data(), true, sums.data());
  EXPECT_EQ(sums, (Floats{1009, 2009, 3009}));
  cpu::storage_kernels().sum_rows(9, 3, ones.data(), false, sums.data());
  EXPECT_EQ(sums, (Floats{9, 9, 9}));
}

// Copies of the weights last until a call renews them.
void expect_copies(const OpKind& kind, Storage storage, Random& random, Order out = Order::samples) {
  Question q = random_question(kind, {{1, 4, 32}}, 4, 4, false, random);
  q.place.micro_batch = 4;
  q.place.precision = Precision::bf16;
  OpPlace place = q.place;
  place.storage = storage;
  const bool as_bits = storage == Storage::bf16;
  std::unique_ptr<Op> op = cpu::make_stored(kind, place);
  if (as_bits) op = std::make_unique<Rounded>(std::move(op), q.place, true, false);
  const MicroBatch batch{.size = 4, .count = 4};
  const Floats before = run(*op, q, {batch, false}, Order::samples, out).output;
  for (float& weight : q.parameters[0]) weight = -weight;
  EXPECT_EQ(run(*op, q, {batch, false, false}, Order::samples, out).output, before);
  EXPECT_NE(run(*op, q, {batch, false, true}, Order::samples, out).output, before);
}

TEST(StoredOps, WeightsAreConvertedOnceForEachVersion) {
  if (!cpu::stores_bf16()) GTEST_SKIP() << "this processor does not multiply bf16";
  Random random(8);
  expect_copies(TokenLinear{.outputs = 48}, Storage::bf16, random);
  expect_copies(TokenLinear{.outputs = 48}, Storage::float32, random);
  expect_copies(Conv2d{.channels = 32, .kernel = 1}, Storage::bf16, random);
}

}  // namespace
}  // namespace steelyard::nn::stored_ops_test
