// The arithmetic of a shard on a CUDA device: sums, optimizer state and versions of its slices are device
// memory. Results equal those of a processor of level v3 or v4 bit for bit.
//
// All slices of a shard share one stream and one DeviceShard. Values on the host (pushes of workers on
// processors and of other hosts) are copied to the device before they are added; pushes and versions on the
// same device are used where they are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/interval.h"
#include "nn/cuda/device_values.h"
#include "nn/optimizer/slice_arithmetic.h"

namespace steelyard::nn::cuda {

// What the slices of a shard share. Made and used by the shard's thread.
class DeviceShard {
 public:
  // On device `index`. `host`: for copies of this shard's part of a version; null: private memory.
  // Throws Failure (configuration) if the device does not exist.
  DeviceShard(unsigned index, std::shared_ptr<FlatPool> host);
  ~DeviceShard();
  DeviceShard(const DeviceShard&) = delete;
  DeviceShard& operator=(const DeviceShard&) = delete;

  [[nodiscard]] Stream& stream() { return stream_; }
  [[nodiscard]] unsigned device() const { return index_; }
  [[nodiscard]] const std::shared_ptr<FlatPool>& host() const { return host_; }

  [[nodiscard]] std::shared_ptr<DeviceBuffer> take(std::uint64_t floats);
  // Copies to the device; the source may be overwritten when this returns.
  void bring(float* to, std::span<const float> from);

  [[nodiscard]] bool all_finite(std::span<const float> there);
  void add_squares(std::span<const float> there, std::span<double> chains, std::uint64_t at);

 private:
  // Pinned memory on its way to the device.
  struct Crate {
    explicit Crate(std::uint64_t floats) : pinned(floats) {}
    PinnedArray<float> pinned;
    Event taken;
  };
  static constexpr std::size_t crates_each = 2;

  const unsigned index_;
  const std::shared_ptr<FlatPool> host_;
  Stream stream_;
  std::map<std::uint64_t, DevicePool> pools_;  // by size
  struct Crates {
    std::vector<std::unique_ptr<Crate>> all;
    std::size_t next = 0;
  };
  std::map<std::uint64_t, Crates> crates_;  // by size
  DeviceArray<std::uint32_t> bad_{1};
  PinnedArray<std::uint32_t> pinned_bad_{1};
  DeviceArray<double> chains_{square_chains};
  PinnedArray<double> pinned_chains_{square_chains};
};

class DeviceArithmetic final : public SliceArithmetic {
 public:
  // For the slice at this place in the model, of a shard with floats `own`.
  DeviceArithmetic(std::shared_ptr<DeviceShard> shard, const Slice& place, Interval own)
      : shard_(std::move(shard)), place_(place), own_(own) {}

  [[nodiscard]] Room version_room(std::uint64_t steps) override;
  [[nodiscard]] Room sum_room() override { return room(place_.size()); }
  [[nodiscard]] Room zeros(std::uint64_t floats) override;
  [[nodiscard]] std::shared_ptr<const DeviceValues> frozen(const Room& room) override;
  [[nodiscard]] bool needs_rooms() const override { return true; }
  [[nodiscard]] Readable read(const SliceValues& values) override;
  [[nodiscard]] std::span<float> in_place(std::span<float>) override { return {}; }
  void copy(std::span<float> into, std::span<const float> from) override;
  void copy_out(std::span<float> into, std::span<const float> from) override;
  void change(std::span<float> there, bool from_old, const Change& change) override;
  [[nodiscard]] std::size_t part_size() const override { return place_.size(); }
  void run(const RuleCall& call) override;
  void add(std::span<float> into, std::span<const float> x) override;
  void sum(std::span<float> into, std::span<const float> x, std::span<const float> y) override;
  void add_squares(std::span<const float> x, SquareSum& to) override;
  [[nodiscard]] bool all_finite(const SliceValues& values) override;

 private:
  [[nodiscard]] Room room(std::uint64_t floats);

  const std::shared_ptr<DeviceShard> shard_;
  const Slice place_;
  const Interval own_;
  std::uint64_t steps_ = 0;  // of the last room for a version
};

// Makes the arithmetic of slices of one shard on device `index`, with a DeviceShard that the first call makes
// on the shard's thread. `host`: where copies of versions lie. Each shard has a pool of its own, of only its
// floats: a device that copies to or from a buffer, here or in a process that reads it, makes the system
// allocate the whole buffer (nn/cuda/reachable.h).
[[nodiscard]] std::function<std::shared_ptr<SliceArithmetic>(const Slice& place, Interval own)> arithmetic_on(
    unsigned index, Memory host);

}  // namespace steelyard::nn::cuda
