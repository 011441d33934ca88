// Ops on activations in bfloat16. Those that are bound by memory, products and convolutions have a form of
// their own, mostly the one of float32 with another type of numbers; the others compute sample by sample in
// float32.
#include <type_traits>

#include "core/check.h"
#include "nn/cpu/by_sample.h"
#include "nn/cpu/storage.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

class CastOp final : public DirectOp {
 public:
  explicit CastOp(const OpPlace& place)
      : to_bf16_(place.storage == Storage::bf16), features_(place.output.size()) {
    CHECK(place.order == Order::samples, "activations in lanes are float32");
  }

  void forward(const Pass& pass, const Forward& call) override {
    cast(to_bf16_, features_ * pass.size(), call.inputs[0], false, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const auto [to, add] = call.d_inputs[0];
    if (to != nullptr) cast(!to_bf16_, features_ * pass.size(), call.d_output, add, to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  static void cast(bool to_bf16, std::size_t size, const float* from, bool add, float* to) {
    const StorageTable& kernels = storage_kernels();
    if (to_bf16) return (add ? kernels.add_narrow : kernels.narrow)(size, from, stored<Bf16Bits>(to));
    (add ? kernels.add_wide : kernels.widen)(size, stored<Bf16Bits>(from), to);
  }

  bool to_bf16_;
  std::uint64_t features_;
};

// Whether make() has a form in bfloat16.
template <class Kind>
constexpr bool has_own_form =
    std::is_same_v<Kind, Activation> || std::is_same_v<Kind, Add> || std::is_same_v<Kind, BatchNorm> ||
    std::is_same_v<Kind, Conv2d> || std::is_same_v<Kind, TokenLinear>;

}  // namespace

void add_up(std::uint64_t size, Storage storage, const float* from, float* to) {
  if (storage == Storage::float32) {
    for (std::uint64_t i = 0; i < size; ++i) to[i] += from[i];
    return;
  }
  storage_kernels().sum(size, stored<Bf16Bits>(to), stored<Bf16Bits>(from), stored<Bf16Bits>(to));
}

std::unique_ptr<Op> make_cast(const OpPlace& place) { return std::make_unique<CastOp>(place); }

std::unique_ptr<Op> make_stored(const OpKind& kind, const OpPlace& place) {
  return std::visit(
      [&]<class Kind>(const Kind& op) -> std::unique_ptr<Op> {
        if (place.storage == Storage::float32 || has_own_form<Kind>) return make(op, place);
        return by_sample(place, std::is_same_v<Kind, Embedding>,
                         [&](const OpPlace& one) { return make(op, one); });
      },
      kind);
}

}  // namespace steelyard::nn::cpu
