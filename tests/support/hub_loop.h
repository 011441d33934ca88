// What a toy job (tests/support/toy_job.h) comes to in a mode with hubs, worked out in a plain loop: the
// copy of every hub at every version, and their average (MLL-SGD; Castiglia, Das, Patterson, ICLR 2021,
// section 3).
//
// Which positions are whose is the scheduler's to draw, so the loop is told of every piece that is given out.
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
  // The job must outlive it; `from`: where it begins, with these parameters in every hub.
  HubLoop(const Job& job, const Progress& from, std::vector<float> initial);

  void given(const Piece& piece);
  // What is wrong with floats [begin, begin + values.size()) of this hub's copy (whole_model: of the average)
  // at this version; empty: nothing. Every piece of the rounds before has been given.
  std::string look(Version version, HubNumber hub, std::uint64_t begin, std::span<const float> values);
  [[nodiscard]] const std::vector<float>& average(Version version);

 private:
  using Copies = std::vector<std::vector<float>>;  // by hub; the first is the average
  void advance();
  [[nodiscard]] std::vector<float> mean(const std::vector<HubNumber>& of) const;

  const Job& job_;
  const Hubs hubs_;
  const Version first_;
  EpochCursor cursor_;
  std::vector<Copies> versions_;  // from first_ on
  std::vector<double> weights_;   // by hub
  std::map<Round, std::map<HubNumber, IntervalSet>> given_;
  std::string trouble_;  // with what was given
};

}  // namespace steelyard::test
