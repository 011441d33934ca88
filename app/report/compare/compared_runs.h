// The contenders of a comparison, and the order in which they run. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/report/compare/comparison.h"

namespace steelyard {

// The baseline of all gains.
inline const Contender equal_bsp{"equal", "bsp", ""};

// Every policy of the one list under every sync mode of the other, in this order; an entry "equal/ssp:2" of
// `policies` brings its own sync mode along and is not combined. Both are comma-separated; an empty list of
// policies means all that are known, an empty list of modes `own_sync`. Equal BSP comes first if it was left
// out. Throws Failure (usage) for an unknown policy or mode, and for empty lists.
std::vector<Contender> read_entrants(const std::string& policies, const std::string& sync,
                                     const std::vector<std::string>& known, const std::string& own_sync);

// What does the work and what is told meanwhile.
struct Contest {
  std::function<Trial(const Contender&, std::uint64_t repeat)> run;
  // The best device alone, asked once, when all others have run for the first time; nothing if there is none.
  std::function<std::optional<Contender>(const Comparison& so_far)> best_alone;
  std::function<bool()> interrupted;
  // Before and after each run: `done` of `of` runs are over.
  std::function<void(const Contender&, std::uint64_t repeat, std::size_t done, std::size_t of)> begins;
  std::function<void(const Trial&)> ended;
};

// Runs all contenders once, then all again: A B C A B C, so that a machine that slows down slows all of them.
// A contender that failed and would fail again is not repeated. An interruption ends it with the current run,
// which counts only if it was completed.
void run_all(Comparison& comparison, const Contest& contest);

}  // namespace steelyard
