// What came out of a simulation, and its JSON: a contract.
//
//   {"scenario","policy","sync","seed",
//    "rounds":[{"round","shares":[...],"compute_ms":[...],"round_ms","se"}],
//    "epoch_s":[...],"total_s","samples_per_s","ideal_s","percent_of_ideal",
//    "computing","efficiency","updates","final":{...}}
//
// "computing" and "efficiency" (balancing/work_time.h) are null where pushes are applied at once.
//
// Of a training also "loss" in every round, and beside "final", with "accuracy" and "loss" in it,
// "evaluations":[{"round","seconds","accuracy","loss"}]. Where pushes are applied at once also
// "staleness":[...], how many came how late (protocol/messages.h).
//
// Workers in the order of the file. Milliseconds carry six digits behind the point (a nanosecond); the same
// result is always the same text.
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
  std::vector<std::uint64_t> shares;  // samples reported; of a worker that was not there: 0
  std::vector<double> compute_ms;     // without waiting and exchange
  double round_ms = 0;                // with both
  double se = 0;    // straggler effect, (max - min) / mean of the times of the workers that computed
  double loss = 0;  // of a training: mean over the round's samples
  // Its positions, once for each pass: also those whose report was lost with the worker that had pushed them.
  std::uint64_t samples = 0;
};

// Of the test samples, with the parameters that `round` rounds have made.
struct Evaluation {
  Round round = 0;
  double seconds = 0;  // virtual, of training until then
  double accuracy = 0, loss = 0;
  std::uint64_t updates = 0;  // that have made these parameters, as Result counts them; not in the JSON
};

struct Result {
  std::string scenario, policy, sync;
  std::uint64_t seed = 0;
  std::vector<std::string> workers;  // names
  std::vector<RoundResult> rounds;
  double ideal_s = 0;  // of the oracle under bsp, on the same draws
  // Versions of the parameters that were made, counted as in the records of a real run
  // (app/report/compare/record.cpp): one a round, and under ssp and asp one for each worker of a round.
  std::uint64_t updates = 0;
  bool trained = false;  // with real gradients
  std::vector<Evaluation> evaluations{};
  Staleness staleness{};

  [[nodiscard]] double total_s() const;
  [[nodiscard]] double samples_per_s() const;
  [[nodiscard]] double percent_of_ideal() const;
  // As of a real run: nothing where pushes are applied at once.
  [[nodiscard]] balancing::WorkTime work() const;
  [[nodiscard]] std::vector<double> epoch_s() const;
  // The last round of full length: an epoch's last one is shorter. There is at least one round.
  [[nodiscard]] const RoundResult& last_full() const;
};

std::string to_json(const Result& result);

// Numbers and texts as JSON has them.
std::string json_number(double value);  // the fewest digits that give the same number back
std::string json_text(const std::string& text);

}  // namespace steelyard::sim
