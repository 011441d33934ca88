// The choice among the algorithms that a library offers for a convolution. A function of what the library
// reports, so that it is tested without a device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/device_name.h"
#include "core/error.h"

namespace steelyard::nn::cuda {

// No algorithm of the library computes this op; our own kernels do. Every other error of a library is an
// error of the installation or of the device.
class NoAlgorithm : public Failure {
 public:
  using Failure::Failure;
};

// To which format an algorithm rounds factors in float32, finest first; half: IEEE's 16 bits, whose smallest
// number is 6e-8.
enum class Factors : std::uint8_t { float32, tf32, half };

// Whether a worker of this precision may use it.
[[nodiscard]] bool allowed(Factors factors, Precision precision);

struct Offer {
  int algorithm = 0;
  int math = 0;  // the library's number; the algorithm is valid only with it
  bool works = false;
  bool repeats = false;  // equal bits for equal inputs
  Factors factors = Factors::float32;
  friend bool operator==(const Offer&, const Offer&) = default;
};

struct Choice {
  Offer offer;
  std::uint64_t workspace = 0;  // bytes
};

// The first of these offers (fastest first) that may be used and needs at most `limit` bytes. `workspace`
// asks the library how many an offer needs with its own math; nothing: it refuses the offer.
using AskWorkspace = std::function<std::optional<std::uint64_t>(const Offer&)>;
[[nodiscard]] std::optional<Choice> choose(std::span<const Offer> offers, Precision precision,
                                           std::uint64_t limit, const AskWorkspace& workspace);

// What an error of a library means for its caller.
enum class Trouble : std::uint8_t { none, memory, unsupported, other };

// Throws OutOfMemory, NoAlgorithm or Failure with this message; returns for none.
void raise(Trouble trouble, const std::string& message);

}  // namespace steelyard::nn::cuda
