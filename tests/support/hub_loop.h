// Computes a toy job (tests/support/toy_job.h) in a mode with hubs in a plain loop: each hub's copy at each
// version, and their average (MLL-SGD; Castiglia, Das, Patterson, ICLR 2021, section 3).
//
// The scheduler decides which hub gets which positions, so given() must be called for every assigned piece.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/interval.h"
#include "protocol/messages.h"
#include "scheduler/rounds/epoch_cursor.h"

namespace steelyard::test {

class HubLoop {
 public:
  // The job must outlive this. Starts at `from`, with these parameters in every hub.
  HubLoop(const Job& job, const Progress& from, std::vector<float> initial);

  void given(const Piece& piece);
  // The problem of floats [begin, begin + values.size()) of this hub's copy (of the average, for whole_model)
  // at this version, or an empty string. All pieces of earlier rounds must have been given.
  std::string look(Version version, HubNumber hub, std::uint64_t begin, std::span<const float> values);
  [[nodiscard]] const std::vector<float>& average(Version version);

 private:
  using Copies = std::vector<std::vector<float>>;  // indexed by hub; the first is the average
  void advance();
  [[nodiscard]] std::vector<float> mean(const std::vector<HubNumber>& of) const;

  const Job& job_;
  const Hubs hubs_;
  const Version first_;
  EpochCursor cursor_;
  std::vector<Copies> versions_;  // from first_ on
  std::vector<double> weights_;   // by hub
  std::map<Round, std::map<HubNumber, IntervalSet>> given_;
  std::string trouble_;  // of the given pieces
};

}  // namespace steelyard::test
