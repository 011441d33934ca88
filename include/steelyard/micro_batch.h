// A micro-batch: what one call of a network works on. Its samples and the numbers that
// make them reproducible.
#pragma once

#include <array>
#include <cstdint>

namespace steelyard::nn {

// A new size costs every oneDNN primitive 0.1-0.2 ms once, so there are only these.
inline constexpr std::array<std::uint32_t, 6> micro_batch_sizes{32, 16, 8, 4, 2, 1};
inline constexpr std::uint32_t largest_micro_batch = micro_batch_sizes.front();

struct MicroBatch {
  // `size` samples, each of the model's input shape, one behind the other (size is one of micro_batch_sizes).
  const float* inputs = nullptr;
  const std::uint32_t* labels = nullptr;     // size * labels of a sample, one sample behind the other
  const std::uint64_t* positions = nullptr;  // size; in the epoch's permutation: what dropout is keyed by
  std::uint32_t size = 0;
  std::uint32_t count = 0;  // the first `count` samples are real; the rest is padding and changes no sum
  std::uint64_t seed = 0;   // of the job
  std::uint64_t epoch = 0;
};

// Sums over the real samples of one or more micro-batches; plain numbers, to be added by whoever needs more.
struct Sums {
  double loss = 0;
  std::uint64_t correct = 0;  // labels

  Sums& operator+=(const Sums& other) {
    loss += other.loss;
    correct += other.correct;
    return *this;
  }
  friend bool operator==(const Sums&, const Sums&) = default;
};

}  // namespace steelyard::nn
