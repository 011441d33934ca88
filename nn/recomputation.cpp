#include "nn/recomputation.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace steelyard::nn {
namespace {

constexpr std::uint32_t no_step = UINT32_MAX;
constexpr std::uint64_t most_parts = 64;  // more make the kept values larger than what they save

// The graph of a plan's steps, by value.
struct Uses {
  std::vector<std::uint32_t> producer, last_reader;  // steps; no_step: the input, or a value without readers
  std::vector<bool> in_backward;                     // read by the backward of a step

  explicit Uses(const Plan& plan)
      : producer(plan.values.size(), no_step),
        last_reader(plan.values.size(), no_step),
        in_backward(plan.values.size()) {
    for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = plan.steps[i];
      producer[step.output] = i;
      if (step.learns && step.traits.reads_output) in_backward[step.output] = true;
      for (const std::uint32_t value : step.inputs) {
        last_reader[value] = i;
        if (step.learns && step.traits.reads_inputs) in_backward[value] = true;
      }
    }
  }
};

// The first step of each segment, without step 0.
using Cuts = std::vector<std::uint32_t>;

// Segments whose kept values have at most `limit` floats, if possible: each ends where the fewest floats
// cross to later steps.
Cuts cuts_within(const Plan& plan, const Uses& uses, std::uint64_t limit) {
  const auto steps = static_cast<std::uint32_t>(plan.steps.size());
  std::vector<std::uint64_t> crossing(steps + 1);  // floats that steps from here on read of those before
  for (std::uint32_t v = 1; v < plan.values.size(); ++v) {
    if (uses.last_reader[v] == no_step) continue;
    for (std::uint32_t i = uses.producer[v] + 1; i <= uses.last_reader[v]; ++i)
      crossing[i] += plan.values[v].floats();
  }
  Cuts cuts;
  for (std::uint32_t begin = 0; begin < steps;) {
    std::uint32_t best = begin + 1, end = begin;
    for (std::uint64_t kept = 0; end < steps; ++end) {
      const std::uint32_t output = plan.steps[end].output;
      if (uses.in_backward[output]) kept += plan.values[output].floats();
      if (kept > limit) break;
      if (crossing[end + 1] <= crossing[best]) best = end + 1;
    }
    if (end == steps) break;
    cuts.push_back(best);
    begin = best;
  }
  return cuts;
}

// The backward pass of segments.
std::vector<BackwardCall> backward_of(const Plan& plan, const Uses& uses, const Cuts& cuts) {
  std::vector<BackwardCall> calls;
  auto end = static_cast<std::uint32_t>(plan.steps.size());
  for (std::size_t s = cuts.size() + 1; s-- > 0;) {
    const std::uint32_t begin = s == 0 ? 0 : cuts[s - 1];
    std::vector<bool> again(end - begin);  // steps, from begin on
    const auto needs = [&](std::uint32_t value) {
      const std::uint32_t step = uses.producer[value];
      if (step == no_step || step < begin || uses.last_reader[value] == no_step ||
          uses.last_reader[value] >= end)
        return;  // kept
      again[step - begin] = true;
    };
    for (std::uint32_t i = end; i-- > begin && s < cuts.size();) {
      if (uses.in_backward[plan.steps[i].output]) needs(plan.steps[i].output);
      if (!again[i - begin]) continue;
      for (const std::uint32_t input : plan.steps[i].inputs) needs(input);
    }
    for (std::uint32_t i = begin; i < end; ++i) {
      if (again[i - begin]) calls.push_back({i, true});
    }
    for (std::uint32_t i = end; i-- > begin;) {
      if (plan.steps[i].learns) calls.push_back({i});
    }
    end = begin;
  }
  return calls;
}

// Floats that are kept for backward without recomputation.
std::uint64_t kept_floats(const Plan& plan, const Uses& uses) {
  std::uint64_t all = 0;
  for (std::uint32_t v = 1; v < plan.values.size(); ++v) {
    if (uses.in_backward[v]) all += plan.values[v].floats();
  }
  return all;
}

}  // namespace

void plan_backward(Plan& plan) {
  std::vector<bool> learned(plan.values.size());  // whether a value depends on parameters
  plan.backward.clear();
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    Step& step = plan.steps[i];
    step.learns = !step.tensors.empty() || std::any_of(step.inputs.begin(), step.inputs.end(),
                                                       [&](std::uint32_t v) { return learned[v]; });
    learned[step.output] = step.learns;
    if (step.learns) plan.backward.push_back({i});
  }
  std::reverse(plan.backward.begin(), plan.backward.end());
}

void recompute_within(Plan& plan, std::uint64_t floats) {
  const Uses uses(plan);
  plan.backward = backward_of(plan, uses, cuts_within(plan, uses, floats));
  plan_memory(plan);
}

void plan_recomputation(Plan& plan) {
  const std::uint64_t all = kept_floats(plan, Uses(plan));
  std::vector<BackwardCall> best = plan.backward;
  std::uint64_t least = plan.arena;
  for (std::uint64_t parts = 2; parts <= most_parts; parts += 1 + parts / 4) {
    recompute_within(plan, all / parts);
    if (plan.arena >= least) continue;
    least = plan.arena;
    best = plan.backward;
  }
  plan.backward = std::move(best);
  plan_memory(plan);
}

}  // namespace steelyard::nn
