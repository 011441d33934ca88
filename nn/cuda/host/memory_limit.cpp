#include "nn/cuda/host/memory_limit.h"

#include <atomic>

namespace steelyard::nn::cuda::host {
namespace {

std::atomic<std::uint64_t> limit{0}, used{0};

}  // namespace

void limit_memory(std::uint64_t bytes) { limit = bytes; }

std::uint64_t free_memory() {
  const std::uint64_t all = limit, taken = used;
  if (all == 0) return UINT64_MAX;
  return all > taken ? all - taken : 0;
}

std::uint64_t used_memory() { return used; }

void take_memory(std::uint64_t bytes) { used += bytes; }
void give_memory(std::uint64_t bytes) { used -= bytes; }

}  // namespace steelyard::nn::cuda::host
