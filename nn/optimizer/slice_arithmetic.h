// SliceArithmetic: the memory and the arithmetic of one slice in a shard. Servers decide what to add and when
// to step; this computes it, on a processor (HostArithmetic) or on a device (nn/cuda/device_arithmetic.h),
// with the same bits on both.
//
// Calls may return before their work is done, but work is done in the order of the calls. "There" is the
// memory where the slice is computed: on a device no caller may use the address of a Room or of a Readable
// for anything but another call.
//
// Owned and used by one thread. Errors of a device are thrown as Failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/buffer_pool.h"
#include "core/device_values.h"
#include "core/flat_pool.h"
#include "nn/optimizer/rule.h"
#include "nn/optimizer/vector.h"

namespace steelyard::nn {

class SliceArithmetic {
 public:
  using Room = FlatPool::Part;  // floats there that calls may write; contents unspecified
  struct Readable {
    std::span<const float> values;        // there
    std::shared_ptr<const void> owner{};  // keep it until the last call that reads them has returned
  };
  using Change = std::function<void(std::span<float>)>;  // on the host

  virtual ~SliceArithmetic() = default;

  // ---- memory

  [[nodiscard]] virtual Room version_room(std::uint64_t steps) = 0;  // for the values after this many steps
  [[nodiscard]] virtual Room sum_room() = 0;                         // of the size of the slice
  [[nodiscard]] virtual Room zeros(std::uint64_t floats) = 0;
  // A room that is never written again, for readers elsewhere. Null if the room itself can be read by all.
  [[nodiscard]] virtual std::shared_ptr<const DeviceValues> frozen(const Room& room) = 0;
  // Whether a version must be in a room: values as they were received cannot be one.
  [[nodiscard]] virtual bool needs_rooms() const = 0;
  // These values there. Values on the host are copied if necessary, before the call returns.
  [[nodiscard]] virtual Readable read(const SliceValues& values) = 0;
  // Received values on the host that may be overwritten: where they are there, or empty if they are not.
  [[nodiscard]] virtual std::span<float> in_place(std::span<float> received) = 0;

  virtual void copy(std::span<float> into, std::span<const float> from) = 0;  // both there
  // Waits, and copies to the host.
  virtual void copy_out(std::span<float> into, std::span<const float> from) = 0;
  // Calls `change` with these floats on the host; `from_old`: with their values, otherwise unspecified ones.
  virtual void change(std::span<float> there, bool from_old, const Change& change) = 0;

  // ---- arithmetic; spans are there

  // Floats that a caller of several functions should give each at a time: what one leaves in the cache, the
  // next one finds there. On a device: all.
  [[nodiscard]] virtual std::size_t part_size() const = 0;
  virtual void run(const RuleCall& call) = 0;
  virtual void add(std::span<float> into, std::span<const float> x) = 0;
  virtual void sum(std::span<float> into, std::span<const float> x, std::span<const float> y) = 0;
  virtual void add_squares(std::span<const float> x, SquareSum& to) = 0;  // waits
  [[nodiscard]] virtual bool all_finite(const SliceValues& values) = 0;   // waits
};

class HostArithmetic final : public SliceArithmetic {
 public:
  // For a slice of this size. Versions are in private memory.
  explicit HostArithmetic(std::uint64_t size) : pool_(size) {}
  // Versions are in this pool, at the slice's place in a model of `floats` values. Null: private memory. A
  // shard of at least `streamed_from` floats writes versions past the caches, which could not hold them.
  HostArithmetic(const Slice& place, std::shared_ptr<FlatPool> versions, std::uint64_t floats,
                 std::uint64_t of_shard = 0)
      : pool_(place.size()),
        place_(place),
        versions_(std::move(versions)),
        floats_(floats),
        streams_(of_shard >= streamed_from) {}
  static constexpr std::uint64_t streamed_from = 8 << 20;  // 32 MB

  [[nodiscard]] Room version_room(std::uint64_t steps) override;
  [[nodiscard]] Room sum_room() override;
  [[nodiscard]] Room zeros(std::uint64_t floats) override;
  [[nodiscard]] std::shared_ptr<const DeviceValues> frozen(const Room&) override { return nullptr; }
  [[nodiscard]] bool needs_rooms() const override { return versions_ != nullptr; }
  [[nodiscard]] Readable read(const SliceValues& values) override {
    return {values.on_host(), values.device};
  }
  [[nodiscard]] std::span<float> in_place(std::span<float> received) override { return received; }
  void copy(std::span<float> into, std::span<const float> from) override;
  void copy_out(std::span<float> into, std::span<const float> from) override { copy(into, from); }
  void change(std::span<float> there, bool, const Change& change) override { change(there); }
  [[nodiscard]] std::size_t part_size() const override { return 4096; }
  void run(const RuleCall& call) override;
  void add(std::span<float> into, std::span<const float> x) override { nn::add(into, x); }
  void sum(std::span<float> into, std::span<const float> x, std::span<const float> y) override {
    nn::sum(into, x, y);
  }
  void add_squares(std::span<const float> x, SquareSum& to) override { to.add(x); }
  [[nodiscard]] bool all_finite(const SliceValues& values) override {
    return nn::all_finite(values.on_host());
  }

 private:
  BufferPool pool_;  // for sums, and for versions without versions_
  Slice place_{};
  std::shared_ptr<FlatPool> versions_;
  std::uint64_t floats_ = 0;
  bool streams_ = false;
};

}  // namespace steelyard::nn
