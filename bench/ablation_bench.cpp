// The value of each rule of `steelyard`: with only this rule switched off, the policy runs the arena's
// patterns and random clusters again. Figures are in percentage points of percent of ideal. All times are
// virtual, so the figures are the same on every machine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "balancing/policy/steelyard_policy.h"
#include "bench/sections.h"
#include "tests/balancing/clusters.h"
#include "tests/balancing/patterns.h"

namespace steelyard::bench {
namespace {

namespace arena = balancing::arena;
using arena::Scenario;
using balancing::Rules;

constexpr double worth_telling = 0.3;  // points; smaller differences are chance
constexpr std::size_t most_told = 4;   // losses listed per rule

constexpr std::pair<const char*, bool Rules::*> rules[] = {
    {"fixed cost", &Rules::fixed_cost},
    {"doubt about the shape", &Rules::shape_doubt},
    {"loosening after a jump", &Rules::loosening},
    {"slow average", &Rules::slow_average},
    {"quick average", &Rules::quick_average},
    {"trust in noise", &Rules::noise_trust},
    {"accidents and changes", &Rules::accidents},
    {"as fast as before", &Rules::known_speeds},
    {"believing by history", &Rules::history},
    {"cold first round", &Rules::cold_start},
    {"CPU signal", &Rules::cpu_signal},
    {"memory signal", &Rules::memory_signal},
    {"links", &Rules::links},
    {"change of a link", &Rules::link_changes},
    {"rest", &Rules::rest},
    {"doubt before a rest", &Rules::rest_doubt},
    {"law of the next trial", &Rules::trial_law},
    {"late rest", &Rules::late_rest},
    {"one round alone", &Rules::one_round},
    {"least gain", &Rules::least_gain},
};

struct Program {
  std::uint64_t seeds, clusters;
};

// Runs all patterns and clusters with given rules. Times that do not depend on the rules are computed once.
class Judge {
 public:
  explicit Judge(Program program) : program_(program) {}

  using Figures = std::map<std::string, double>;  // percent of ideal, or of the time of the best device alone

  Figures figures(const Rules& its_rules) {
    rules_ = its_rules;
    figures_.clear();
    percents_.clear();
    patterns(arena::static_patterns, 1);
    patterns(arena::slow_patterns, 1);
    patterns(arena::quick_patterns, 1);
    patterns(arena::restless_patterns, 2);
    clusters(false);
    clusters(true);
    return figures_;
  }
  // Percent of ideal of each random cluster, static and disturbed, from the last figures().
  [[nodiscard]] const std::vector<double>& percents() const { return percents_; }

 private:
  struct Times {
    double ideal, alone;
  };

  Times times_without_us(const std::string& key, const Scenario& scenario, std::uint64_t from) {
    const auto known = times_.find(key);
    if (known != times_.end()) return known->second;
    balancing::Oracle oracle(scenario.truth());
    const Times times{total_ms(play(scenario, oracle), from), best_single_ms(scenario, from)};
    return times_[key] = times;
  }

  [[nodiscard]] double ours(const Scenario& scenario, std::uint64_t from) const {
    balancing::Steelyard policy({.rules = rules_});
    return total_ms(play(scenario, policy), from);
  }

  void patterns(std::vector<Scenario> (*make)(std::uint64_t), std::uint64_t from) {
    std::map<std::string, Times> sums;  // `ideal`, and our time in `alone`
    for (std::uint64_t seed = 0; seed < program_.seeds; ++seed) {
      for (const Scenario& scenario : make(100 * seed)) {
        const double ideal =
            times_without_us(scenario.name + ' ' + std::to_string(seed), scenario, from).ideal;
        const auto add = [&](const std::string& name, const Scenario& its) {
          sums[name].ideal += ideal;
          sums[name].alone += ours(its, from);
        };
        add(scenario.name, scenario);
        if (!scenario.name.starts_with("co-tenant")) continue;
        Scenario late = scenario;
        late.readings = sim::Readings::late;
        add(scenario.name + ", known late", late);
      }
    }
    for (const auto& [name, sum] : sums) figures_[name] = 100 * sum.ideal / sum.alone;
  }

  void clusters(bool disturbed) {
    double sum = 0, worst = 100, over_alone = 0;
    for (std::uint64_t draw = 0; draw < program_.clusters; ++draw) {
      const Scenario scenario = arena::random_cluster(draw, disturbed);
      const Times other = times_without_us(scenario.name + (disturbed ? " disturbed" : ""), scenario, 1);
      const double time = ours(scenario, 1), percent = 100 * other.ideal / time;
      sum += percent;
      percents_.push_back(percent);
      worst = std::min(worst, percent);
      over_alone = std::max(over_alone, 100 * (time / other.alone - 1));
    }
    const std::string name = disturbed ? "clusters, disturbed" : "clusters, static";
    figures_[name] = sum / static_cast<double>(program_.clusters);
    figures_[name + ", worst"] = worst;
    figures_[name + ", worst against one alone"] = -over_alone;
  }

  Program program_;
  Rules rules_;
  Figures figures_;
  std::vector<double> percents_;
  std::map<std::string, Times> times_;
};

std::string points(const std::string& name, double value) {
  char text[160];
  std::snprintf(text, sizeof text, "%s %+.1f", name.c_str(), value);
  return text;
}

std::string row(const std::string& name, const std::string& rest) {
  char text[400];
  std::snprintf(text, sizeof text, "%-46s %s", name.c_str(), rest.c_str());
  return text;
}

std::string percent_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%7.2f", value);
  return text;
}

// The largest differences, losses first.
std::string differences(const Judge::Figures& all, const Judge::Figures& without) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, percent] : all) sorted.emplace_back(without.at(name) - percent, name);
  std::ranges::sort(sorted);
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < most_told; ++i) {
    if (sorted[i].first <= -worth_telling)
      text += (i > 0 ? "; " : "") + points(sorted[i].second, sorted[i].first);
  }
  const auto& [most, best] = sorted.back();
  if (most >= worth_telling) text += " (" + points(best, most) + ")";
  return text.empty() ? "nothing" : text;
}

// Over all clusters, with its standard error: shows effects that are too small for the other figures.
std::string mean_difference(const std::vector<double>& all, const std::vector<double>& without) {
  const auto count = static_cast<double>(all.size());
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double one = without[i] - all[i];
    sum += one, squares += one * one;
  }
  const double mean = sum / count;
  char text[80];
  std::snprintf(text, sizeof text, "%+.3f +- %.3f", mean, std::sqrt((squares / count - mean * mean) / count));
  return text;
}

}  // namespace

void ablation_section(const Effort& effort, Table& table) {
  Judge judge(effort.full ? Program{12, 960} : Program{3, 96});
  table.section(
      "ablation: percent of ideal of `steelyard`; clusters against the best device alone: percent of its "
      "time");
  const Judge::Figures all = judge.figures({});
  const std::vector<double> percents = judge.percents();
  for (const auto& [name, percent] : all) table.note(row(name, percent_text(percent)));
  table.section("ablation: points of percent with one rule off: mean of the clusters; most lost (gained)");
  for (const auto& [name, rule] : rules) {
    Rules off;
    off.*rule = false;
    const std::string lost = differences(all, judge.figures(off));
    table.note(row(name, mean_difference(percents, judge.percents()) + "  " + lost));
  }
}

}  // namespace steelyard::bench
