#include "cli/scenario_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/job_source.h"
#include "cli/near_match.h"
#include "cli/toml_text.h"
#include "core/error.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

constexpr std::streamsize longest_file = 16 << 20;  // bytes; scenarios may be written by programs
constexpr double billion = 1e9, no_limit = 1e15;
constexpr std::uint64_t most_workers = 50'000;

// One section of the file. Whatever is asked for is known; finish() refuses the rest.
class Section {
 public:
  Section(const JobSource& source, std::string title, const toml::table& table)
      : source_(source), title_(std::move(title)), table_(table) {}

  bool number(const char* key, double& into, double least, double most) {
    const toml::node* node = find(key);
    if (node == nullptr) return false;
    const auto value = node->value<double>();
    if (!value || !node->is_number() || !std::isfinite(*value) || *value < least || *value > most) {
      refuse(*node, key, "give a number from " + number_text(least) + upper(most));
    }
    into = *value;
    return true;
  }
  bool whole(const char* key, std::uint64_t& into, double least, double most) {
    const toml::node* node = find(key);
    if (node == nullptr) return false;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || static_cast<double>(*value) < least || static_cast<double>(*value) > most) {
      refuse(*node, key, "give a whole number from " + number_text(least) + upper(most));
    }
    into = static_cast<std::uint64_t>(*value);
    return true;
  }
  bool text(const char* key, std::string& into, const std::vector<std::string>& choices = {}) {
    const toml::node* node = find(key);
    if (node == nullptr) return false;
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty()) refuse(*node, key, "give a text in quotes");
    if (!choices.empty() && std::find(choices.begin(), choices.end(), *value) == choices.end()) {
      refuse(*node, key,
             "there is no such" + did_you_mean(*value, choices) + " (there are: " + joined(choices) + ")");
    }
    into = *value;
    return true;
  }
  void flag(const char* key, bool& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<bool>();
    if (!value) refuse(*node, key, "give true or false");
    into = *value;
  }
  bool numbers(const char* key, std::vector<double>& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return false;
    const toml::array* list = node->as_array();
    if (list == nullptr || list->empty() || list->size() > 16) {
      refuse(*node, key, "give a list of 1 to 16 numbers, as in [5.9, 0.59]");
    }
    into.clear();
    for (const toml::node& it : *list) {
      const auto value = it.is_number() ? it.value<double>() : std::nullopt;
      if (!value || !std::isfinite(*value)) refuse(*node, key, "give numbers only, as in [5.9, 0.59]");
      into.push_back(*value);
    }
    return true;
  }

  [[nodiscard]] bool given(const char* key) const { return table_.contains(key); }
  // A rule that joins keys is broken: `key`, or where it is not given the section, is where to look.
  void demand(bool holds, const char* key, const std::string& what) const {
    if (holds) return;
    const toml::node* node = table_.get(key);
    source_.refuse("", node != nullptr ? node->source() : table_.source(), what);
  }
  void finish() const {
    for (auto&& [name, node] : table_) {
      const std::string key(name.str());
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      source_.refuse("", name.source(),
                     "unknown key \"" + key + "\" in " + title_ + did_you_mean(key, known_) +
                         " (there are: " + joined(known_) + ")");
    }
  }

 private:
  const toml::node* find(const char* key) {
    known_.emplace_back(key);
    return table_.get(key);
  }
  static std::string upper(double most) { return most < no_limit ? " to " + number_text(most) : " on"; }
  [[noreturn]] void refuse(const toml::node& node, const char* key, const std::string& what) const {
    source_.refuse("", node.source(), std::string(key) + " = " + shown(node) + " in " + title_ + ": " + what);
  }

  const JobSource& source_;
  const std::string title_;
  const toml::table& table_;
  std::vector<std::string> known_;
};

class ScenarioReader {
 public:
  explicit ScenarioReader(const JobSource& source) : source_(source) {}

  sim::Scenario read(const std::string& name) {
    scenario_.name = name;
    check_sections();
    const toml::table none;
    const auto section = [&](const char* title) {
      const toml::table* table = source_.root()[title].as_table();
      return Section(source_, "[" + std::string(title) + "]", table != nullptr ? *table : none);
    };
    read_job(section("job"));
    read_network(section("network"));
    read_policies();
    for_each("worker", [&](Section it) { read_worker(std::move(it)); });
    for_each("event", [&](Section it) { read_event(std::move(it)); });
    sim::check_scenario(scenario_);
    return std::move(scenario_);
  }

 private:
  void check_sections() const;
  void read_job(Section section);
  void read_network(Section section);
  void read_policies();
  void read_worker(Section section);
  void read_event(Section section);
  void read_shape(Section& section, sim::Event& event) const;

  template <class Read>
  void for_each(const char* name, const Read& read) {
    const toml::array* all = source_.root()[name].as_array();
    if (all == nullptr) return;
    for (const toml::node& node : *all)
      read(Section(source_, "[[" + std::string(name) + "]]", *node.as_table()));
  }

  const JobSource& source_;
  sim::Scenario scenario_;
  std::map<std::string, std::size_t> named_;  // workers, by name
};

void ScenarioReader::check_sections() const {
  const std::vector<std::string> known{"job", "network", "policy", "worker", "event"};
  for (auto&& [key, node] : source_.root()) {
    const std::string name(key.str());
    const bool listed = name == "worker" || name == "event";
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      source_.refuse(name, key.source(),
                     "unknown section or key \"" + name + "\"" + did_you_mean(name, known) +
                         " (there are: [job], [network], [policy.NAME], [[worker]], [[event]])");
    }
    if (listed ? !node.is_array_of_tables() : !node.is_table()) {
      source_.refuse(name, key.source(),
                     "\"" + name + "\" must be a section: write " +
                         (listed ? "[[" + name + "]]" : "[" + name + "]") + " on a line of its own");
    }
  }
}

void ScenarioReader::read_job(Section section) {
  section.whole("global_batch", scenario_.global_batch, 1, billion);
  const bool by_rounds = section.whole("rounds", scenario_.rounds, 1, 1e7);
  if (by_rounds) scenario_.epochs = 0;
  section.whole("epochs", scenario_.epochs, 1, 1e6);
  // Where only rounds count there is one epoch, and all rounds are of one length.
  if (by_rounds && scenario_.epochs == 0)
    scenario_.samples_per_epoch = scenario_.global_batch * scenario_.rounds;
  section.whole("samples_per_epoch", scenario_.samples_per_epoch, 1, no_limit);
  section.whole("seed", scenario_.seed, 0, no_limit);
  section.text("sync", scenario_.sync, sim::sync_modes());
  section.text("policy", scenario_.policy, sim::simulated_policies());
  section.finish();
}

void ScenarioReader::read_network(Section section) {
  sim::NetworkOptions& network = scenario_.network;
  section.number("step_ms", network.step_ms, 0, billion);
  section.number("latency_ms", network.latency_ms, 0, billion);
  section.number("bandwidth_gbps", network.bandwidth_gbps, 1e-6, billion);
  section.number("model_mb", network.model_mb, 0, billion);
  std::uint64_t servers = scenario_.servers;
  section.whole("servers", servers, 1, 64);
  scenario_.servers = static_cast<std::uint32_t>(servers);
  section.number("heartbeat_s", scenario_.heartbeat_s, 0.001, 1e6);
  section.finish();
}

// Options go to the policies as texts; which there are they know themselves.
void ScenarioReader::read_policies() {
  const toml::table* policies = source_.root()["policy"].as_table();
  if (policies == nullptr) return;
  for (auto&& [key, node] : *policies) {
    const std::string name(key.str());
    const std::vector<std::string> known = sim::simulated_policies();
    if (std::find(known.begin(), known.end(), name) == known.end() || !node.is_table()) {
      source_.refuse("", key.source(),
                     "no policy is called \"" + name + "\"" + did_you_mean(name, known) +
                         " (there are: " + joined(known) + ")");
    }
    for (auto&& [option, value] : *node.as_table()) {
      const auto text = value.value_exact<std::string>();
      const bool single = !value.is_table() && !value.is_array();
      if (!single) source_.refuse("", option.source(), "give a text, a number, true or false");
      scenario_.policy_options[name][std::string(option.str())] = text ? *text : shown(value);
    }
  }
}

void ScenarioReader::read_worker(Section section) {
  sim::Device device;
  device.name = "worker-" + std::to_string(scenario_.workers.size());
  std::uint64_t count = 1;
  double samples_per_s = 0;
  section.text("name", device.name);
  section.text("kind", device.kind, {"cpu", "gpu"});
  const bool by_curve = section.numbers("time_ms", device.time_ms);
  const bool by_speed = section.number("samples_per_s", samples_per_s, 1e-6, 1e12);
  section.whole("max_batch", device.max_batch, 0, no_limit);
  section.number("noise", device.noise, 0, 1);
  const bool many = section.whole("count", count, 1, static_cast<double>(most_workers));
  section.finish();
  section.demand(
      by_curve != by_speed, "samples_per_s",
      "worker \"" + device.name + "\": give time_ms, a polynomial, or samples_per_s: one of the two");
  if (by_speed) device.time_ms = {0, 1000 / samples_per_s};
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

void ScenarioReader::read_event(Section section) {
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
  bool effect = section.number("add_ms", event.add_ms, 0, most);
  effect |= section.number("scale", event.scale, 1e-3, most);
  effect |= section.number("cpu", event.cpu, 1e-3, 1);
  effect |= section.number("network", event.network, 1e-3, most);
  section.flag("kill", event.kill);
  section.flag("join", event.join);
  section.flag("cut", event.cut);
  section.flag("unforeseen", event.unforeseen);
  read_shape(section, event);
  section.finish();
  const bool once = event.kill || event.join || event.cut;
  section.demand(!once || event.worker, "worker", "kill, join and cut need a worker: name it");
  const bool walks = event.shape == sim::Shape::random_walk;
  section.demand(
      effect || once || walks, "from_round",
      "this event does nothing: give add_ms, scale, cpu, network, kill, join, cut or a random_walk");
  section.demand(!walks || !(effect || once), "shape",
                 "a random_walk is an effect of its own: give no other with it");
  scenario_.events.push_back(event);
}

void ScenarioReader::read_shape(Section& section, sim::Event& event) const {
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

  const auto belongs = [&](const char* key, sim::Shape to) {
    section.demand(event.shape == to || !section.given(key), key,
                   std::string(key) + " means nothing for shape " + steelyard::quoted(shape));
    section.demand(event.shape != to || section.given(key), "shape",
                   "shape " + steelyard::quoted(shape) + " needs " + std::string(key));
  };
  belongs("period", sim::Shape::periodic);
  belongs("length", sim::Shape::periodic);
  belongs("mean_gap", sim::Shape::bursty);
  belongs("mean_length", sim::Shape::bursty);
  belongs("deviation", sim::Shape::random_walk);
  section.demand(event.shape != sim::Shape::ramp || section.given("to_round"), "shape",
                 "shape \"ramp\" needs to_round: where it has grown to all of its effect");
  section.demand(event.lowest <= 1 && event.highest >= 1, "lowest",
                 "a walk begins at 1: lowest <= 1 <= highest");
}

}  // namespace

sim::Scenario parse_scenario(std::string_view text, const std::string& file) {
  const JobSource source(text, file, {});
  return ScenarioReader(source).read(std::filesystem::path(file).stem().string());
}

sim::Scenario read_scenario(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(longest_file) + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  // A directory opens, and then cannot be read.
  if (!in.is_open() || in.bad()) {
    throw Failure(ExitCode::configuration,
                  path +
                      ": cannot be read: check the name, or begin with a copy of "
                      "examples/scenarios/lbb_table2.toml (steelyard help scenario lists "
                      "all keys)");
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.gcount() > longest_file) {
    throw Failure(ExitCode::configuration, path + ": is no scenario: it has more than 16 MB");
  }
  return parse_scenario(text, path);
}

std::string describe_scenario() {
  return R"(A scenario is a TOML file: a cluster of formulas, and a job for it. Rounds count from 0.

[job]                      what is done
  global_batch = 512         samples in a round, over all workers
  samples_per_epoch = 50000  left out beside rounds: all rounds are one epoch
  epochs = 1                 or rounds = 200; with both, whichever is over first
  seed = 1                   of all that is random
  sync = "bsp"               when a round is over
  policy = "steelyard"       who divides the batch; also "oracle", which knows the true curves
[policy.lbb]               options of a policy, as in a job file
[network]                  how long the exchange takes
  step_ms = 0                so long in every round; or
  latency_ms = 0             of every message, and
  bandwidth_gbps = 0         of each worker's link; 0: transfers take no time
  model_mb = 0               millions of bytes that go each way in a round
  servers = 1                parts of the model
  heartbeat_s = 0.5          seconds between signs of life; left out: longer for more than 100 workers
[[worker]]                 one for each
  name = "worker-0"
  count = 1                  so many of them: NAME-0, NAME-1, ...
  kind = "cpu"               or "gpu"; policies that read CPU shares see those of CPU workers
  time_ms = [5.9, 0.593]     polynomial in the batch size, low order first; or
  samples_per_s = 1600
  max_batch = 0              samples that fit its memory at once; 0: no limit
  noise = 0                  relative standard deviation of one compute time
[[event]]                  what disturbs it
  worker = "worker-0"        left out: all, each with draws of its own
  from_round = 0             the first with it
  to_round = 65              the first without it; left out: it stays
  add_ms = 50                to the time of every batch
  scale = 2.0                times the worker's own time
  cpu = 0.3                  share of it left by a co-tenant: its own time is divided by that
  network = 3.0              times its exchange
  kill = true                dies in from_round; comes back for to_round if that is given
  join = true                is not there before from_round
  cut = true                 its connections break, once
  unforeseen = true          the oracle does not know of it: it counts as noise
  shape = "step"             all of it from from_round to to_round; or
          "ramp"               grows from from_round to to_round, and stays
          "periodic"           period = 80, length = 40: so many rounds of every period
          "bursty"             mean_gap = 40, mean_length = 30: random rounds without and with it
          "random_walk"        deviation = 0.02, lowest = 0.25, highest = 4: the time is multiplied by a walk
)";
}

}  // namespace steelyard
