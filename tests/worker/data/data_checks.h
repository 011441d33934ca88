// Helpers for tests of readers: one sample of a data set, and the error message for invalid files.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/samples.h"

namespace steelyard {

inline Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

struct Sample {
  std::vector<float> values;
  std::vector<std::uint32_t> labels;
};
inline Sample sample_of(const DataSet& data, std::uint64_t index) {
  Sample sample{std::vector<float>(data.shape().size()), std::vector<std::uint32_t>(data.labels())};
  data.read(index, sample.values.data(), sample.labels.data());
  return sample;
}

inline std::vector<float> targets_of(const DataSet& data, std::uint64_t index) {
  std::vector<float> targets(data.targets());
  data.read_targets(index, targets.data());
  return targets;
}

// The message of the Failure that open() must throw, with this code.
template <class Open>
std::string complaint_of(const Open& open, ExitCode code = ExitCode::io) {
  try {
    open();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), code) << failure.what();
    return failure.what();
  }
  return "no failure";
}

}  // namespace steelyard
