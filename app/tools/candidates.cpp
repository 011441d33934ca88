#include "app/tools/candidates.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/config/schema.h"
#include "app/launch/children.h"
#include "app/report/run_directory.h"
#include "app/report/terminal_text.h"
#include "app/tools/child_run.h"
#include "app/tools/profile_command.h"
#include "core/error.h"
#include "core/json.h"
#include "core/record_parts.h"
#include "core/text.h"
#include "sim/simulation.h"

namespace steelyard {

Trials::Trials(std::string directory, HostsFile hosts, std::string job, std::vector<std::string> options,
               const std::atomic<bool>& interrupted)
    : directory_(std::move(directory)),
      hosts_(std::move(hosts)),
      job_(std::move(job)),
      options_(std::move(options)),
      interrupted_(interrupted) {}

RunRecord Trials::run(const std::string& name, const std::vector<std::string>& workers, double seconds,
                      const std::vector<std::string>& settings) const {
  const std::string run = directory_ + "/" + name, hosts = run + ".toml", log = run + ".log";
  write_text(hosts, hosts_text(with_workers(hosts_, workers)));
  std::vector<std::string> words{"launch", hosts, job_, "--run-dir", run, "--quiet"};
  words.insert(words.end(), options_.begin(), options_.end());
  const std::vector<std::string> ours{"train.seconds=" + number_text(seconds), "train.evaluate_every=0",
                                      "train.checkpoint_every=0", "train.target_accuracy=0"};
  for (const auto& list : {settings, ours})
    for (const std::string& setting : list) words.insert(words.end(), {"--set", setting});
  const ChildEnd end = run_child(words, log, interrupted_);
  if (interrupted_) throw Failure(ExitCode::temporary, "interrupted: no plan was made");
  if (end.code() != 0) {
    throw Failure(end.code() > 0 ? static_cast<ExitCode>(end.code()) : ExitCode::failed,
                  "trial " + name + ": " +
                      (end.complaint.empty() ? "the cluster " + describe_status(end.status) : end.complaint) +
                      "; see " + log);
  }
  return run_record(read_parts(run + "/rounds.jsonl"), "", "");
}

namespace {

constexpr std::size_t most_in_all_sets = 6;
constexpr std::uint64_t rounds = 40;  // enough for shares to settle

double alone_rate(const MeasuredWorker& it, std::uint64_t batch) {
  const auto samples = static_cast<double>(batch);
  return samples / (sim::on_curve(it.curve, samples) + 2 * it.latency_ms + 2 * it.transfer_ms);
}

std::size_t place_of(const std::vector<MeasuredWorker>& measured, const std::string& name,
                     const std::string& option) {
  const auto found = std::ranges::find(measured, name, &MeasuredWorker::name);
  if (found != measured.end()) return static_cast<std::size_t>(found - measured.begin());
  std::vector<std::string> names;
  for (const MeasuredWorker& it : measured) names.push_back(it.name);
  refuse_usage(option + ": unknown worker" + among(name, names));
}

sim::Device device_of(const MeasuredWorker& it, double model_mb) {
  sim::Device device;
  device.name = it.name;
  device.measured = it.curve;
  device.noise = it.noise;
  device.max_batch = it.max_batch;
  device.latency_ms = it.latency_ms;
  // 0: transfers take no time. Mbit per ms are Gbit per s.
  device.bandwidth_gbps = it.transfer_ms > 0 ? 8 * model_mb / it.transfer_ms : 0;
  return device;
}

Candidate judged(const sim::Scenario& scenario, const PlanMode& mode) {
  const sim::Result result = sim::simulate(scenario, 1.0);  // the ideal time is not used
  Candidate it{mode, result.workers, 0, result.work().efficiency(), {}};
  double samples = 0, seconds = 0;
  for (std::size_t i = result.rounds.size() / 4; i < result.rounds.size(); ++i) {
    samples += static_cast<double>(result.rounds[i].samples);
    seconds += result.rounds[i].round_ms / 1000;
  }
  it.rate = seconds > 0 ? samples / seconds : 0;
  const std::vector<std::uint64_t>& shares = result.last_full().shares;
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i] == 0) it.resting.push_back(result.workers[i]);
  return it;
}

constexpr std::size_t most_workers = 10'000, most_points = 1000;
constexpr double to_deviation = 1.4826;  // standard deviation per median absolute deviation, for normal noise

struct Alone {
  sim::MeasuredTime point;
  double noise = 0, beyond_ms = 0;
};

// Medians over rounds of full length, without the first, in which the worker pulls all parameters and warms
// up.
Alone medians_of(const std::string& name, const RunRecord& run) {
  std::uint64_t full = 0;
  for (const RunRound& round : run.rounds)
    if (round.train) full = std::max(full, round.samples());
  std::vector<double> compute, beyond, off;
  bool first = true;
  for (const RunRound& round : run.rounds) {
    if (!round.train || round.samples() != full || full == 0) continue;
    if (std::exchange(first, false)) continue;
    compute.push_back(1000 * round.slowest());
    beyond.push_back(std::max(0.0, 1000 * (round.seconds() - round.slowest())));
  }
  if (compute.empty()) {
    throw Failure(ExitCode::failed,
                  "worker '" + name +
                      "' did not complete two full rounds in its trial: give more --seconds, "
                      "or a smaller train.batch");
  }
  const double ms = median(compute);
  for (const double it : compute) off.push_back(std::abs(it / ms - 1));
  return {{static_cast<double>(full), ms}, to_deviation * median(off), median(beyond)};
}

constexpr char remedy[] = "give the measured.json of an earlier `steelyard plan`, or leave --measured out";

double number(const Json& json, const char* key) {
  const double value = json.at(key).get<double>();
  if (!std::isfinite(value) || value < 0) throw std::out_of_range(std::string(key) + " is below 0");
  return value;
}

}  // namespace

const std::vector<PlanMode>& plan_modes() {
  static const std::vector<PlanMode> modes{{"bsp", false}, {"flexrr", false}, {"diloco:64", true}};
  return modes;
}

std::vector<std::string> settings_of(const PlanMode& mode) {
  std::vector<std::string> settings{"cluster.sync=" + mode.sync, "cluster.policy=steelyard"};
  if (mode.coded)
    settings.insert(settings.end(), {"cluster.push_encoding=int4", "cluster.pull_encoding=int4"});
  return settings;
}

AddedWorker parse_added(const std::string& text) {
  const std::size_t equals = text.find('='), star = text.rfind('*');
  const bool fast = equals != std::string::npos && star != std::string::npos && star > equals;
  AddedWorker it{text.substr(0, equals), "", 1};
  if (equals != std::string::npos) it.like = text.substr(equals + 1, fast ? star - equals - 1 : star);
  const auto speed = fast ? number_in<double>(text.substr(star + 1)) : std::optional<double>(1);
  if (!is_plain_name(it.name) || it.like.empty() || !speed || *speed < 1e-3 || *speed > 1e3) {
    refuse_usage("--add " + text +
                 ": give a new name, an existing worker, and the speed relative to it (0.001 to 1000), as in "
                 "big=half*2.5");
  }
  it.speed = *speed;
  return it;
}

void add_worker(std::vector<MeasuredWorker>& measured, const AddedWorker& added) {
  MeasuredWorker it = measured[place_of(measured, added.like, "--add " + added.name + "=" + added.like)];
  if (std::ranges::find(measured, added.name, &MeasuredWorker::name) != measured.end()) {
    refuse_usage("--add " + added.name + ": a worker has this name already: give a new name");
  }
  it.name = added.name;
  for (sim::MeasuredTime& point : it.curve) point.ms /= added.speed;
  measured.push_back(std::move(it));
}

std::vector<std::vector<std::size_t>> worker_sets(const std::vector<MeasuredWorker>& measured,
                                                  std::uint64_t batch) {
  std::vector<std::vector<std::size_t>> sets;
  if (measured.size() <= most_in_all_sets) {
    for (std::size_t bits = 1; bits < std::size_t{1} << measured.size(); ++bits) {
      sets.emplace_back();
      for (std::size_t i = 0; i < measured.size(); ++i)
        if ((bits >> i & 1) != 0) sets.back().push_back(i);
    }
    return sets;
  }
  std::vector<std::size_t> order(measured.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return alone_rate(measured[i], batch); });
  for (std::size_t count = 1; count <= order.size(); ++count) {
    sets.emplace_back(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(sets.back());
  }
  return sets;
}

double megabytes(const Job& job) {
  std::uint64_t floats = 0;
  for (const Range& range : job.layout.ranges) floats += range.end - range.begin;
  return 4e-6 * static_cast<double>(floats);
}

sim::Scenario scenario_of(const Job& job, const std::vector<MeasuredWorker>& measured,
                          const std::vector<std::size_t>& workers, const PlanMode& mode) {
  sim::Scenario scenario;
  scenario.name = "plan";
  scenario.global_batch = job.global_batch;
  scenario.grain = job.grain;
  scenario.samples_per_epoch = job.train_samples;
  scenario.epochs = 0;
  scenario.rounds = rounds * parse_sync(mode.sync).batches();
  scenario.seed = job.seed;
  scenario.sync = mode.sync;
  scenario.servers = job.shards;
  scenario.network.model_mb = megabytes(job);
  scenario.network.push_encoding = mode.coded ? FloatCode::int4 : job.push_encoding;
  scenario.network.pull_encoding = mode.coded ? FloatCode::int4 : job.pull_encoding;
  for (const std::size_t i : workers) scenario.workers.push_back(device_of(measured[i], megabytes(job)));
  return scenario;
}

double predicted_rate(const Job& job, const std::vector<MeasuredWorker>& measured,
                      const std::vector<std::size_t>& workers, const PlanMode& mode) {
  return judged(scenario_of(job, measured, workers, mode), mode).rate;
}

std::vector<Candidate> ranked_candidates(const Job& job, const std::vector<MeasuredWorker>& measured,
                                         const std::vector<PlanMode>& modes,
                                         const std::function<bool()>& interrupted) {
  std::vector<Candidate> all;
  for (const std::vector<std::size_t>& workers : worker_sets(measured, job.global_batch)) {
    for (const PlanMode& mode : modes) {
      if (interrupted && interrupted()) break;
      const SyncMode sync = parse_sync(mode.sync);
      if (!sync_trouble(sync, workers.size()).empty() || (sync.steals_work && workers.size() == 1)) continue;
      all.push_back(judged(scenario_of(job, measured, workers, mode), mode));
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &Candidate::rate);
  return all;
}

MeasuredWorker measured_worker(const std::string& name, const RunRecord& whole, const RunRecord& coded,
                               double coded_share) {
  const Alone a = medians_of(name, whole), b = medians_of(name, coded);
  MeasuredWorker it{name, sim::as_curve({a.point, b.point}), std::max(a.noise, b.noise)};
  const double transfer = (a.beyond_ms - b.beyond_ms) / (2 * (1 - coded_share));
  it.transfer_ms = std::clamp(transfer, 0.0, a.beyond_ms / 2);
  it.latency_ms = a.beyond_ms / 2 - it.transfer_ms;
  return it;
}

double steady_rate(const RunRecord& run) {
  std::vector<const RunRound*> rounds;
  for (const RunRound& round : run.rounds)
    if (round.train) rounds.push_back(&round);
  double samples = 0, seconds = 0;
  for (std::size_t i = std::min(rounds.size() - 1, (rounds.size() + 3) / 4); i < rounds.size(); ++i) {
    samples += static_cast<double>(rounds[i]->samples());
    seconds += rounds[i]->seconds();
  }
  return seconds > 0 ? samples / seconds : 0;
}

std::string profile_ms_of(const std::vector<MeasuredWorker>& measured,
                          const std::vector<std::string>& workers) {
  std::string text;
  for (const MeasuredWorker& it : measured) {
    if (std::ranges::find(workers, it.name) == workers.end()) continue;
    std::vector<ProfilePoint> points;
    for (const sim::MeasuredTime& time : it.curve)
      points.push_back({static_cast<std::uint64_t>(time.samples), time.ms, 0});
    const ProfileLine line = profile_line(points);
    if (line.constant + line.per_sample <= 0) continue;
    text +=
        printed("%s%s: %.6g %.6g", text.empty() ? "" : "; ", it.name.c_str(), line.constant, line.per_sample);
  }
  return text;
}

std::string measurements_text(const std::vector<MeasuredWorker>& workers) {
  Json list = Json::array();
  for (const MeasuredWorker& it : workers) {
    Json curve = Json::array();
    for (const sim::MeasuredTime& point : it.curve)
      curve.push_back({{"samples", point.samples}, {"ms", point.ms}});
    list.push_back({{"name", it.name},
                    {"curve", curve},
                    {"noise", it.noise},
                    {"latency_ms", it.latency_ms},
                    {"transfer_ms", it.transfer_ms}});
  }
  return dump_json(Json{{"steelyard_measurements", 1}, {"workers", list}}, 1) + "\n";
}

std::vector<MeasuredWorker> parse_measurements(const std::string& text, const std::string& place) {
  try {
    const Json json = parse_json_strictly(text);
    if (json.at("steelyard_measurements") != 1) throw std::out_of_range("written by another release");
    const Json& list = json.at("workers");
    if (list.empty() || list.size() > most_workers) throw std::out_of_range("no workers, or too many");
    std::vector<MeasuredWorker> workers;
    for (const Json& entry : list) {
      MeasuredWorker it{entry.at("name").get<std::string>(),
                        {},
                        number(entry, "noise"),
                        number(entry, "latency_ms"),
                        number(entry, "transfer_ms")};
      const Json& curve = entry.at("curve");
      if (curve.empty() || curve.size() > most_points) throw std::out_of_range("no curve, or too long a one");
      for (const Json& point : curve) it.curve.push_back({number(point, "samples"), number(point, "ms")});
      for (const sim::MeasuredTime& point : it.curve)
        if (point.samples <= 0 || point.ms <= 0) throw std::out_of_range("a time or batch of 0");
      it.curve = sim::as_curve(it.curve);
      workers.push_back(std::move(it));
    }
    return workers;
  } catch (const std::exception& trouble) {
    refuse_setup(place + ": is not a file of measurements (" + trouble.what() + "): " + remedy);
  }
}

}  // namespace steelyard
