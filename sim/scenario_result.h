// Result: the result of a simulation, and its JSON in a stable format.
//
//   {"scenario","policy","sync","seed",
//    "rounds":[{"round","shares":[...],"compute_ms":[...],"round_ms","se"}],
//    "epoch_s":[...],"total_s","samples_per_s","ideal_s","percent_of_ideal",
//    "computing","efficiency","updates","final":{...}}
//
// "computing" and "efficiency" (balancing/work_time.h) are null if pushes are applied on arrival.
//
// A training also has "loss" in every round, "accuracy" and "loss" in "final", and beside it
// "evaluations":[{"round","seconds","accuracy","loss"}]; the accuracy is null if the model predicts numbers.
// If pushes are applied on arrival, also "staleness":[...], the number of pushes by staleness
// (protocol/messages.h).
//
// Workers are in the order of the file. Milliseconds have six decimals (a nanosecond); equal results give
// equal texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "balancing/work_time.h"
#include "protocol/messages.h"

namespace steelyard::sim {

struct RoundResult {
  Round round = 0;
  std::uint64_t epoch = 0;
  std::vector<std::uint64_t> shares;  // samples reported; 0 for an absent worker
  std::vector<double> compute_ms;     // without waiting and exchange
  double round_ms = 0;                // with both
  double se = 0;    // straggler effect, (max - min) / mean of the times of the workers that computed
  double loss = 0;  // of a training: mean over the round's samples
  // Its positions, once per pass, including those of reports lost with their worker.
  std::uint64_t samples = 0;
  std::vector<double> trial_ms{};  // beside a round, if they ended in this one; 0: none. Empty: none at all
};

// On the test samples, with the parameters after `round` rounds.
struct Evaluation {
  Round round = 0;
  double seconds = 0;             // virtual time of training until then
  double accuracy = 0, loss = 0;  // accuracy -1: answers are not counted
  // Not in the JSON: updates that made these parameters, counted as in Result, and finished epochs.
  std::uint64_t updates = 0, epochs = 0;
};

struct Result {
  std::string scenario, policy, sync;
  std::uint64_t seed = 0;
  std::vector<std::string> workers;  // names
  std::vector<RoundResult> rounds;
  double ideal_s = 0;  // of the oracle under bsp, with the same random numbers
  // Versions of the parameters made, counted as in the records of a real run (app/report/compare/record.cpp):
  // one per round, and under ssp and asp one per worker and round.
  std::uint64_t updates = 0;
  bool trained = false;  // with real gradients
  std::vector<Evaluation> evaluations{};
  Staleness staleness{};

  [[nodiscard]] double total_s() const;
  [[nodiscard]] double samples_per_s() const;
  [[nodiscard]] double percent_of_ideal() const;
  // As for a real run: empty if pushes are applied on arrival.
  [[nodiscard]] balancing::WorkTime work() const;
  [[nodiscard]] std::vector<double> epoch_s() const;
  // The last round of full length: the last one of an epoch may be shorter. Requires at least one round.
  [[nodiscard]] const RoundResult& last_full() const;
};

std::string to_json(const Result& result);

// Numbers and texts in JSON syntax.
std::string json_number(double value);  // the fewest digits that parse back to the same number
std::string json_text(const std::string& text);

}  // namespace steelyard::sim
