#include "config/scenario_file.h"

#include <algorithm>
#include <filesystem>

#include "config/choices.h"
#include "config/device_files.h"
#include "config/input_file.h"
#include "config/job_source.h"
#include "config/scenario_training.h"
#include "config/toml_section.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/near_match.h"
#include "sim/simulation.h"
#include "wire/name.h"
#include "wire/sync_mode.h"

namespace steelyard {
namespace {

constexpr double billion = 1e9, no_limit = 1e15;
constexpr std::uint64_t most_workers = 50'000;

class ScenarioReader {
 public:
  ScenarioReader(const JobSource& source, std::filesystem::path folder, const Extensions& extensions)
      : source_(source), folder_(std::move(folder)), extensions_(extensions) {}

  sim::Scenario read(const std::string& name) {
    scenario_.name = name;
    scenario_.own_policies = extensions_.policies;
    scenario_.own_predictors = extensions_.predictors;
    check_sections();
    const auto section = [&](const char* title) { return TomlSection::of(source_, title); };
    read_job(section("job"), section("model"), section("data"));
    read_network(section("network"));
    read_policies();
    for (TomlSection& it : TomlSection::all_of(source_, "worker")) read_worker(std::move(it));
    for (TomlSection& it : TomlSection::all_of(source_, "event")) read_event(std::move(it));
    sim::check_scenario(scenario_);
    return std::move(scenario_);
  }

 private:
  void check_sections() const;
  void read_job(TomlSection section, const TomlSection& model, const TomlSection& data);
  void read_network(TomlSection section);
  void read_policies();
  void read_worker(TomlSection section);
  // How long a worker takes: what its section says of it, and what follows.
  struct TimeKeys {
    int ways = 0;  // of time_ms, samples_per_s, profile, recorded: how many there are
    double samples_per_s = 0;
    std::string profile, recorded, recorded_worker, trace;
  };
  static TimeKeys read_time_keys(TomlSection& section, sim::Device& device);
  void apply(const TimeKeys& keys, const TomlSection& section, sim::Device& device) const;
  void read_event(TomlSection section);
  bool read_memory(TomlSection& section, sim::Event& event) const;
  static void check_once(const TomlSection& section, const sim::Event& event, bool effect);
  void read_shape(TomlSection& section, sim::Event& event) const;
  // Where a file that is named in the scenario lies: beside it, unless the path is absolute.
  [[nodiscard]] std::string beside(const std::string& path) const { return (folder_ / path).string(); }

  const JobSource& source_;
  const std::filesystem::path folder_;
  const Extensions& extensions_;
  sim::Scenario scenario_;
  std::map<std::string, std::size_t> named_;  // workers, by name
};

void ScenarioReader::check_sections() const {
  const std::vector<std::string> known{"job", "model", "data", "network", "policy", "worker", "event"};
  for (auto&& [key, node] : source_.root()) {
    const std::string name(key.str());
    const bool listed = name == "worker" || name == "event";
    if (name == "cluster" || name == "train") {
      source_.refuse(name, key.source(),
                     "[" + name +
                         "] is of a job, and this is to be a scenario: see steelyard help scenario, or "
                         "give the job to steelyard train");
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      source_.refuse(
          name, key.source(),
          "unknown section or key \"" + name + "\"" + did_you_mean(name, known) +
              " (there are: [job], [model], [data], [network], [policy.NAME], [[worker]], [[event]])");
    }
    if (listed ? !node.is_array_of_tables() : !node.is_table()) {
      source_.refuse(name, key.source(),
                     "\"" + name + "\" must be a section: write " +
                         (listed ? "[[" + name + "]]" : "[" + name + "]") + " on a line of its own");
    }
  }
}

void ScenarioReader::read_job(TomlSection section, const TomlSection& model, const TomlSection& data) {
  section.whole("global_batch", scenario_.global_batch, 1, billion);
  const bool by_rounds = section.whole("rounds", scenario_.rounds, 1, 1e7);
  if (by_rounds) scenario_.epochs = 0;
  section.whole("epochs", scenario_.epochs, 1, 1e6);
  // Where only rounds count there is one epoch, and all rounds are of one length.
  if (by_rounds && scenario_.epochs == 0)
    scenario_.samples_per_epoch = scenario_.global_batch * scenario_.rounds;
  section.whole("samples_per_epoch", scenario_.samples_per_epoch, 1, no_limit);
  section.whole("seed", scenario_.seed, 0, no_limit);
  section.text("sync", scenario_.sync);
  section.demand(is_sync(scenario_.sync), "sync",
                 "sync mode \"" + scenario_.sync + "\" does not exist: choose one of " + sync_choices());
  section.text("policy", scenario_.policy, sim::simulated_policies(extensions_.policies));
  read_training(section, model, data, extensions_, scenario_);
  section.finish();
}

void ScenarioReader::read_network(TomlSection section) {
  sim::NetworkOptions& network = scenario_.network;
  std::string recorded;
  const bool by_number = section.number("step_ms", network.step_ms, 0, billion);
  const bool by_run = section.text("recorded", recorded);
  section.demand(!by_number || !by_run, "recorded", "give step_ms or a recorded run: one of the two");
  if (by_run) network.step_ms = read_exchange_ms(beside(recorded));
  for (const bool of_links : {section.number("latency_ms", network.latency_ms, 0, billion),
                              section.number("bandwidth_gbps", network.bandwidth_gbps, 1e-6, billion),
                              section.number("model_mb", network.model_mb, 0, billion)}) {
    section.demand(!of_links || !(by_number || by_run), by_number ? "step_ms" : "recorded",
                   "the exchange is either a number (step_ms, or recorded) or follows from latency_ms, "
                   "bandwidth_gbps and model_mb: give one of the two");
  }
  section.demand(section.given("bandwidth_gbps") || !section.given("model_mb"), "model_mb",
                 "model_mb takes time on a link of bandwidth_gbps only: give that too");
  section.demand(section.given("model_mb") || !section.given("bandwidth_gbps"), "bandwidth_gbps",
                 "bandwidth_gbps is how fast model_mb go: give that too");
  section.whole("servers", scenario_.servers, 1, 64);
  section.number("heartbeat_s", scenario_.heartbeat_s, 0.001, 1e6);
  section.finish();
}

// Options go to the policies as texts; which there are they know themselves. All are looked at, so that
// --policy can choose.
void ScenarioReader::read_policies() {
  const toml::table* policies = source_.root()["policy"].as_table();
  if (policies == nullptr) return;
  for (auto&& [key, node] : *policies) {
    const std::string name(key.str());
    if (!node.is_table()) {
      source_.refuse("", key.source(),
                     steelyard::quoted(name) +
                         " in [policy] must be a section: write [policy.<policy>] above its options");
    }
    const TomlSection section = TomlSection::of(source_, "policy", name);
    const balancing::PolicyOptions options = section.options();
    const auto known = sim::simulated_policies(extensions_.policies);
    if (const auto trouble = policy_trouble(name, options, known, extensions_)) {
      if (trouble->option.empty()) source_.refuse("", key.source(), trouble->what);
      section.demand(false, trouble->option.c_str(), trouble->what);
    }
    scenario_.policy_options[name] = options;
  }
}

// Read before finish(), so that a slip in a key is told as that.
ScenarioReader::TimeKeys ScenarioReader::read_time_keys(TomlSection& section, sim::Device& device) {
  TimeKeys keys;
  keys.ways = int{section.numbers("time_ms", device.time_ms)} +
              int{section.number("samples_per_s", keys.samples_per_s, 1e-6, 1e12)} +
              int{section.text("profile", keys.profile)} + int{section.text("recorded", keys.recorded)};
  section.text("recorded_worker", keys.recorded_worker);
  section.text("trace", keys.trace);
  return keys;
}

void ScenarioReader::apply(const TimeKeys& keys, const TomlSection& section, sim::Device& device) const {
  section.demand(keys.ways == 1, "name",
                 "worker " + steelyard::quoted(device.name) +
                     ": give one of time_ms (a polynomial), samples_per_s, profile and recorded (files)");
  section.demand(!keys.recorded.empty() || keys.recorded_worker.empty(), "recorded_worker",
                 "recorded_worker says whose rounds of a recorded run: give recorded too");
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

void ScenarioReader::read_worker(TomlSection section) {
  sim::Device device;
  device.name = "worker-" + std::to_string(scenario_.workers.size());
  std::uint64_t count = 1;
  section.text("name", device.name, valid_name, name_expected());
  section.text("kind", device.kind, {"cpu", "gpu"});
  const TimeKeys times = read_time_keys(section, device);
  section.whole("max_batch", device.max_batch, 0, no_limit);
  section.number("noise", device.noise, 0, 1);
  section.number("memory_mb", device.memory_mb, 1, no_limit);
  const bool many = section.whole("count", count, 1, static_cast<double>(most_workers));
  section.finish();
  section.demand(device.memory_mb == 0 || device.kind == "cpu", "memory_mb",
                 "memory_mb is what CPU workers report: max_batch says what a GPU can hold");
  apply(times, section, device);
  section.demand(scenario_.workers.size() + count <= most_workers, "count",
                 "more than " + std::to_string(most_workers) + " workers");
  const std::string name = device.name;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (many) device.name = name + "-" + std::to_string(i);
    const bool is_new = named_.emplace(device.name, scenario_.workers.size()).second;
    section.demand(is_new, "name",
                   "two workers are called \"" + device.name + "\": give each a name of its own");
    scenario_.workers.push_back(device);
  }
}

void ScenarioReader::read_event(TomlSection section) {
  sim::Event event;
  std::string worker;
  if (section.text("worker", worker)) {
    std::vector<std::string> names;
    for (const sim::Device& device : scenario_.workers) names.push_back(device.name);
    const auto found = named_.find(worker);
    section.demand(found != named_.end(), "worker",
                   "no worker is called \"" + worker + "\"" + did_you_mean(worker, names));
    event.worker = found->second;
  }
  section.whole("from_round", event.from, 0, no_limit);
  section.whole("to_round", event.to, 0, no_limit);
  section.demand(event.from < event.to, "to_round",
                 "to_round must be behind from_round: it is the first without the event");
  const double most = billion;
  const std::uint64_t rounds = sim::count_rounds(scenario_);
  section.demand(event.from < rounds, "from_round",
                 "from_round = " + std::to_string(event.from) + " in [[event]]: the training has " +
                     std::to_string(rounds) + " rounds, 0 to " + std::to_string(rounds - 1) +
                     ": give an earlier one, or [job] more rounds or epochs");
  bool effect = section.number("add_ms", event.add_ms, 0, most);
  effect |= section.number("scale", event.scale, 1e-3, most);
  effect |= section.number("cpu", event.cpu, 1e-3, 1);
  effect |= read_memory(section, event);
  effect |= section.number("network", event.network, 1e-3, most);
  section.flag("kill", event.kill);
  section.flag("join", event.join);
  section.flag("cut", event.cut);
  section.flag("unforeseen", event.unforeseen);
  read_shape(section, event);
  section.finish();
  check_once(section, event, effect);
  const bool once = event.kill || event.join || event.cut, walks = event.shape == sim::Shape::random_walk;
  section.demand(
      effect || once || walks, "from_round",
      "this event does nothing: give add_ms, scale, cpu, memory, network, kill, join, cut or a random_walk");
  section.demand(!walks || !effect, "shape", "a random_walk is an effect of its own: give no other with it");
  section.demand(!event.unforeseen || effect || walks, "unforeseen",
                 "unforeseen means nothing for kill, join and cut: the oracle foresees none of them");
  scenario_.events.push_back(event);
}

// What is reported only, and only by some workers.
bool ScenarioReader::read_memory(TomlSection& section, sim::Event& event) const {
  if (!section.number("memory", event.memory, 1e-3, 1)) return false;
  const auto& workers = scenario_.workers;
  const bool told = event.worker
                        ? workers[*event.worker].memory_mb > 0
                        : std::ranges::any_of(workers, [](const auto& it) { return it.memory_mb > 0; });
  section.demand(told, "memory",
                 "memory is a share of what the machine has: give the worker memory_mb, or nobody is told");
  return true;
}

// kill, join and cut happen once: most of what shapes an effect means nothing to them.
void ScenarioReader::check_once(const TomlSection& section, const sim::Event& event, bool effect) {
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
                 "to_round means nothing for " + name + ": " +
                     (event.join ? "who has joined stays; an event with kill ends that"
                                 : "both ends live, and connect again at once") +
                     (effect ? ", and another effect needs an event of its own" : ""));
  section.demand(!event.join || event.from > 0, "join",
                 "who joins is not there before from_round: give from_round, of at least 1");
}

void ScenarioReader::read_shape(TomlSection& section, sim::Event& event) const {
  std::string shape = sim::shape_names().front();
  section.text("shape", shape, sim::shape_names());
  const auto& names = sim::shape_names();
  event.shape = static_cast<sim::Shape>(std::find(names.begin(), names.end(), shape) - names.begin());
  section.whole("period", event.period, 1, billion);
  section.whole("length", event.length, 1, billion);
  section.number("mean_gap", event.mean_gap, 1, billion);
  section.number("mean_length", event.mean_length, 1, billion);
  section.number("deviation", event.deviation, 0, 10);
  section.number("lowest", event.lowest, 1e-3, billion);
  section.number("highest", event.highest, 1e-3, billion);

  const auto may_belong = [&](const char* key, sim::Shape to) {
    section.demand(event.shape == to || !section.given(key), key,
                   std::string(key) + " means nothing for shape " + steelyard::quoted(shape));
  };
  const auto belongs = [&](const char* key, sim::Shape to) {
    may_belong(key, to);
    section.demand(event.shape != to || section.given(key), "shape",
                   "shape " + steelyard::quoted(shape) + " needs " + std::string(key));
  };
  belongs("period", sim::Shape::periodic);
  belongs("length", sim::Shape::periodic);
  belongs("mean_gap", sim::Shape::bursty);
  belongs("mean_length", sim::Shape::bursty);
  belongs("deviation", sim::Shape::random_walk);
  may_belong("lowest", sim::Shape::random_walk);
  may_belong("highest", sim::Shape::random_walk);
  section.demand(event.shape != sim::Shape::ramp || section.given("to_round"), "shape",
                 "shape \"ramp\" needs to_round: where it has grown to all of its effect");
  section.demand(event.lowest <= 1 && event.highest >= 1, "lowest",
                 "a walk begins at 1: lowest <= 1 <= highest");
}

}  // namespace

sim::Scenario parse_scenario(std::string_view text, const std::string& file, const Extensions& extensions) {
  const JobSource source(text, file, {});
  const std::filesystem::path path(file);
  // Until all is well messages call it by its file.
  sim::Scenario scenario = ScenarioReader(source, path.parent_path(), extensions).read(file);
  scenario.name = path.stem().string();
  return scenario;
}

sim::Scenario read_scenario(const std::string& path, const Extensions& extensions) {
  // Scenarios may be written by programs, and then are long.
  const InputKind kind{
      "scenario", 16,
      "check the name, or begin with a copy of examples/scenarios/lbb_table2.toml (steelyard "
      "help scenario lists all keys)"};
  return parse_scenario(read_input(path, kind), path, extensions);
}

}  // namespace steelyard
