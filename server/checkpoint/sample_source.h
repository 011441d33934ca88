// SampleSource: what a training takes its samples from. With the seed it decides which sample stands at which
// position of an epoch, so a job that goes on in the middle of one needs the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

struct SampleSource {
  std::string data;           // the data set's name
  std::uint64_t samples = 0;  // for training; 0: not known, the checkpoint is of an earlier release
  std::string hash;           // of some of them, values and labels: 32 hexadecimal digits
  std::uint64_t batch = 0;    // samples in a round, for people
  // Inputs are (raw - mean) / deviation, for whoever uses the model elsewhere: one number for all values, or
  // one for each channel.
  std::vector<double> mean{0}, deviation{1};
  // Of a sample, as the model takes it: with them and the job the model can be made without the data set.
  // All 0: not known, the checkpoint is of an earlier release, or of a worker's program that does not say.
  std::uint32_t height = 0, width = 0, channels = 0, classes = 0;
  friend bool operator==(const SampleSource&, const SampleSource&) = default;
};

}  // namespace steelyard
