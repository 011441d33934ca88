#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::attention_test {
namespace {

void expect_right(const Attention& op, Shape in, std::uint32_t size, float far, Random& random) {
  SCOPED_TRACE(testing::Message() << in.width << " tokens, " << in.channels / 3 << " features, " << op.heads
                                  << " heads, causal " << op.causal);
  const MicroBatch batch{.size = size, .count = size};
  Question q = random_question(op, {in}, size, size, false, random);
  for (float& x : q.inputs[0]) x *= far;
  OnDevice ours(q);
  expect_same(run(ours, q, {batch, true}), run(*reference_op(q), q, {batch, true}), q, {batch, true});
}

TEST(CudaAttention, AgreesWithTheReference) {
  Random random(1);
  expect_good_cuda_op(Attention(1, true), {Shape{1, 7, 3 * 10}}, random);
  for (const bool causal : {false, true}) {
    expect_right(Attention(1, causal), {1, 1, 3}, 2, 1, random);
    expect_right(Attention(3, causal), {1, 7, 3 * 3 * 5}, 4, 1, random);
  }
}

// Numbers of tokens around the tiles of 16, 32 and 64, and each kind of head length.
TEST(CudaAttention, SupportsAnyNumberOfTokensAndHeadSize) {
  Random random(2);
  for (const bool causal : {false, true}) {
    using Numbers = std::vector<std::uint32_t>;
    for (const std::uint32_t length : thorough ? Numbers{1, 33, 64, 65, 128} : Numbers{1, 64, 65}) {
      for (const std::uint32_t tokens :
           thorough ? Numbers{9, 16, 17, 32, 33, 64, 65, 84, 130} : Numbers{20, 65}) {
        expect_right(Attention(1, causal), {1, tokens, 3 * length}, 1, 1, random);
      }
    }
    expect_right(Attention(3, causal), {1, 70, 3 * 3 * 20}, 2, 1, random);
  }
}

// Gradients of both ways of backward, added to existing ones, with loads by fours and without.
TEST(CudaAttention, SupportsAllBuffers) {
  Random random(6);
  for (const std::uint32_t length : {8, 10}) {
    for (const std::uint32_t tokens : {20, 70}) {
      const MicroBatch batch{.size = 1, .count = 1};
      const Question q = random_question(Attention(1, true), {{1, tokens, 3 * length}}, 1, 1, false, random);
      OnDevice op(q);
      expect_all_buffers(op, q, {batch, true}, run(*reference_op(q), q, {batch, true}));
    }
  }
}

TEST(CudaAttention, GivesEqualBits) {
  Random random(7);
  const MicroBatch batch{.size = 1, .count = 1};
  for (const std::uint32_t tokens : {20, 70}) {
    const Question q = random_question(Attention(2, true), {{1, tokens, 3 * 16}}, 1, 1, false, random);
    OnDevice op(q);
    const Answer first = run(op, q, {batch, true});
    in_each_schedule([&] {
      const Answer other = run(op, q, {batch, true});
      EXPECT_EQ(other.output, first.output);
      EXPECT_EQ(other.d_inputs, first.d_inputs);
    });
  }
}

// The maximum changes from tile to tile, and the exponentials of such scores exceed float.
TEST(CudaAttention, HandlesLargeScores) {
  Random random(3);
  for (const bool causal : {false, true}) expect_right(Attention(1, causal), {1, 130, 3 * 20}, 1, 12, random);
}

// Whether these are the library's ops.
constexpr bool by_library =
#if defined(STEELYARD_ON_DEVICE) && defined(STEELYARD_CUDNN_FRONTEND)
    true;
#else
    false;
#endif

// Micro-batches of powers of two and others.
void expect_right_in_bf16(const Attention& op, Shape in, Random& random) {
  for (const std::uint32_t size : {1, 7}) {
    const MicroBatch batch{.size = size, .count = size};
    Question q = random_question(op, {in}, size, size, false, random);
    shorten(q);
    const Answer expected = run(*reference_op(q), q, {batch, true});
    q.place.storage = Storage::bf16;
    OnDevice ours(q);
    expect_same(run(ours, q, {batch, true}), expected, q, {batch, true}, 0.02F);
    const bool aligned = op.heads * in.width % 4 == 0;
    EXPECT_THAT(ours.implementation(), testing::StartsWith(by_library && aligned ? "cudnn" : "cuda"));
  }
}

TEST(CudaAttention, AgreesWithTheReferenceInBf16) {
  Random random(8);
  for (const bool causal : {false, true}) {
    for (const std::uint32_t length : {16, 64})
      expect_right_in_bf16(Attention(2, causal), {1, 40, 3 * 2 * length}, random);
    expect_right_in_bf16(Attention(4, causal), {1, 65, 3 * 4 * 16}, random);
    expect_right_in_bf16(Attention(3, causal), {1, 65, 3 * 3 * 16}, random);
  }
}

// Numbers of the device for one call in bf16, and the bits of its results.
class InBf16 {
 public:
  explicit InBf16(std::uint32_t size) : batch_{.size = size, .count = size} {
    Random random(9);
    for (PinnedArray<Bf16>* const array : {&x_, &d_output_}) {
      for (std::uint64_t i = 0; i < array->size(); ++i)
        array->data()[i] = Bf16(static_cast<float>(random.normal()));
    }
    stream_.copy_array(x_there_.data(), x_.data(), x_.size());
  }

  void add() {
    const float* const inputs[] = {address(x_there_)};
    const InputGradient d_inputs[] = {{address(d_x_)}};
    op_->forward({batch_, true}, {inputs, {}, address(output_), workspace_.data()});
    op_->backward(
        {batch_, true},
        {inputs, {}, address(output_), address(d_output_there_), d_inputs, {}, false, workspace_.data()});
  }
  std::vector<std::uint16_t> bits() {
    std::vector<std::uint16_t> all;
    for (DeviceArray<Bf16>* const array : {&output_, &d_x_}) {
      const PinnedArray<Bf16> here(array->size());
      stream_.copy_array(here.data(), array->data(), array->size());
      stream_.synchronize();
      for (std::uint64_t i = 0; i < here.size(); ++i) all.push_back(here.data()[i].bits);
    }
    return all;
  }
  // Before each run: the gradient of the result may have been overwritten.
  void bring() {
    stream_.copy_array(d_output_there_.data(), d_output_.data(), d_output_.size());
    stream_.fill_zero(output_.data(), output_.size() * sizeof(Bf16));
    stream_.fill_zero(d_x_.data(), d_x_.size() * sizeof(Bf16));
  }
  Stream& stream() { return stream_; }

 private:
  static constexpr std::uint32_t tokens = 40, features = 32, most = 4;
  static float* address(const DeviceArray<Bf16>& array) { return reinterpret_cast<float*>(array.data()); }

  const MicroBatch batch_;
  Stream stream_;
  Products products_{stream_, Precision::bf16};
  const Context context_{stream_, products_, nullptr, nullptr, nullptr};
  const OpPlace place_{.inputs = {{1, tokens, 3 * features}},
                       .output = {1, tokens, features},
                       .micro_batch = most,
                       .precision = Precision::bf16,
                       .storage = Storage::bf16};
  std::unique_ptr<Op> op_ = make(Attention(2, true), place_, context_);
  PinnedArray<Bf16> x_{std::uint64_t{most} * tokens * 3 * features};
  PinnedArray<Bf16> d_output_{std::uint64_t{most} * tokens * features};
  DeviceArray<Bf16> x_there_{x_.size()}, d_x_{x_.size()};
  DeviceArray<Bf16> output_{d_output_.size()}, d_output_there_{d_output_.size()};
  DeviceArray<float> workspace_{op_->traits().workspace};
};

TEST(CudaAttention, GivesTheSameBitsInACapture) {
  for (const std::uint32_t size : {1, 3, 4}) {
    InBf16 attention(size);
    attention.bring();
    attention.add();
    const std::vector<std::uint16_t> expected = attention.bits();
    attention.bring();
    const Captured captured = capture(attention.stream(), [&] { attention.add(); });
    ASSERT_NE(captured.graph, nullptr) << captured.refusal;
    attention.stream().run(*captured.graph);
    EXPECT_EQ(attention.bits(), expected);
  }
}

TEST(CudaAttention, RefusesHeadsThatAreTooLong) {
  Random random(4);
  const Question q = random_question(Attention(1, false), {{1, 2, 3 * 129}}, 1, 1, false, random);
  try {
    OnDevice op(q);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), testing::HasSubstr("129 features"));
  }
}

TEST(CudaAttention, EachBarrierIsNeeded) {
  Random random(5);
  expect_needed_barriers("attention_tiles.h",
                         {random_question(Attention(1, false), {{1, 130, 3 * 100}}, 1, 1, false, random),
                          random_question(Attention(1, true), {{1, 40, 3 * 100}}, 1, 1, false, random)},
                         1, 1);
}

}  // namespace
}  // namespace steelyard::nn::cuda::attention_test
