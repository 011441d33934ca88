#include "nn/cuda/reachable.h"

#include <memory>
#include <utility>

#include "core/lasting_memory.h"
#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {
namespace {

class Registered final : public LastingMemory::Attachment {
 public:
  explicit Registered(std::unique_ptr<HostRegistration> registration)
      : registration_(std::move(registration)) {}

 private:
  std::unique_ptr<HostRegistration> registration_;
};

std::unique_ptr<LastingMemory::Attachment> register_with_device(const LastingMemory::Range& range) {
  auto registration = HostRegistration::make(range.data, range.bytes, range.writable);
  return registration ? std::make_unique<Registered>(std::move(registration)) : nullptr;
}

}  // namespace

bool device_reads(std::span<const float> values) {
  return LastingMemory::attached(values.data(), values.size_bytes(), false, register_with_device);
}

bool device_writes(std::span<float> values) {
  return LastingMemory::attached(values.data(), values.size_bytes(), true, register_with_device);
}

}  // namespace steelyard::nn::cuda
