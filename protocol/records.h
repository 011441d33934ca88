// What the scheduler tells the recorder: what people see of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/terms.h"

namespace steelyard {

struct RoundRecord {
  Round round = 0;
  Purpose purpose = Purpose::train;
  std::uint64_t epoch = 0;
  Interval positions;
  std::uint64_t passes = 1;  // epochs in which these positions were walked
  double rate = 0;           // learning rate
  std::uint64_t holes = 0;   // positions among them that are of other rounds (Open::holes)
  [[nodiscard]] std::uint64_t samples() const { return (positions.size() - holes) * passes; }
  // From its begin, or from when the round before it was done if that was later, to its last report: so
  // rounds that overlap have lengths that add up to the time of the training.
  double seconds = 0;
  double loss = 0;      // mean over the samples
  double accuracy = 0;  // of all labels of all samples, the share that was right
  struct Part {
    std::uint32_t slot = 0;
    std::string name;
    std::uint64_t share = 0;
    double seconds = 0;
  };
  std::vector<Part> parts;
  Staleness staleness{};  // of the run, as far as the shards have told
};
struct Note {  // something worth a line: a node came or was lost, a version was saved
  std::string text;
};
struct Ended {
  Outcome outcome = Outcome::finished;
  std::string text;
  Progress progress;
  Staleness staleness{};  // of the run
};

}  // namespace steelyard
