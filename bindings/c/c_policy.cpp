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
  balancing::Request request;               // of the next round; rounds count from 1
  std::uint32_t next_slot = 0;              // for the next worker that joins
  std::vector<balancing::WorkerView> told;  // the workers of the last plan, as the policy saw them
  std::vector<std::uint64_t> samples{};     // their shares; empty before the first plan
  bool observed = false;                    // the round of the last plan has samples
  std::string saved{};
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
  const JsonObject keys(json, "worker " + std::to_string(slot), {"name", "kind", "max_batch", "may_rest"});
  const std::uint64_t most = keys.count("max_batch", UINT64_MAX, 1);
  if (most < grain)
    keys.refuse("max_batch", "at least the grain of " + std::to_string(grain) + ", or lower \"grain\"");
  const Json* rest = keys.find("may_rest");
  if (rest != nullptr && !rest->is_boolean()) keys.refuse("may_rest", "true or false");
  return {.slot = slot,
          .kind = kind_of(keys),
          .most = most / grain,
          .may_rest = rest != nullptr && rest->get<bool>(),
          .name = keys.text("name", "")};
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
  auto policy = balancing::make_policy(keys.text("policy", "steelyard"), options(setup));
  balancing::Request request = first_request(setup, keys);
  const auto count = static_cast<std::uint32_t>(request.workers.size());
  return std::make_unique<steelyard_policy>(
      steelyard_policy{std::move(policy), std::move(request), count, {}});
}

balancing::WorkerView& present(steelyard_policy& it, std::uint32_t worker) {
  auto& all = it.request.workers;
  const auto found = std::ranges::find(all, worker, &balancing::WorkerView::slot);
  if (found == all.end()) {
    refuse_setup("there is no worker " + std::to_string(worker) +
                 ": give a number of the set-up or of a join, of a worker that has not left");
  }
  return *found;
}

std::uint32_t join(steelyard_policy& it, const char* text) {
  if (it.request.workers.size() >= most_workers)
    refuse_setup("there are " + std::to_string(most_workers) + " workers already, which is the most");
  const Json json = parse_object(text, "worker " + std::to_string(it.next_slot), R"({"name": "a"})");
  it.request.workers.push_back(worker(json, it.next_slot, it.request.grain));
  return it.next_slot++;
}

void leave(steelyard_policy& it, std::uint32_t worker) {
  const std::uint32_t slot = present(it, worker).slot;
  if (it.request.workers.size() == 1)
    refuse_setup("worker " + std::to_string(worker) + " is the last one: let another join first");
  std::erase_if(it.request.workers, [&](const auto& one) { return one.slot == slot; });
}

void plan(steelyard_policy& it, std::uint64_t batch, std::uint64_t* shares) {
  if (batch == 0) refuse_setup("the batch is 0: give a batch of at least 1");
  const std::uint64_t grain = it.request.grain;
  balancing::Request request = it.request;
  if (it.observed) ++request.round;
  request.positions = steelyard::grains_in(batch, grain);
  std::vector<std::uint64_t> samples = it.policy->plan(request);
  std::uint64_t left = batch;
  for (std::uint64_t& share : samples) {
    share = share > left / grain ? left : share * grain;
    left -= share;
  }
  std::ranges::copy(samples, shares);
  it.samples = std::move(samples);
  it.told = request.workers;
  it.request = std::move(request);
  it.observed = false;
}

// The sample has the readings of the plan: policies predict from them.
void observe_one(steelyard_policy& it, const balancing::WorkerView& told, std::uint64_t samples,
                 double seconds) {
  const std::uint64_t grain = it.request.grain, grains = steelyard::grains_in(samples, grain);
  if (samples == 0 || !(seconds >= 0)) return;
  // Extrapolates the time of a partial grain to the whole grain.
  const double whole = static_cast<double>(grains * grain) / static_cast<double>(samples);
  it.policy->observe({.slot = told.slot,
                      .round = it.request.round,
                      .samples = grains,
                      .seconds = seconds * whole,
                      .cpu = told.cpu,
                      .memory = told.memory,
                      .planned_cpu = told.cpu,
                      .planned_memory = told.memory});
}

void require_plan(const steelyard_policy& it) {
  if (it.samples.empty()) refuse_setup("no plan was made yet: call steelyard_policy_plan() first");
}

void observe_sample(steelyard_policy& it, std::uint32_t worker, std::uint64_t samples, double seconds,
                    double cpu, double memory) {
  require_plan(it);
  balancing::WorkerView& view = present(it, worker);
  if (cpu > 1) {
    refuse_setup("cpu is " + dump_json(Json(cpu)) +
                 ": give the share of the processor that is free, from 0 to 1, or -1");
  }
  const auto told = std::ranges::find(it.told, worker, &balancing::WorkerView::slot);
  observe_one(it, told == it.told.end() ? view : *told, samples, seconds);
  view.cpu = cpu >= 0 ? cpu : -1;
  view.memory = memory >= 0 ? memory : -1;
  it.observed = true;
}

void observe_round(steelyard_policy& it, const double* seconds) {
  require_plan(it);
  for (std::size_t i = 0; i < it.samples.size(); ++i) observe_one(it, it.told[i], it.samples[i], seconds[i]);
  ++it.request.round;
}

// ---- the saved text: a JSON object

Json json_of(const balancing::WorkerView& view) {
  return {{"slot", view.slot},     {"gpu", view.kind == steelyard::DeviceKind::gpu},
          {"most", view.most},     {"cpu", view.cpu},
          {"memory", view.memory}, {"may_rest", view.may_rest},
          {"name", view.name}};
}

balancing::WorkerView view_of(const Json& json) {
  return {.slot = json.at("slot").get<std::uint32_t>(),
          .kind = json.at("gpu").get<bool>() ? steelyard::DeviceKind::gpu : steelyard::DeviceKind::cpu,
          .most = json.at("most").get<std::uint64_t>(),
          .cpu = json.at("cpu").get<double>(),
          .memory = json.at("memory").get<double>(),
          .may_rest = json.at("may_rest").get<bool>(),
          .name = json.at("name").get<std::string>()};
}

Json list_of(const std::vector<balancing::WorkerView>& views) {
  Json list = Json::array();
  for (const balancing::WorkerView& view : views) list.push_back(json_of(view));
  return list;
}

std::vector<balancing::WorkerView> views_in(const Json& list) {
  std::vector<balancing::WorkerView> views;
  for (const Json& one : list) views.push_back(view_of(one));
  return views;
}

std::string saved_text(const steelyard_policy& it) {
  return dump_json({{"grain", it.request.grain},
                    {"round", it.request.round},
                    {"epoch", it.request.epoch},
                    {"workers", list_of(it.request.workers)},
                    {"next", it.next_slot},
                    {"told", list_of(it.told)},
                    {"samples", it.samples},
                    {"observed", it.observed},
                    {"policy", it.policy->save()}});
}

[[noreturn]] void refuse_damaged() {
  refuse_setup("the saved policy is damaged: give an unchanged text of steelyard_policy_save()");
}

// All of the text is read before anything changes.
void restore(steelyard_policy& it, const char* text) {
  const Json json = parse_object(text, "the saved policy", "the text of steelyard_policy_save()");
  balancing::Request request = it.request;
  std::vector<balancing::WorkerView> told;
  std::vector<std::uint64_t> samples;
  std::uint32_t next = 0;
  bool observed = false;
  std::string state;
  try {
    request.round = json.at("round").get<std::uint64_t>();
    request.epoch = json.at("epoch").get<std::uint64_t>();
    request.workers = views_in(json.at("workers"));
    told = views_in(json.at("told"));
    samples = json.at("samples").get<std::vector<std::uint64_t>>();
    next = json.at("next").get<std::uint32_t>();
    observed = json.at("observed").get<bool>();
    state = json.at("policy").get<std::string>();
    if (json.at("grain").get<std::uint64_t>() != request.grain)
      refuse_setup("the saved policy has another grain: make the policy with the same set-up");
  } catch (const Json::exception&) {
    refuse_damaged();
  }
  const auto ordered = [&](const std::vector<balancing::WorkerView>& views) {
    const auto late = [](const auto& a, const auto& b) { return a.slot >= b.slot; };
    return std::ranges::adjacent_find(views, late) == views.end() &&
           (views.empty() || views.back().slot < next);
  };
  if (request.workers.empty() || request.workers.size() > most_workers || told.size() != samples.size() ||
      !ordered(request.workers) || !ordered(told))
    refuse_damaged();
  it.policy->restore(state);
  it.request = std::move(request);
  it.told = std::move(told);
  it.samples = std::move(samples);
  it.next_slot = next;
  it.observed = observed;
}

}  // namespace

steelyard_policy* steelyard_policy_new(const char* setup) {
  std::unique_ptr<steelyard_policy> made;
  steelyard::c_api::guarded([&] { made = make(setup); });
  return made.release();
}

int64_t steelyard_policy_join(steelyard_policy* policy, const char* worker) {
  std::int64_t number = -1;
  steelyard::c_api::guarded([&] { number = join(*policy, worker); });
  return number;
}

int steelyard_policy_leave(steelyard_policy* policy, uint32_t worker) {
  return steelyard::c_api::guarded([&] { leave(*policy, worker); });
}

int steelyard_policy_epoch(steelyard_policy* policy) {
  return steelyard::c_api::guarded([&] { ++policy->request.epoch; });
}

int steelyard_policy_plan(steelyard_policy* policy, uint64_t batch, uint64_t* shares) {
  return steelyard::c_api::guarded([&] { plan(*policy, batch, shares); });
}

int steelyard_policy_sample(steelyard_policy* policy, uint32_t worker, uint64_t samples, double seconds,
                            double cpu, double memory_mb) {
  return steelyard::c_api::guarded(
      [&] { observe_sample(*policy, worker, samples, seconds, cpu, memory_mb); });
}

int steelyard_policy_observe(steelyard_policy* policy, const double* seconds) {
  return steelyard::c_api::guarded([&] { observe_round(*policy, seconds); });
}

const char* steelyard_policy_save(steelyard_policy* policy) {
  const int code = steelyard::c_api::guarded([&] { policy->saved = saved_text(*policy); });
  return code == 0 ? policy->saved.c_str() : nullptr;
}

int steelyard_policy_restore(steelyard_policy* policy, const char* state) {
  return steelyard::c_api::guarded([&] { restore(*policy, state); });
}

void steelyard_policy_free(steelyard_policy* policy) { delete policy; }
