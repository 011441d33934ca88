#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/random.h"
#include "nn/cuda/attention.h"
#include "nn/cuda/bf16.h"
#include "nn/cuda/unless_lost.h"

namespace steelyard::nn::cuda {
namespace {

// Both round factors and results to 8 bits, but not at the same places. A wrong mask or scale changes results
// by much more.
constexpr double largest_difference = 0x1p-5, smallest_number = 0x1p-8;
// For one token of a head: a single wrong one is too small a part of the sum over all.
constexpr double largest_of_token = 0x1p-2;
// Bytes of one array: larger micro-batches than one sample are not compared if their arrays are larger.
constexpr std::uint64_t largest_trial = 8 << 20;

class Numbers {
 public:
  explicit Numbers(std::uint64_t size) : pinned_(size), device_(size) {}

  // Of deviation 1: scores then differ enough to show a wrong scale.
  void draw(Random& random) {
    constexpr std::uint64_t period = 1 << 16;
    const std::uint64_t size = pinned_.size();
    for (std::uint64_t i = 0; i < size && i < period; ++i)
      pinned_.data()[i] = Bf16(static_cast<float>(random.normal()));
    for (std::uint64_t i = period; i < size; ++i)  // no two samples or heads are equal
      pinned_.data()[i] = pinned_.data()[(i * 40503 + i / period) % period];
  }
  void upload(Stream& stream) { stream.copy_array(device_.data(), pinned_.data(), pinned_.size()); }
  void bring_back(Stream& stream) { stream.copy_array(pinned_.data(), device_.data(), pinned_.size()); }

  [[nodiscard]] float* address() const { return reinterpret_cast<float*>(device_.data()); }
  [[nodiscard]] std::uint64_t size() const { return pinned_.size(); }
  [[nodiscard]] float operator[](std::uint64_t i) const { return pinned_.data()[i]; }

 private:
  PinnedArray<Bf16> pinned_;
  DeviceArray<Bf16> device_;
};

struct Results {
  Results(std::uint64_t output_size, std::uint64_t x_size) : output(output_size), d_x(x_size) {}
  Numbers output, d_x;
};

void compute(Op& op, const Pass& pass, Numbers& x, Numbers& d_output, const DeviceArray<float>& workspace,
             Results& results, Stream& stream) {
  const float* const inputs[] = {x.address()};
  const InputGradient d_inputs[] = {{results.d_x.address()}};
  x.upload(stream);
  d_output.upload(stream);
  op.forward(pass, {inputs, {}, results.output.address(), workspace.data()});
  op.backward(
      pass,
      {inputs, {}, results.output.address(), d_output.address(), d_inputs, {}, false, workspace.data()});
  results.output.bring_back(stream);
  results.d_x.bring_back(stream);
}

Results results_of(Op& op, Numbers& x, Numbers& d_output, std::uint32_t size, Stream& stream) {
  Results results(d_output.size(), x.size());
  const DeviceArray<float> workspace(op.traits().workspace);
  const MicroBatch batch{.size = size, .count = std::numeric_limits<std::uint32_t>::max()};
  try {
    compute(op, {batch, true}, x, d_output, workspace, results, stream);
    stream.synchronize();
  } catch (...) {
    unless_lost([&] { stream.synchronize(); });  // added work still uses the arrays
    throw;
  }
  return results;
}

// Sums of squares over some numbers of two arrays.
struct Squares {
  double difference = 0, all = 0;

  Squares(const Numbers& a, const Numbers& b, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      difference += std::pow(a[i] - b[i], 2);
      all += std::pow(b[i], 2) + smallest_number * smallest_number;
    }
  }
  Squares() = default;
  Squares& operator+=(const Squares& other) {
    difference += other.difference, all += other.all;
    return *this;
  }
  // Also for NaN.
  [[nodiscard]] bool exceed(double limit) const { return !(difference <= limit * limit * all); }
};

// Rows of an array: `count` numbers from `begin` on, of each `row`; they consist of heads of `length`
// numbers.
struct Part {
  std::uint64_t row, begin, count, length;
};

// A token's part of a head may be near 0, so it is compared with the mean one, too.
bool differ(const Numbers& a, const Numbers& b, const Part& part) {
  const auto each_head = [&](auto call) {
    for (std::uint64_t at = part.begin; at < a.size(); at += part.row) {
      for (std::uint64_t i = at; i < at + part.count; i += part.length)
        call(Squares(a, b, i, i + part.length));
    }
  };
  Squares sum;
  double heads = 0;
  each_head([&](const Squares& head) { sum += head, ++heads; });
  bool one_differs = false;
  each_head([&](Squares head) {
    head.all += sum.all / heads;
    one_differs |= head.exceed(largest_of_token);
  });
  return one_differs || sum.exceed(largest_difference);
}

// Empty if both compute the same.
std::string difference_between(Op& library, Op& own, std::uint64_t length, const OpPlace& place,
                               Stream& stream) {
  Random random(1);
  const std::uint64_t features = place.output.channels, of_sample = place.inputs[0].size();
  for (std::uint32_t size = place.micro_batch; size > 0; size /= 2) {
    if (size > 1 && size * of_sample * sizeof(Bf16) > largest_trial) continue;
    Numbers x(size * of_sample), d_output(size * place.output.size());
    x.draw(random);
    d_output.draw(random);
    const Results actual = results_of(library, x, d_output, size, stream);
    const Results expected = results_of(own, x, d_output, size, stream);
    const std::string samples = " of " + std::to_string(size) + (size > 1 ? " samples" : " sample");
    if (differ(actual.output, expected.output, {features, 0, features, length}))
      return "its result" + samples + " is wrong";
    for (std::uint64_t part = 0; part < 3; ++part) {
      if (differ(actual.d_x, expected.d_x, {3 * features, part * features, features, length}))
        return std::string("its gradient of ") +
               (part == 0   ? "queries"
                : part == 1 ? "keys"
                            : "values") +
               samples + " is wrong";
    }
  }
  return {};
}

std::string refusal_of(Op& library, Op& own, std::uint64_t length, const OpPlace& place, Stream& stream) {
  try {
    return difference_between(library, own, length, place, stream);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Failure& failure) {
    return failure.what();
  }
}

}  // namespace

std::unique_ptr<Op> choose_attention(const Attention& op, const OpPlace& place, const Context& context,
                                     const MakeLibraryAttention& make_library) {
  if (place.storage != Storage::bf16 || context.own_kernels) return make_own_attention(op, place, context);
  LibraryAttention library = make_library(op, place, context);
  if (!library.op) return make_own_attention(op, place, context, library.refusal);
  std::optional<std::string> here, &refused = library.comparison != nullptr ? *library.comparison : here;
  if (!refused) {
    const std::uint64_t length = place.output.channels / op.heads;
    refused = refusal_of(*library.op, *make_own_attention(op, place, context), length, place, context.stream);
  }
  if (refused->empty()) return std::move(library.op);
  return make_own_attention(op, place, context, library.op->implementation() + ": " + *refused);
}

}  // namespace steelyard::nn::cuda
