// The exact allocator, and the time of a policy per round, on one thread, compared with their goals. Every
// result is checked before it is timed: shares must sum to the round, be within their bounds, and be optimal.
#include <cmath>
#include <numeric>

#include "balancing/allocate/min_max.h"
#include "balancing/policies.h"
#include "bench/sections.h"
#include "core/random.h"

namespace steelyard::bench {
namespace {

using balancing::Affine;
using balancing::Bound;
using balancing::Curve;
using Shares = std::vector<std::uint64_t>;

constexpr std::uint64_t per_worker = 32;  // positions, on average
// 1 % of a round of examples/jobs/demo.toml, which takes 10 ms (median) on two idle cores.
constexpr double percent_of_demo_us = 100;

struct Problem {
  std::vector<Affine> lines;
  std::vector<Curve> steps;  // the same machines, quantised: non-decreasing, without a formula
  std::vector<Bound> bounds;
  std::uint64_t total = 0;
};

// Machines with speeds that differ by a factor of up to eight, one in ten with little memory.
Problem problem(std::size_t workers, std::uint64_t seed) {
  Random random(seed);
  Problem p;
  for (std::size_t i = 0; i < workers; ++i) {
    const Affine line{0.002 * random.uniform(), 1e-4 * (1 + 7 * random.uniform())};
    p.lines.push_back(line);
    // A GPU needs the same time for 5 samples as for 8.
    p.steps.emplace_back([line](std::uint64_t b) { return line(8 * std::ceil(static_cast<double>(b) / 8)); });
    p.bounds.push_back({1, random.below(10) == 0 ? per_worker : UINT64_MAX});
  }
  p.total = per_worker * workers;
  return p;
}

// Checks optimality: no worker with one more sample would finish before the slowest worker does now.
void check(const std::function<double(std::size_t, std::uint64_t)>& time, const Problem& p,
           const Shares& shares) {
  expect(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}) == p.total,
         "balancing: the shares do not sum to the round");
  double latest = 0, soonest_more = INFINITY;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    expect(shares[i] >= p.bounds[i].least && shares[i] <= p.bounds[i].most, "balancing: out of bounds");
    // A worker at its minimum cannot give up a sample.
    if (shares[i] > p.bounds[i].least) latest = std::max(latest, time(i, shares[i]));
    if (shares[i] < p.bounds[i].most) soonest_more = std::min(soonest_more, time(i, shares[i] + 1));
  }
  expect(latest <= soonest_more, "balancing: another split is faster");
}

// Milliseconds per solution.
template <class Curves>
double solve(const Curves& curves, const Problem& p, Duration duration) {
  const Duration begin = thread_cpu_time();
  unsigned times = 0;
  std::uint64_t sum = 0;
  for (; times < 2 || thread_cpu_time() - begin < duration; ++times) {
    sum += balancing::min_max(curves, p.bounds, p.total).front();
  }
  expect(sum > 0, "balancing: the first worker has no samples");
  return seconds(thread_cpu_time() - begin) * 1e3 / times;
}

void add_goal(Table& table, const std::string& figure, const std::string& unit, const Spread& ours,
              double goal) {
  table.add({figure, unit, ours, "goal", {goal, goal, goal}, true, 1.0});
}

void allocator_rows(const Effort& effort, Table& table, std::size_t workers, double lines_ms,
                    double steps_ms) {
  const Problem p = problem(workers, effort.seed);
  check([&](std::size_t i, std::uint64_t b) { return p.lines[i](static_cast<double>(b)); }, p,
        balancing::min_max(p.lines, p.bounds, p.total));
  check([&](std::size_t i, std::uint64_t b) { return p.steps[i](b); }, p,
        balancing::min_max(p.steps, p.bounds, p.total));
  const auto spreads = alternate(effort.pairs, {[&] { return solve(p.lines, p, effort.reading / 4); },
                                                [&] { return solve(p.steps, p, effort.reading / 4); }});
  const std::string many = std::to_string(workers) + " workers, ";
  add_goal(table, many + "lines", "ms", spreads[0], lines_ms);
  add_goal(table, many + "any curves", "ms", spreads[1], steps_ms);
}

// A policy, and workers with a little noise that execute its plans.
class Course {
 public:
  Course(const std::string& policy, std::size_t workers, std::uint64_t seed)
      : policy_(balancing::make_policy(policy)), random_(seed) {
    request_.positions = per_worker * workers;
    for (std::uint32_t i = 0; i < workers; ++i) {
      request_.workers.push_back({.slot = i, .cpu = 0.9, .memory = 8000});
      speed_.push_back(1e4 / (1 + 7 * random_.uniform()));
    }
    for (unsigned k = 0; k < 60; ++k) round();  // NARX learns from the 32nd sample on
  }

  // Microseconds per round in plan() and all calls of observe().
  double measure(Duration duration) {
    taken_ = {};
    unsigned rounds = 0;
    for (; rounds < 3 || taken_ < duration; ++rounds) round();
    return seconds(taken_) * 1e6 / rounds;
  }

 private:
  void round() {
    ++request_.round;
    Duration start = thread_cpu_time();
    const Shares shares = policy_->plan(request_);
    taken_ += thread_cpu_time() - start;
    expect(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}) == request_.positions,
           "balancing: a plan does not sum to the round");
    std::vector<balancing::Sample> samples;
    for (std::uint32_t i = 0; i < shares.size(); ++i) {
      const double took =
          (0.002 + static_cast<double>(shares[i]) / speed_[i]) * (1 + 0.02 * random_.normal());
      const double exchange = 0.002 * (1 + 0.1 * random_.uniform());
      samples.push_back({i, request_.round, shares[i], took, 0.9, 8000, exchange});
    }
    start = thread_cpu_time();
    for (const balancing::Sample& sample : samples) policy_->observe(sample);
    taken_ += thread_cpu_time() - start;
  }

  const std::unique_ptr<balancing::Policy> policy_;
  Random random_;
  balancing::Request request_;
  std::vector<double> speed_;  // samples per second
  Duration taken_{};
};

}  // namespace

void balancing_section(const Effort& effort, Table& table) {
  table.section("balancing: the exact allocator, milliseconds per solution on one thread");
  allocator_rows(effort, table, 1000, 1, 1);
  allocator_rows(effort, table, 100'000, 20, 50);
  table.section("balancing: microseconds of a policy per round; the goal is 1 % of a round of the demo");
  for (const std::size_t workers : {3, 1000}) {
    for (const std::string& name : balancing::policy_names()) {
      Course course(name, workers, effort.seed);
      const Spread spread = alternate(effort.pairs, {[&] { return course.measure(effort.reading / 4); }})[0];
      const std::string figure = std::to_string(workers) + " workers, " + name;
      if (workers == 3) {
        add_goal(table, figure, "us", spread, percent_of_demo_us);
      } else {
        table.add({figure, "us", spread, {}, {}, true, {}});
      }
    }
  }
}

}  // namespace steelyard::bench
