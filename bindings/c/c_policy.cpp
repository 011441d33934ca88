// The functions steelyard_policy_*() of include/steelyard/steelyard.h.
//
// Policies count in grains (include/steelyard/policy.h), the C interface in samples. If the batch is not a
// multiple of the grain, the last share that is not 0 is shorter.
#include <steelyard/steelyard.h>

#include <algorithm>

#include "balancing/policies.h"
#include "bindings/c/c_error.h"
#include "bindings/c/json_object.h"
#include "core/error.h"
#include "core/json.h"
#include "protocol/local_steps.h"

using steelyard::dump_json;
using steelyard::Json;
using steelyard::refuse_setup;
using steelyard::c_api::JsonObject;
using steelyard::c_api::kind_of;
using steelyard::c_api::parse_object;
namespace balancing = steelyard::balancing;

struct steelyard_policy {
  std::unique_ptr<balancing::Policy> policy;
  balancing::Request request;          // of the next round; rounds count from 1
  std::vector<std::uint64_t> samples;  // the last plan, by worker; empty before the first plan
};

namespace {

constexpr std::size_t most_workers = 1 << 16;

balancing::PolicyOptions options(const Json& setup) {
  balancing::PolicyOptions options;
  const auto found = setup.find("options");
  if (found == setup.end()) return options;
  if (!found->is_object())
    refuse_setup("\"options\" of the set-up is not a JSON object: give {\"key\": \"value\"}");
  for (const auto& [key, value] : found->items()) {
    if (value.is_structured() || value.is_null()) {
      refuse_setup("option \"" + key + "\" is " + dump_json(value) +
                   ": give a text, a number, true or false");
    }
    options[key] = value.is_string() ? value.get<std::string>() : dump_json(value);
  }
  return options;
}

balancing::WorkerView worker(const Json& json, std::uint32_t slot, std::uint64_t grain) {
  const JsonObject keys(json, "worker " + std::to_string(slot), {"name", "kind", "max_batch"});
  const std::uint64_t most = keys.count("max_batch", UINT64_MAX, 1);
  if (most < grain)
    keys.refuse("max_batch", "at least the grain of " + std::to_string(grain) + ", or lower \"grain\"");
  constexpr bool may_rest = false;  // callers that all-reduce gradients need every worker in every round
  return {slot, kind_of(keys), 1, most / grain, -1, -1, may_rest, keys.text("name", "")};
}

balancing::Request first_request(const Json& setup, const JsonObject& keys) {
  balancing::Request request;
  request.round = 1;
  request.grain = keys.count("grain", 1, 1);
  const auto workers = setup.find("workers");
  if (workers == setup.end() || !workers->is_array() || workers->empty() || workers->size() > most_workers) {
    refuse_setup("\"workers\" of the set-up is not a list of 1 to " + std::to_string(most_workers) +
                 " workers: give one object for each, {} for the defaults");
  }
  for (const Json& one : *workers) {
    const auto slot = static_cast<std::uint32_t>(request.workers.size());
    request.workers.push_back(worker(one, slot, request.grain));
  }
  return request;
}

std::unique_ptr<steelyard_policy> make(const char* text_of_setup) {
  const Json setup = parse_object(text_of_setup, "the set-up", R"({"workers": [{}, {}]})");
  const JsonObject keys(setup, "the set-up", {"policy", "options", "workers", "grain"});
  return std::make_unique<steelyard_policy>(
      steelyard_policy{balancing::make_policy(keys.text("policy", "steelyard"), options(setup)),
                       first_request(setup, keys),
                       {}});
}

void plan(steelyard_policy& it, std::uint64_t batch, std::uint64_t* shares) {
  if (batch == 0) refuse_setup("the batch is 0: give a batch of at least 1");
  const std::uint64_t grain = it.request.grain;
  it.request.positions = steelyard::grains_in(batch, grain);
  std::vector<std::uint64_t> samples = it.policy->plan(it.request);
  std::uint64_t left = batch;
  for (std::uint64_t& share : samples) {
    share = share > left / grain ? left : share * grain;
    left -= share;
  }
  std::ranges::copy(samples, shares);
  it.samples = std::move(samples);
}

void observe(steelyard_policy& it, const double* seconds) {
  if (it.samples.empty()) refuse_setup("no plan was made yet: call steelyard_policy_plan() first");
  const std::uint64_t grain = it.request.grain;
  for (std::uint32_t slot = 0; slot < it.samples.size(); ++slot) {
    const std::uint64_t samples = it.samples[slot], grains = steelyard::grains_in(samples, grain);
    if (samples == 0 || !(seconds[slot] >= 0)) continue;
    // Extrapolates the time of a partial grain to the whole grain.
    const double whole = static_cast<double>(grains * grain) / static_cast<double>(samples);
    it.policy->observe({slot, it.request.round, grains, seconds[slot] * whole});
  }
  ++it.request.round;
}

}  // namespace

steelyard_policy* steelyard_policy_new(const char* setup) {
  std::unique_ptr<steelyard_policy> made;
  steelyard::c_api::guarded([&] { made = make(setup); });
  return made.release();
}

int steelyard_policy_plan(steelyard_policy* policy, uint64_t batch, uint64_t* shares) {
  return steelyard::c_api::guarded([&] { plan(*policy, batch, shares); });
}

int steelyard_policy_observe(steelyard_policy* policy, const double* seconds) {
  return steelyard::c_api::guarded([&] { observe(*policy, seconds); });
}

void steelyard_policy_free(steelyard_policy* policy) { delete policy; }
