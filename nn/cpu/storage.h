// Activations stored in bfloat16 on the CPU: their moves, and their addresses. Ops are called with addresses
// of floats in either storage (nn/op.h); an op that is a template over T, float or Bf16Bits, casts them here.
#pragma once

#include <cstddef>
#include <memory>

#include "core/processor.h"
#include "nn/cpu/kernels.h"
#include "nn/op.h"

namespace steelyard::nn::cpu {

inline const StorageTable& storage_kernels(Level level = cpu_level()) {
  return at_level(level, baseline::storage, v3::storage, v4::storage);
}

// Whether a network in bf16 stores activations in bfloat16: if the processor multiplies it.
bool stores_bf16();

// Adds gradients: to += from.
void add_up(std::uint64_t size, Storage storage, const float* from, float* to);

template <class T>
const T* stored(const float* address) {
  return reinterpret_cast<const T*>(address);
}
template <class T>
T* stored(float* address) {
  return reinterpret_cast<T*>(address);
}

// Calls `make` with a number of the storage's type.
template <class Make>
auto in_storage(Storage storage, Make make) {
  return storage == Storage::bf16 ? make(Bf16Bits()) : make(float());
}

}  // namespace steelyard::nn::cpu
