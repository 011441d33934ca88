#include <gmock/gmock.h>

#include <optional>

#include "nn/cuda/attention.h"
#include "nn/cuda/typed_calls.h"
#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::attention_choice_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Computes with our kernels, as if they were those of a library.
class Library : public Op {
 public:
  explicit Library(std::unique_ptr<Op> op) : op_(std::move(op)) {}

  void forward(const Pass& pass, const Forward& call) override { op_->forward(pass, call); }
  void backward(const Pass& pass, const Backward& call) override { op_->backward(pass, call); }
  [[nodiscard]] Traits traits() const override { return op_->traits(); }
  [[nodiscard]] std::string implementation() const override { return "library"; }

 private:
  std::unique_ptr<Op> op_;
};

class FailsWhenItRuns final : public Library {
 public:
  using Library::Library;
  void forward(const Pass& /*pass*/, const Forward& /*call*/) override {
    throw Failure(ExitCode::failed, "it does not run");
  }
};

class LacksMemory final : public Library {
 public:
  using Library::Library;
  void backward(const Pass& /*pass*/, const Backward& /*call*/) override { throw OutOfMemory(1, 0); }
};

// Only its gradients are wrong: they are those of the other mask.
class OtherGradients final : public Library {
 public:
  OtherGradients(std::unique_ptr<Op> op, std::unique_ptr<Op> other)
      : Library(std::move(op)), other_(std::move(other)) {}
  void forward(const Pass& pass, const Forward& call) override {
    other_->forward(pass, call);
    Library::forward(pass, call);
  }
  void backward(const Pass& pass, const Backward& call) override { other_->backward(pass, call); }

 private:
  std::unique_ptr<Op> other_;
};

// One token of one sample is wrong: a fault of a tile's end, lost in the sum over all.
class WrongToken final : public Library {
 public:
  WrongToken(std::unique_ptr<Op> op, const OpPlace& place, Stream& stream)
      : Library(std::move(op)), token_(place.output.channels), size_(place.output.size()), stream_(stream) {}
  void forward(const Pass& pass, const Forward& call) override {
    Library::forward(pass, call);
    const ForwardOf<Bf16> typed(call);
    stream_.fill_zero(typed.output + size_ - token_, token_ * sizeof(Bf16));
  }

 private:
  std::uint64_t token_, size_;  // numbers of a token, and of a sample
  Stream& stream_;
};

class Counts final : public Library {
 public:
  Counts(std::unique_ptr<Op> op, int& calls) : Library(std::move(op)), calls_(calls) {}
  void forward(const Pass& pass, const Forward& call) override {
    ++calls_;
    Library::forward(pass, call);
  }

 private:
  int& calls_;
};

template <class Kind>
LibraryAttention library(const Attention& op, const OpPlace& place, const Context& context) {
  return {std::make_unique<Kind>(make_own_attention(op, place, context))};
}

// What computes an attention of two heads of 16 features.
std::string chosen(const MakeLibraryAttention& make_library, Storage storage = Storage::bf16,
                   bool own = false, bool causal = true) {
  Random random(1);
  const Attention op(2, causal);
  Question q = random_question(op, {{1, 20, 3 * 32}}, 4, 4, false, random);
  q.place.storage = storage;
  q.place.micro_batch = 4;
  std::optional<Context> kept;
  const auto make = [&](const OpPlace& place, const Context& context) {
    kept.emplace(context).own_kernels = own;
    return choose_attention(op, place, *kept, make_library);
  };
  return OnDevice(make, q).implementation();
}

TEST(AttentionChoice, TakesALibraryThatComputesTheSameInBf16) {
  for (const bool causal : {false, true})
    EXPECT_EQ(chosen(&library<Library>, Storage::bf16, false, causal), "library");
}

TEST(AttentionChoice, AsksNoLibraryInFloat32OrAfterARefusalAtTheFirstRun) {
  const auto unexpected = [](const Attention&, const OpPlace&, const Context&) {
    ADD_FAILURE();
    return LibraryAttention();
  };
  EXPECT_EQ(chosen(unexpected, Storage::float32), "cuda");
  EXPECT_EQ(chosen(unexpected, Storage::bf16, true), "cuda");
}

TEST(AttentionChoice, NamesTheReasonForOurKernels) {
  const auto refuses = [](const Attention&, const OpPlace&, const Context&) {
    return LibraryAttention{nullptr, "library: no plan"};
  };
  EXPECT_EQ(chosen(refuses), "cuda (library: no plan)");
  EXPECT_EQ(chosen(&library<FailsWhenItRuns>), "cuda (library: it does not run)");
}

TEST(AttentionChoice, LeavesMissingMemoryToTheNetwork) {
  EXPECT_THROW((void)chosen(&library<LacksMemory>), OutOfMemory);
}

TEST(AttentionChoice, RefusesWrongResults) {
  const auto other_mask = [](const Attention& op, const OpPlace& place, const Context& context) {
    return library<Library>(Attention(op.heads, !op.causal), place, context);
  };
  const auto other_heads = [](const Attention& op, const OpPlace& place, const Context& context) {
    return library<Library>(Attention(2 * op.heads, op.causal), place, context);  // and so another scale
  };
  const auto other_gradients = [](const Attention& op, const OpPlace& place, const Context& context) {
    return LibraryAttention{std::make_unique<OtherGradients>(
        make_own_attention(op, place, context),
        make_own_attention(Attention(op.heads, !op.causal), place, context))};
  };
  const auto wrong_token = [](const Attention& op, const OpPlace& place, const Context& context) {
    return LibraryAttention{
        std::make_unique<WrongToken>(make_own_attention(op, place, context), place, context.stream)};
  };
  for (const bool causal : {false, true}) {
    const auto with = [&](const MakeLibraryAttention& make) {
      return chosen(make, Storage::bf16, false, causal);
    };
    EXPECT_THAT(with(other_mask), AllOf(StartsWith("cuda (library: "), HasSubstr("result of 4 samples")));
    EXPECT_THAT(with(other_heads), HasSubstr("result of 4 samples"));
    EXPECT_THAT(with(other_gradients), HasSubstr("gradient of queries of 4 samples"));
    EXPECT_THAT(with(wrong_token), HasSubstr("result of 4 samples"));
  }
}

TEST(AttentionChoice, ComparesOpsOfEqualSizesOnce) {
  int calls = 0;
  std::optional<std::string> comparison;
  const auto counts = [&](const Attention& op, const OpPlace& place, const Context& context) {
    return LibraryAttention{
        std::make_unique<Counts>(make_own_attention(op, place, context), calls), {}, &comparison};
  };
  EXPECT_EQ(chosen(counts), "library");
  EXPECT_EQ(calls, 3) << "of 4, 2 and 1 samples";
  EXPECT_EQ(chosen(counts), "library");
  EXPECT_EQ(calls, 3);
  comparison = "its result is wrong";
  EXPECT_EQ(chosen(counts), "cuda (library: its result is wrong)");
}

}  // namespace
}  // namespace steelyard::nn::cuda::attention_choice_test
