// A policy of your own, in the scheduler that trains for real, under virtual time: shares in proportion to
// the mean speed so far. One of three machines becomes 2.5 times as slow for 60 rounds.
//
//   write_a_policy
//
// prints ms per round: what is never forgotten is no good when machines change.
//
//   equal 171.4, mean speed 108.4, steelyard 88.1
#include <cstdio>
#include <map>
#include <utility>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/policies.h"
#include "balancing/policy/share_bounds.h"
#include "sim/world.h"

using namespace steelyard;

class MeanSpeed final : public balancing::Policy {
 public:
  void observe(const balancing::Sample& it) override {
    if (it.seconds <= 0) return;  // impossible; a policy has to ignore it
    samples_[it.slot] += static_cast<double>(it.samples), seconds_[it.slot] += it.seconds;
  }
  std::vector<std::uint64_t> plan(const balancing::Request& request) override {
    std::vector<double> speeds;
    for (const auto& worker : request.workers) {
      const double took = seconds_[worker.slot];
      speeds.push_back(took > 0 ? samples_[worker.slot] / took : 0);  // all 0: equal shares
    }
    return balancing::largest_remainder(speeds, request.positions, balancing::share_bounds(request));
  }
  std::unique_ptr<Policy> clone() const override { return std::make_unique<MeanSpeed>(*this); }
  std::string save() const override { return {}; }  // forgets when a job is resumed
  void restore(const std::string&) override {}

 private:
  std::map<std::uint32_t, double> samples_, seconds_;
};

double ms_per_round(const sim::Scenario& scenario, std::unique_ptr<balancing::Policy> policy) {
  sim::World world(scenario, [&](const auto&) { return std::move(policy); }, {});
  world.run();
  double sum = 0;
  for (const sim::RoundResult& round : world.rounds()) sum += round.round_ms;
  return sum / static_cast<double>(world.rounds().size());
}

int main() {
  sim::Scenario scenario;
  scenario.epochs = 0, scenario.rounds = 200;
  scenario.workers = {{"a", "cpu", {2, 0.25}}, {"b", "cpu", {2, 0.5}}, {"c", "cpu", {2, 1}}};
  scenario.events.push_back({.worker = 0, .from = 60, .to = 120, .scale = 2.5});
  std::printf("equal %.1f, mean speed %.1f, steelyard %.1f\n",
              ms_per_round(scenario, balancing::make_policy("equal")),
              ms_per_round(scenario, std::make_unique<MeanSpeed>()),
              ms_per_round(scenario, balancing::make_policy("steelyard")));
}
