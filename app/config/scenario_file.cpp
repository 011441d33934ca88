#include "app/config/scenario_file.h"

#include <algorithm>
#include <filesystem>

#include "app/config/choices.h"
#include "app/config/device_files.h"
#include "app/config/job_source.h"
#include "app/config/registry.h"
#include "app/config/scenario_keys.h"
#include "app/config/scenario_training.h"
#include "app/config/toml_section.h"
#include "core/error.h"

namespace steelyard {
namespace {

class ScenarioReader {
 public:
  ScenarioReader(const JobSource& source, std::filesystem::path folder)
      : source_(source), folder_(std::move(folder)) {}

  sim::Scenario read(const std::string& name) {
    scenario_.name = name;
    scenario_.own_policies = registry().policies;
    scenario_.own_predictors = registry().predictors;
    check_sections();
    read_job();
    read_network();
    section("servers").read();
    read_policies();
    for (const TomlSection& it : TomlSection::all_of(source_, schema_, "worker")) read_worker(it);
    for (const TomlSection& it : TomlSection::all_of(source_, schema_, "event")) read_event(it);
    sim::check_scenario(scenario_);
    return std::move(scenario_);
  }

 private:
  void check_sections() const {
    for (const char* name : {"cluster", "train"}) {
      const toml::node* node = source_.root().get(name);
      if (node == nullptr) continue;
      source_.refuse(name, node->source(),
                     "[" + std::string(name) +
                         "] belongs to a job, and this must be a scenario: see steelyard help scenario, or "
                         "run the job with steelyard train");
    }
    TomlSection::check_all(source_, schema_);
  }

  void read_job() {
    const TomlSection job = section("job"), model = section("model"), data = section("data");
    for (const TomlSection* it : {&job, &model, &data}) it->read();
    const auto& readings = sim::readings_names();
    scenario_.readings =
        static_cast<sim::Readings>(std::ranges::find(readings, draft_.readings) - readings.begin());
    const bool by_rounds = job.given("rounds");
    if (by_rounds && !job.given("epochs")) scenario_.epochs = 0;
    // If only rounds are given, the training is one epoch, and all rounds have the same length.
    if (by_rounds && scenario_.epochs == 0 && !job.given("samples_per_epoch"))
      scenario_.samples_per_epoch = scenario_.global_batch * scenario_.rounds;
    make_training(draft_, job, model, data);
  }
  void read_network() {
    const TomlSection it = section("network");
    it.read();
    const bool by_number = it.given("step_ms"), by_run = it.given("recorded");
    it.demand(!by_number || !by_run, "recorded", "give step_ms or a recorded run: one of the two");
    for (const char* key : {"latency_ms", "bandwidth_gbps", "model_mb"}) {
      it.demand(!it.given(key) || !(by_number || by_run), by_number ? "step_ms" : "recorded",
                "the exchange is either a number (step_ms, or recorded) or follows from latency_ms, "
                "bandwidth_gbps and model_mb: give one of the two");
    }
    it.demand(it.given("bandwidth_gbps") || !it.given("model_mb"), "model_mb",
              "model_mb needs bandwidth_gbps: give that too");
    it.demand(it.given("model_mb") || !it.given("bandwidth_gbps"), "bandwidth_gbps",
              "bandwidth_gbps needs model_mb: give that too");
    scenario_.network.push_encoding = float_code(draft_.push_encoding);
    scenario_.network.pull_encoding = float_code(draft_.pull_encoding);
    if (by_run) scenario_.network.step_ms = read_exchange_ms(beside(draft_.recorded));
  }

  // All policies are checked, since --policy may choose any of them.
  void read_policies() {
    for (const TomlSection& policy : TomlSection::all_of(source_, schema_, "policy")) {
      draft_.policy_options.clear();
      policy.read();
      policy.demand_none(policy_trouble(policy.part(), draft_.policy_options, draft_.policies), "");
      scenario_.policy_options[policy.part()] = draft_.policy_options;
    }
  }
  void read_worker(const TomlSection& section) {
    draft_.worker = {};
    sim::Device& device = draft_.worker.device;
    device.name = "worker-" + std::to_string(scenario_.workers.size());
    section.read();
    device.kind = device_kind(draft_.worker.kind);
    section.demand(device.memory_mb == 0 || device.kind == DeviceKind::cpu, "memory_mb",
                   "memory_mb is reported by CPU workers only: use max_batch to limit a GPU");
    read_times(section);
    for (const char* key : {"latency_ms", "bandwidth_gbps"}) {
      const bool counts = scenario_.network.step_ms == 0 &&
                          (std::string(key) == "latency_ms" || scenario_.network.model_mb > 0);
      section.demand(!section.given(key) || counts, key,
                     std::string(key) + " belongs to a link: give [network] " +
                         (std::string(key) == "latency_ms" ? "no step_ms" : "model_mb and bandwidth_gbps"));
    }
    const std::uint64_t count = draft_.worker.count;
    section.demand(scenario_.workers.size() + count <= most_simulated_workers, "count",
                   "more than " + std::to_string(most_simulated_workers) + " workers: give fewer");
    const std::string name = device.name;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (section.given("count")) device.name = name + "-" + std::to_string(i);
      const bool is_new = named_.emplace(device.name, scenario_.workers.size()).second;
      section.demand(is_new, "name",
                     "two workers are named \"" + device.name + "\": give each a name of its own");
      scenario_.workers.push_back(device);
    }
  }

  void read_times(const TomlSection& section) {
    const ScenarioDraft::Worker& keys = draft_.worker;
    sim::Device& device = draft_.worker.device;
    int ways = 0;
    for (const char* way : {"time_ms", "samples_per_s", "profile", "recorded"})
      ways += int{section.given(way)};
    section.demand(ways == 1, "name",
                   "worker " + steelyard::toml_quoted(device.name) +
                       ": give one of time_ms (a polynomial), samples_per_s, profile and recorded (files)");
    section.demand(!keys.recorded.empty() || keys.recorded_worker.empty(), "recorded_worker",
                   "recorded_worker names a worker of a recorded run: give recorded too");
    section.demand(!section.given("flat_ms") || section.given("time_ms") || section.given("samples_per_s"),
                   "flat_ms",
                   "flat_ms is the least time of a formula: give it with time_ms or samples_per_s");
    if (keys.samples_per_s > 0) device.time_ms = {0, 1000 / keys.samples_per_s};
    if (!keys.profile.empty()) device.measured = sim::as_curve(read_profile(beside(keys.profile)));
    if (!keys.recorded.empty()) {
      const std::string& whose = keys.recorded_worker.empty() ? device.name : keys.recorded_worker;
      const auto rounds = read_recording(beside(keys.recorded), whose);
      device.time_ms = sim::fitted_line(rounds);
      device.recording = sim::recording_of(rounds, device.time_ms);
    }
    if (!keys.trace.empty()) device.trace = read_trace(beside(keys.trace));
  }

  void read_event(const TomlSection& section) {
    draft_.event = {};
    section.read();
    sim::Event& event = draft_.event.event;
    const auto& shapes = sim::shape_names();
    event.shape = static_cast<sim::Shape>(std::ranges::find(shapes, draft_.event.shape) - shapes.begin());
    if (const std::string& worker = draft_.event.worker; !worker.empty()) {
      const auto found = named_.find(worker);
      if (found == named_.end()) {
        std::vector<std::string> names;
        for (const sim::Device& device : scenario_.workers) names.push_back(device.name);
        section.demand(false, "worker",
                       "no worker is named " + steelyard::toml_quoted(worker) + did_you_mean(worker, names));
      }
      event.worker = found->second;
    }
    const auto given = [&](const char* key) { return section.given(key); };
    event.by_clock = std::ranges::any_of(std::vector{"from_s", "to_s", "period_s", "length_s"}, given);
    if (event.by_clock) check_clock(section);
    section.demand(event.from < event.to, "to_round",
                   "to_round must be after from_round: it is the first round without the event");
    const std::uint64_t rounds = sim::count_rounds(scenario_);
    section.demand(event.from < rounds, "from_round",
                   "from_round = " + std::to_string(event.from) + " in [[event]]: the training has " +
                       std::to_string(rounds) + " rounds, 0 to " + std::to_string(rounds - 1) +
                       ": give an earlier one, or [job] more rounds or epochs");
    check_shape(section);
    check_effects(section);
    scenario_.events.push_back(event);
  }

  // Checks an event that is timed in seconds (from_s, to_s, period_s) instead of rounds.
  void check_clock(const TomlSection& section) const {
    const sim::Event& event = draft_.event.event;
    for (const char* key : {"from_round", "to_round", "period", "length"}) {
      section.demand(!section.given(key), key,
                     std::string(key) +
                         " counts rounds, and this event is timed in seconds: give all of its keys in "
                         "rounds, or all in seconds");
    }
    for (const char* key : {"kill", "join", "cut"}) {
      section.demand(!section.given(key), key,
                     std::string(key) + " happens in a round: give from_round instead of from_s");
    }
    section.demand(event.from_s < event.to_s, "to_s", "to_s must be after from_s");
    section.demand(event.shape != sim::Shape::bursty && event.shape != sim::Shape::random_walk, "shape",
                   "shape " + steelyard::toml_quoted(draft_.event.shape) +
                       " is drawn per round: give from_round instead of from_s");
  }

  void check_effects(const TomlSection& section) const {
    const sim::Event& event = draft_.event.event;
    if (section.given("memory")) {  // has an effect only if a worker reports memory
      const auto& workers = scenario_.workers;
      const bool told = event.worker
                            ? workers[*event.worker].memory_mb > 0
                            : std::ranges::any_of(workers, [](const auto& it) { return it.memory_mb > 0; });
      section.demand(told, "memory",
                     "memory is a share of memory_mb, which the worker does not have: give it memory_mb");
    }
    const auto given = [&](const char* key) { return section.given(key); };
    const bool effect =
        std::ranges::any_of(std::vector{"add_ms", "scale", "cpu", "memory", "network"}, given);
    check_once(section, effect);
    const bool once = event.kill || event.join || event.cut, walks = event.shape == sim::Shape::random_walk;
    section.demand(effect || once || walks, "from_round",
                   "this event does nothing: give add_ms, scale, cpu, memory, network, kill, join, cut or a "
                   "random_walk");
    section.demand(!walks || !effect, "shape",
                   "a random_walk is an effect of its own: give no other effect with it");
    section.demand(
        !event.unforeseen || effect || walks, "unforeseen",
        "unforeseen has no effect on kill, join and cut, which the oracle never foresees: leave it "
        "out");
  }

  // kill, join and cut happen once: they have no shape.
  void check_once(const TomlSection& section, bool effect) const {
    const sim::Event& event = draft_.event.event;
    const char* what = event.kill ? "kill" : event.join ? "join" : "cut";
    const int several = int{event.kill} + int{event.join} + int{event.cut};
    if (several == 0) return;
    const std::string name = what;
    section.demand(several == 1, what, "kill, join and cut: give each an event of its own");
    section.demand(event.worker.has_value(), "worker", "kill, join and cut need a worker: name it");
    section.demand(
        event.shape == sim::Shape::step, "shape",
        name + " happens once and has no shape: leave shape out, or give the effect an event of its own");
    section.demand(event.kill || !section.given("to_round"), "to_round",
                   "to_round has no effect on " + name + ": " +
                       (event.join ? "a worker that joined stays; use an event with kill to end it"
                                   : "both ends keep running, and reconnect at once") +
                       (effect ? ", and another effect needs an event of its own" : ""));
    section.demand(!event.join || event.from > 0, "join",
                   "join needs from_round, of at least 1: the worker is absent before it");
  }

  void check_shape(const TomlSection& section) const {
    const sim::Event& event = draft_.event.event;
    const std::string& shape = draft_.event.shape;
    const auto may_belong = [&](const char* key, sim::Shape to) {
      section.demand(
          event.shape == to || !section.given(key), key,
          std::string(key) + " has no effect with shape " + steelyard::toml_quoted(shape) + ": leave it out");
    };
    const auto belongs = [&](const char* key, sim::Shape to) {
      may_belong(key, to);
      section.demand(event.shape != to || section.given(key), "shape",
                     "shape " + steelyard::toml_quoted(shape) + " needs " + std::string(key));
    };
    belongs(event.by_clock ? "period_s" : "period", sim::Shape::periodic);
    belongs(event.by_clock ? "length_s" : "length", sim::Shape::periodic);
    belongs("mean_gap", sim::Shape::bursty);
    belongs("mean_length", sim::Shape::bursty);
    belongs("deviation", sim::Shape::random_walk);
    may_belong("lowest", sim::Shape::random_walk);
    may_belong("highest", sim::Shape::random_walk);
    const char* end = event.by_clock ? "to_s" : "to_round";
    section.demand(event.shape != sim::Shape::ramp || section.given(end), "shape",
                   "shape \"ramp\" needs " + std::string(end) + ": where it reaches its full effect");
    section.demand(event.lowest <= 1 && event.highest >= 1, "lowest",
                   "a walk begins at 1: give lowest <= 1 <= highest");
  }

  [[nodiscard]] TomlSection section(const std::string& name) const {
    return TomlSection::of(source_, schema_, name);
  }
  // Resolves a path in the scenario, relative to the scenario file.
  [[nodiscard]] std::string beside(const std::string& path) const { return (folder_ / path).string(); }

  const JobSource& source_;
  const std::filesystem::path folder_;
  ScenarioDraft draft_{registry().policies};
  sim::Scenario& scenario_ = draft_.scenario;
  const Schema schema_ = schema_of(draft_);
  std::map<std::string, std::size_t> named_;  // workers, by name
};
}  // namespace

sim::Scenario parse_scenario(std::string_view text, const std::string& file,
                             const std::vector<std::string>& overrides) {
  const JobSource source(text, file, overrides);
  const std::filesystem::path path(file);
  // Messages show the path while it is read and checked.
  sim::Scenario scenario = ScenarioReader(source, path.parent_path()).read(file);
  scenario.name = path.stem().string();
  return scenario;
}

sim::Scenario read_scenario(const std::string& path, const std::vector<std::string>& overrides) {
  // Scenarios written by programs can be long.
  const InputKind kind{
      "scenario", 16,
      "check the name, or start with a copy of examples/scenarios/lbb_table2.toml (steelyard "
      "help scenario lists all keys)"};
  return parse_scenario(read_input(path, kind), path, overrides);
}

}  // namespace steelyard
