#include <gmock/gmock.h>

#include "nn/cuda/attention.h"
#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::attention_choice_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Our kernels, as those of a library.
class Library final : public Op {
 public:
  Library(std::unique_ptr<Op> op, float factor, Stream& stream)
      : op_(std::move(op)), factor_(factor), stream_(stream) {}

  void forward(const Pass& pass, const Forward& call) override {
    if (factor_ == 0) throw Failure(ExitCode::failed, "it does not run");
    op_->forward(pass, call);
  }
  void backward(const Pass& pass, const Backward& call) override { op_->backward(pass, call); }
  [[nodiscard]] Traits traits() const override { return op_->traits(); }
  [[nodiscard]] std::string implementation() const override { return "library"; }

 private:
  std::unique_ptr<Op> op_;
  float factor_;
  Stream& stream_;
};

// How an attention of two heads of 16 features is computed, if a library computes `library` instead of it.
std::string chosen(Storage storage, const MakeLibraryAttention& make_library, bool own = false) {
  Random random(1);
  Question q = random_question(Attention(2, true), {{1, 20, 3 * 32}}, 4, 4, false, random);
  q.place.storage = storage;
  const auto make = [&](const OpPlace& place, const Context& context) {
    Context other = context;
    other.own_convolutions = own;
    return std::visit(
        [&](const auto& op) -> std::unique_ptr<Op> {
          if constexpr (std::is_same_v<std::decay_t<decltype(op)>, Attention>) {
            return choose_attention(op, place, own ? other : context, make_library);
          } else {
            return nullptr;
          }
        },
        q.kind);
  };
  return OnDevice(make, q).implementation();
}
