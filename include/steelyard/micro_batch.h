// A micro-batch: the samples of one forward and backward pass, and the keys for reproducible random numbers.
#pragma once

#include <array>
#include <cstdint>

namespace steelyard::nn {

// Sizes are fixed because oneDNN takes 0.1-0.2 ms to create each primitive for a new size.
inline constexpr std::array<std::uint32_t, 6> micro_batch_sizes{32, 16, 8, 4, 2, 1};
inline constexpr std::uint32_t largest_micro_batch = micro_batch_sizes.front();
// With batch norm over whole shares, a micro-batch has any size up to this.
inline constexpr std::uint32_t largest_share = 4096;

// A sample that an engine keeps on its device (Engine::kept_data()), and the window of it that is shown: this
// many pixels further down and to the right, both of either sign, and mirrored left and right after that.
struct KeptSample {
  std::uint32_t index = 0;  // among those kept
  std::int16_t down = 0, right = 0;
  bool flipped = false;
  friend bool operator==(const KeptSample&, const KeptSample&) = default;
};

struct MicroBatch {
  // Pointers are not owned. `size` samples of the model's input shape, contiguous.
  const float* inputs = nullptr;
  const std::uint32_t* labels = nullptr;     // size * labels per sample, contiguous
  const std::uint64_t* positions = nullptr;  // `size` positions in the epoch; keys of dropout
  std::uint32_t size = 0;                    // one of Engine::micro_batch_sizes()
  std::uint32_t count = 0;  // the first `count` samples are real; the rest is padding and changes no sum
  std::uint64_t seed = 0;   // of the job
  std::uint64_t epoch = 0;
  const float* targets = nullptr;  // size * targets per sample, contiguous; null with labels alone
  // `size` samples that the engine keeps, in place of `inputs`; null for all engines that keep none.
  const KeptSample* kept = nullptr;
};

// Sums over the real samples of one or more micro-batches.
struct Sums {
  double loss = 0;
  std::uint64_t correct = 0;  // labels predicted correctly; uncounted: no answer is right or wrong

  static constexpr std::uint64_t uncounted = UINT64_MAX;

  Sums& operator+=(const Sums& other) {
    loss += other.loss;
    correct = correct == uncounted || other.correct == uncounted ? uncounted : correct + other.correct;
    return *this;
  }
  friend bool operator==(const Sums&, const Sums&) = default;
};

}  // namespace steelyard::nn
