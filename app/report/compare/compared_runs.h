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

// Every policy of the first list under every sync mode of the second; an entry "equal/ssp:2" of `policies`
// has its own mode and is not combined. Both lists are comma-separated; an empty list of policies means
// `known`, an empty list of modes means `own_sync`. Equal BSP is added in front if it is missing. Throws
// Failure (usage) for an unknown policy or mode, and for a list without entries.
std::vector<Contender> read_entrants(const std::string& policies, const std::string& sync,
                                     const std::vector<std::string>& known, const std::string& own_sync);

// Functions that run a contender and report progress.
struct Contest {
  std::function<Trial(const Contender&, std::uint64_t repeat)> run;
  // Returns the best worker alone as a contender, or nothing. Called once, after the first repeat of the
  // others.
  std::function<std::optional<Contender>(const Comparison& so_far)> best_alone;
  std::function<bool()> interrupted;
  // Called before and after each run; `done` of `of` runs are over.
  std::function<void(const Contender&, std::uint64_t repeat, std::size_t done, std::size_t of)> begins;
  std::function<void(const Trial&)> ended;
};

// Runs the contenders in turn, A B C A B C, so that a machine that becomes slower affects all of them. Does
// not repeat a contender that would fail again. Stops after the current run if interrupted; that run counts
// only if it was completed.
void run_all(Comparison& comparison, const Contest& contest);

}  // namespace steelyard
