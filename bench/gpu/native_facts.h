// What only CUDA's own functions tell: two implementations, for devices and for the host executor.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace steelyard::bench {

// Names and values: the device, its driver, and the versions of libraries, compiled with and loaded.
std::vector<std::pair<std::string, std::string>> native_facts();

// Makes memory of this process pinned while the object lives. Throws Failure if the device refuses it.
class RegisteredMemory {
 public:
  RegisteredMemory(void* data, std::uint64_t bytes);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

 private:
  void* data_;
};

}  // namespace steelyard::bench
