#include "app/report/compare/compared_runs.h"

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

void require_known(const std::string& policy, const std::string& policies,
                   const std::vector<std::string>& known) {
  if (std::ranges::find(known, policy) != known.end()) return;
  throw Failure(ExitCode::usage,
                "--policies " + policies + ": unknown policy '" + policy + "'" + among(policy, known));
}

void require_mode(const char* option, const std::string& list, const std::string& mode) {
  if (is_sync(mode)) return;
  throw Failure(ExitCode::usage,
                option + list + ": unknown sync mode '" + mode + "': choose one of " + sync_choices());
}

void add(std::vector<Contender>& contenders, Contender contender) {
  if (std::ranges::find(contenders, contender) == contenders.end())
    contenders.push_back(std::move(contender));
}

// Runs one repeat of one entry. False: the comparison ends here.
bool run_one(Comparison& comparison, std::size_t entry, std::uint64_t repeat, const Contest& contest) {
  Entry& it = comparison.entries[entry];
  const bool hopeless = !it.trials.empty() && it.trials.back().hopeless;
  if (hopeless) {
    it.trials.push_back(it.trials.back());
    return true;
  }
  if (contest.interrupted && contest.interrupted()) return false;
  if (contest.begins) {
    // The run of the best worker alone is added after the first repeat.
    const bool more = comparison.entries.back().contender.alone.empty() && contest.best_alone;
    const std::size_t entries = comparison.entries.size() + (more ? 1 : 0);
    contest.begins(it.contender, repeat, repeat * entries + entry, comparison.repeats * entries);
  }
  Trial trial = contest.run(it.contender, repeat);
  if (contest.ended) contest.ended(trial);
  const bool cut_short = contest.interrupted && contest.interrupted();
  if (trial.good() || !cut_short) it.trials.push_back(std::move(trial));
  return !cut_short;
}

}  // namespace

std::vector<Contender> read_entrants(const std::string& policies, const std::string& sync,
                                     const std::vector<std::string>& known, const std::string& own_sync) {
  const std::vector<std::string> chosen = policies.empty() ? known : words_of(policies);
  const std::vector<std::string> modes = sync.empty() ? std::vector{own_sync} : words_of(sync);
  if (chosen.empty()) {
    throw Failure(ExitCode::usage, "--policies is empty: give some of " + joined(known));
  }
  if (modes.empty()) throw Failure(ExitCode::usage, "--sync names no mode: give for example --sync bsp");
  for (const std::string& mode : modes) require_mode("--sync ", sync, mode);
  std::vector<Contender> contenders;
  for (const std::string& word : chosen) {
    const std::size_t slash = word.find('/');
    const std::string policy = word.substr(0, slash);
    require_known(policy, policies, known);
    if (slash != std::string::npos) {
      const std::string mode = word.substr(slash + 1);
      require_mode("--policies ", policies, mode);
      add(contenders, {policy, mode, ""});
    } else {
      for (const std::string& mode : modes) add(contenders, {policy, mode, ""});
    }
  }
  if (std::ranges::find(contenders, equal_bsp) == contenders.end())
    contenders.insert(contenders.begin(), equal_bsp);
  return contenders;
}

void run_all(Comparison& comparison, const Contest& contest) {
  for (std::uint64_t repeat = 0; repeat < comparison.repeats; ++repeat) {
    for (std::size_t entry = 0; entry < comparison.entries.size(); ++entry) {
      comparison.interrupted = !run_one(comparison, entry, repeat, contest);
      if (comparison.interrupted) return;
    }
    if (repeat > 0 || !contest.best_alone) continue;
    if (const auto alone = contest.best_alone(comparison)) {
      comparison.entries.push_back({*alone, {}});
      comparison.interrupted = !run_one(comparison, comparison.entries.size() - 1, repeat, contest);
      if (comparison.interrupted) return;
    }
  }
}

}  // namespace steelyard
