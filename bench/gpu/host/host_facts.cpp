#include "bench/gpu/native_facts.h"

namespace steelyard::bench {

std::vector<std::pair<std::string, std::string>> native_facts() {
  return {{"device", "the host executor; it has no libraries and no driver"}};
}

RegisteredMemory::RegisteredMemory(void* data, std::uint64_t) : data_(data) {}
RegisteredMemory::~RegisteredMemory() = default;

}  // namespace steelyard::bench
