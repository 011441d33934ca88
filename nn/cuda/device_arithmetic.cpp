#include "nn/cuda/device_arithmetic.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/optimizer_kernels.h"
#include "nn/cuda/unless_lost.h"

namespace steelyard::nn::cuda {

DeviceShard::DeviceShard(unsigned index, std::shared_ptr<FlatPool> host)
    : index_((use_device(index), index)), host_(std::move(host)) {}

// No work may be running when memory is freed.
DeviceShard::~DeviceShard() {
  unless_lost([this] {
    use_device(index_);
    stream_.synchronize();
  });
}

std::shared_ptr<DeviceBuffer> DeviceShard::take(std::uint64_t floats) {
  return pools_.try_emplace(floats, floats).first->second.take(stream_);
}

void DeviceShard::bring(float* to, std::span<const float> from) {
  if (from.empty()) return;
  Crates& crates = crates_[from.size()];
  if (crates.all.size() < crates_each) crates.all.push_back(std::make_unique<Crate>(from.size()));
  Crate& crate = *crates.all[crates.next++ % crates.all.size()];
  crate.taken.synchronize();  // the copy of its last contents
  std::ranges::copy(from, crate.pinned.data());
  stream_.copy_array(to, crate.pinned.data(), from.size());
  crate.taken.record(stream_);
}

bool DeviceShard::all_finite(std::span<const float> there) {
  stream_.fill_zero(bad_.data(), sizeof(std::uint32_t));
  find_not_finite(stream_, there.size(), there.data(), bad_.data());
  stream_.copy_array(pinned_bad_.data(), bad_.data(), 1);
  stream_.synchronize();
  return *pinned_bad_.data() == 0;
}

void DeviceShard::add_squares(std::span<const float> there, std::span<double> chains, std::uint64_t at) {
  CHECK(chains.size() == square_chains, "a sum of squares has one number for each chain");
  std::ranges::copy(chains, pinned_chains_.data());
  stream_.copy_array(chains_.data(), pinned_chains_.data(), square_chains);
  cuda::add_squares(stream_, there.size(), there.data(), chains_.data(), at);
  stream_.copy_array(pinned_chains_.data(), chains_.data(), square_chains);
  stream_.synchronize();
  std::copy_n(pinned_chains_.data(), square_chains, chains.begin());
}

// ---- one slice

SliceArithmetic::Room DeviceArithmetic::room(std::uint64_t floats) {
  const std::shared_ptr<DeviceBuffer> buffer = shard_->take(floats);
  return {buffer, buffer->values()};
}

SliceArithmetic::Room DeviceArithmetic::version_room(std::uint64_t steps) {
  steps_ = steps;
  return room(place_.size());
}

SliceArithmetic::Room DeviceArithmetic::zeros(std::uint64_t floats) {
  const Room made = room(floats);
  shard_->stream().fill_zero(made.values.data(), floats * sizeof(float));
  return made;
}

std::shared_ptr<const DeviceValues> DeviceArithmetic::frozen(const Room& room) {
  const auto buffer = std::static_pointer_cast<const DeviceBuffer>(room.owner);
  const_cast<DeviceBuffer&>(*buffer).written(shard_->stream());
  return std::make_shared<CudaValues>(
      shard_->device(), buffer, room.values,
      HostPlace{shard_->host(), own_.size(), place_.begin - own_.begin, steps_});
}

SliceArithmetic::Readable DeviceArithmetic::read(const SliceValues& values) {
  if (const CudaValues* const here = values_on(shard_->device(), values)) {
    const auto give_back = [here, kept = values.device, shard = shard_](const void*) {
      unless_lost([&] { here->read(shard->stream()); });
    };
    const std::span<const float> there = here->begin_to_read(shard_->stream());
    return {there, std::shared_ptr<const void>(there.data(), give_back)};
  }
  const std::span<const float> host = values.on_host();
  const std::shared_ptr<DeviceBuffer> buffer = shard_->take(host.size());
  shard_->bring(buffer->values().data(), host);
  return {buffer->values(), buffer};
}

void DeviceArithmetic::copy(std::span<float> into, std::span<const float> from) {
  CHECK(into.size() == from.size(), "a copy of slices of unequal length");
  shard_->stream().copy_array(into.data(), from.data(), from.size());
}

void DeviceArithmetic::copy_out(std::span<float> into, std::span<const float> from) {
  CHECK(into.size() == from.size(), "a copy of slices of unequal length");
  copy_to_host(shard_->stream(), into, from);
}

void DeviceArithmetic::change(std::span<float> there, bool from_old, const Change& change) {
  std::vector<float> host(there.size());
  if (from_old) copy_out(host, there);
  change(host);
  shard_->bring(there.data(), host);
}

void DeviceArithmetic::run(const RuleCall& call) { cuda::run(shard_->stream(), call); }

void DeviceArithmetic::add(std::span<float> into, std::span<const float> x) { sum(into, into, x); }

void DeviceArithmetic::sum(std::span<float> into, std::span<const float> x, std::span<const float> y) {
  CHECK(into.size() == x.size() && x.size() == y.size(), "a sum of slices of unequal length");
  add_arrays<float>(shard_->stream(), into.size(), x.data(), y.data(), into.data());
}

void DeviceArithmetic::add_squares(std::span<const float> x, SquareSum& to) {
  to.add_by(x.size(),
            [&](std::span<double> chains, std::uint64_t at) { shard_->add_squares(x, chains, at); });
}

bool DeviceArithmetic::all_finite(const SliceValues& values) {
  if (!values.device) return nn::all_finite(values.host);
  if (const auto* here = dynamic_cast<const CudaValues*>(values.device.get())) {
    if (const auto known = here->finite()) return *known;
  }
  return shard_->all_finite(read(values).values);
}

std::function<std::shared_ptr<SliceArithmetic>(const Slice&, Interval)> arithmetic_on(unsigned index,
                                                                                      Memory host) {
  return [index, host, shard = std::shared_ptr<DeviceShard>()](
             const Slice& place, Interval own) mutable -> std::shared_ptr<SliceArithmetic> {
    if (!shard)
      shard = std::make_shared<DeviceShard>(
          index, host == Memory::shared ? std::make_shared<FlatPool>(host) : nullptr);
    return std::make_shared<DeviceArithmetic>(shard, place, own);
  };
}

}  // namespace steelyard::nn::cuda
