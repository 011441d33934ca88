#include "nn/cuda/peer_values.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "nn/cuda/device_values.h"

namespace steelyard::nn::cuda {
namespace {

constexpr std::size_t most_open = 4096;  // blocks of memory of other processes

// What keeps borrowed values: the lease ends before the memory may be closed.
struct Kept {
  std::shared_ptr<const OpenedMemory> memory;
  std::shared_ptr<const void> lease;
};

// What the memory at the place of a trial contains: its name, and its offset, since parts of a block have one
// name.
using Contents = std::array<std::uint64_t, 9>;
Contents contents_at(const DevicePlace& place) {
  Contents contents{};
  std::ranges::copy(place.memory, contents.begin());
  contents.back() = place.offset;
  return contents;
}

class PeerValues final : public DeviceExchange {
 public:
  explicit PeerValues(unsigned index) : index_(index) {
    use_device(index);
    begin_to_lend();
    trial_.emplace(sizeof(Contents));
    if (const auto place = trial_->place()) {
      const Contents contents = contents_at(*place);
      Stream stream;
      stream.copy(trial_->data(), &contents, sizeof contents);
      stream.synchronize();
    }
  }

  [[nodiscard]] DevicePlace trial() const override {
    return retired_ ? DevicePlace{} : trial_->place().value_or(DevicePlace{});
  }

  [[nodiscard]] bool reads(const DevicePlace& trial) override {
    const auto memory = trial.size == sizeof(Contents) ? open(trial) : nullptr;
    if (!memory) return false;
    Contents contents{};
    Stream stream;
    stream.copy(&contents, static_cast<const std::byte*>(memory->data()) + trial.offset, sizeof contents);
    stream.synchronize();
    return contents == contents_at(trial);
  }

  [[nodiscard]] std::optional<DevicePlace> lend(const DeviceValues& values) override {
    const auto* const its = dynamic_cast<const CudaValues*>(&values);
    if (its == nullptr || its->device() != index_ || retired_) return std::nullopt;
    use_device(index_);
    auto place = its->buffer().lend();
    if (!place) return std::nullopt;
    place->offset += its->place() * sizeof(float);
    place->size = its->size() * sizeof(float);
    return place;
  }

  void retire(const DeviceValues& values) override {
    retired_ = true;
    if (const auto* const its = dynamic_cast<const CudaValues*>(&values)) its->buffer().retire();
  }

  [[nodiscard]] std::shared_ptr<const DeviceValues> borrow(const DevicePlace& place,
                                                           std::shared_ptr<const void> lease) override {
    if (place.offset % sizeof(float) != 0 || place.size % sizeof(float) != 0) return nullptr;
    auto memory = open(place);
    if (!memory) return nullptr;
    const std::span values(static_cast<const float*>(memory->data()) + place.offset / sizeof(float),
                           place.size / sizeof(float));
    auto kept = std::make_shared<const Kept>(Kept{std::move(memory), std::move(lease)});
    return std::make_shared<CudaValues>(index_, std::make_shared<DeviceBuffer>(values, std::move(kept)),
                                        values);
  }

  void forget_unused() override {
    const std::lock_guard lock(mutex_);
    for (auto& [name, memory] : open_) memory.kept.reset();
    std::erase_if(open_, [](const auto& known) { return known.second.open.expired(); });
  }

 private:
  // A process lends the same memory again and again. Null if the place is not inside of it.
  std::shared_ptr<const OpenedMemory> open(const DevicePlace& place) {
    if (place.offset > place.bytes || place.size > place.bytes - place.offset) return nullptr;
    use_device(index_);
    const std::lock_guard lock(mutex_);
    const auto known = open_.find(place.memory);
    std::shared_ptr<const OpenedMemory> opened = known != open_.end() ? known->second.open.lock() : nullptr;
    if (opened && opened->bytes() != place.bytes) return nullptr;
    if (!opened && known == open_.end() && open_.size() >= most_open) return nullptr;
    if (!opened) opened = OpenedMemory::open(place.memory, place.bytes);
    if (opened) open_.insert_or_assign(place.memory, Opened{opened, opened});
    return opened;
  }

  // Memory that is in use when a connection closes is closed with its last use, since its lender may be gone.
  struct Opened {
    std::shared_ptr<const OpenedMemory> kept;  // null since then, unless it was borrowed again
    std::weak_ptr<const OpenedMemory> open;
  };

  const unsigned index_;
  std::optional<LendableMemory> trial_;
  std::atomic<bool> retired_{false};
  std::mutex mutex_;  // protects what follows
  std::map<DevicePlace::Name, Opened> open_;
};

}  // namespace

std::shared_ptr<DeviceExchange> exchange_on(unsigned index) { return std::make_shared<PeerValues>(index); }

}  // namespace steelyard::nn::cuda
