#include "nn/cuda/kept_gradient.h"

#include <algorithm>

#include "core/check.h"
#include "nn/cuda/optimizer_kernels.h"
#include "nn/cuda/unless_lost.h"

namespace steelyard::nn::cuda {

KeptGradient::KeptGradient(unsigned index, std::uint64_t floats, Stream& stream)
    : index_(index), floats_(floats), stream_(stream), pool_(floats) {}

// No work may be running when memory is freed.
KeptGradient::~KeptGradient() {
  unless_lost([this] { stream_.synchronize(); });
}

std::shared_ptr<KeptGradient::Flags> KeptGradient::flags(std::size_t slices) {
  const auto free = std::ranges::find_if(flags_, [&](const std::shared_ptr<Flags>& it) {
    return it.use_count() == 1 && it->bad.size() == slices;
  });
  return free != flags_.end() ? *free : flags_.emplace_back(std::make_shared<Flags>(slices));
}

std::vector<std::shared_ptr<const DeviceValues>> KeptGradient::keep(const float* gradient,
                                                                    std::span<const Slice> slices,
                                                                    const std::shared_ptr<FlatPool>& host) {
  const std::shared_ptr<DeviceBuffer> buffer = pool_.take(stream_);
  stream_.copy_array(buffer->values().data(), gradient, floats_);
  buffer->written(stream_);
  if (!bad_ || bad_->size() != slices.size())
    bad_ = std::make_unique<DeviceArray<std::uint32_t>>(slices.size());
  stream_.fill_zero(bad_->data(), slices.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < slices.size(); ++i)
    find_not_finite(stream_, slices[i].size(), gradient + slices[i].begin, bad_->data() + i);
  const std::shared_ptr<Flags> flags = this->flags(slices.size());
  stream_.copy_array(flags->bad.data(), bad_->data(), slices.size());
  flags->arrived.record(stream_);
  ++kept_;
  std::vector<std::shared_ptr<const DeviceValues>> kept;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    CHECK(slices[i].end <= floats_, "a slice lies inside of the gradient");
    const auto finite = [flags, i] {
      flags->arrived.synchronize();
      return flags->bad.data()[i] == 0;
    };
    kept.push_back(std::make_shared<CudaValues>(index_, buffer,
                                                buffer->values().subspan(slices[i].begin, slices[i].size()),
                                                HostPlace{host, floats_, slices[i].begin, kept_}, finite));
  }
  return kept;
}

}  // namespace steelyard::nn::cuda
