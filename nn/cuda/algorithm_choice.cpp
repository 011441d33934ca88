#include "nn/cuda/algorithm_choice.h"

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// Never to half: small gradients would become 0. In bf16 factors are stored in bfloat16 already.
bool allowed(Factors factors, Precision precision) {
  return factors == Factors::float32 || (factors == Factors::tf32 && precision != Precision::float32);
}

std::optional<Choice> choose(std::span<const Offer> offers, Precision precision, std::uint64_t limit,
                             const AskWorkspace& workspace) {
  for (const Offer& offer : offers) {
    if (!offer.works || !offer.repeats || !allowed(offer.factors, precision)) continue;
    const std::optional<std::uint64_t> bytes = workspace(offer);
    if (bytes && *bytes <= limit) return Choice{offer, *bytes};
  }
  return std::nullopt;
}

void raise(Trouble trouble, const std::string& message) {
  switch (trouble) {
    case Trouble::none:
      return;
    case Trouble::memory:
      throw OutOfMemory(message);
    case Trouble::unsupported:
      throw NoAlgorithm(ExitCode::failed, message);
    case Trouble::other:
      break;
  }
  throw Failure(ExitCode::failed, message);
}

}  // namespace steelyard::nn::cuda
