// Copies the samples of a job's data sets to a CUDA device, once, if they are small and have few different
// numbers, as pictures have: then no thread needs to read, normalise and augment them in every epoch.
#pragma once

#include <steelyard/data_set.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/time.h"
#include "nn/cuda/kept_samples.h"
#include "worker/compute/kept_data.h"

namespace steelyard {

struct KeptOnDevice {
  std::unique_ptr<const KeptData> data;                  // null: they are read on the host
  std::shared_ptr<const nn::cuda::KeptSamples> samples;  // null if `data` is
  std::string note;                                      // what was done or why not, for people
};

// Samples with their labels and targets take at most `bytes`, and reading them all may take this time, in
// which the worker sends no heartbeat.
struct KeepLimits {
  std::uint64_t bytes = 256 << 20;
  Duration time = std::chrono::seconds(3);
  std::function<Time()> clock = steady_now;
};

// On device `index`, where `reserved` bytes stay free for others. If samples cannot be read, nothing is kept:
// the feed reports it when it comes to them.
[[nodiscard]] KeptOnDevice keep_on_device(const DataSets& data, unsigned index, std::uint64_t reserved = 0,
                                          const KeepLimits& limits = {});

}  // namespace steelyard
