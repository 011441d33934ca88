#include "app/config/device_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "app/config/job_file.h"
#include "app/config/job_source.h"
#include "app/config/toml_section.h"
#include "core/device_name.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

constexpr std::size_t most_mb = 256;  // a run of a million rounds with a few workers

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  refuse_setup(place + ": " + what);
}

// Calls `take` with each line that is not empty, and its place.
void for_each_place(const std::string& path, const std::string& text,
                    const std::function<void(std::string_view, const std::string&)>& take) {
  std::size_t number = 0;
  for_each_line(text, [&](std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (!line.empty()) take(line, path + ":" + std::to_string(number));
  });
}

// ---- profiles

constexpr char profile_remedy[] =
    "write one with steelyard profile, as {\"steelyard_profile\": 1, \"alone\": [{\"samples\": 32, \"ms\": "
    "1.9}, "
    "...]}";

sim::MeasuredTime measured_time(const Json& point, const std::string& path, const std::string& list,
                                std::size_t number) {
  const auto positive = [&](const char* key) {
    const bool good = point.is_object() && point.contains(key) && point[key].is_number();
    const double value = good ? point[key].get<double>() : 0;
    if (!std::isfinite(value) || value <= 0) {
      refuse(path, "entry " + std::to_string(number) + " of \"" + list +
                       "\" is not the time of a batch: give a positive number as \"" + key + "\"");
    }
    return value;
  };
  return {positive("samples"), positive("ms")};
}

// ---- recordings

constexpr char recording_remedy[] = "give the rounds.jsonl of a run, as in runs/demo-1/rounds.jsonl";

// One training round of a run, as the recorder writes it (app/report/recorder.h).
struct RecordedRound {
  std::vector<std::string> workers;
  std::vector<double> shares, compute_ms;
  double round_ms = 0;
  std::uint64_t end = 0;  // position
};

std::vector<RecordedRound> read_rounds(const std::string& path) {
  std::vector<RecordedRound> rounds;
  const std::string text = read_input(path, {"recorded run", most_mb, recording_remedy});
  for_each_place(path, text, [&](std::string_view line, const std::string& place) {
    RecordedRound round;
    try {
      const Json json = parse_json_strictly(line);
      if (json.at("purpose") != "train") return;
      json.at("workers").get_to(round.workers);
      json.at("shares").get_to(round.shares);
      json.at("compute_ms").get_to(round.compute_ms);
      json.at("round_ms").get_to(round.round_ms);
      const auto end = json.find("end");
      if (end != json.end() && end->is_number_unsigned()) end->get_to(round.end);
    } catch (const Json::exception&) {
      refuse(place, std::string("is not a line of a rounds.jsonl: ") + recording_remedy);
    }
    if (round.shares.size() != round.workers.size() || round.compute_ms.size() != round.workers.size()) {
      refuse(place, "lacks a share or a time for some of its workers: give a rounds.jsonl as it was written");
    }
    rounds.push_back(std::move(round));
  });
  if (rounds.empty()) refuse(path, std::string("has no training round: ") + recording_remedy);
  return rounds;
}

// The time of a round beyond its longest compute time.
double exchange_ms(const RecordedRound& round) {
  const double longest = round.compute_ms.empty() ? 0 : std::ranges::max(round.compute_ms);
  return std::max(0.0, round.round_ms - longest);
}

// ---- traces

constexpr char trace_remedy[] =
    "start a trace with the line time_s,speed or time_s,cpu, followed by lines like 0,1";

void add_step(sim::SpeedTrace& trace, std::string_view line, const std::string& place) {
  const std::size_t comma = line.find(',');
  const auto at = number_in<double>(trimmed(line.substr(0, comma)));
  const auto level =
      comma == std::string_view::npos ? std::nullopt : number_in<double>(trimmed(line.substr(comma + 1)));
  if (!at || !level) refuse(place, "is not two numbers: write a time and a level, like 12.5,0.8");
  if (!trace.at_s.empty() && *at <= trace.at_s.back()) {
    refuse(place, "is not later than the line before: timestamps must increase from line to line");
  }
  const double most = trace.kind == sim::SpeedTrace::Kind::cpu ? 1 : 1e6;
  if (*level < 1e-6 || *level > most) {
    refuse(place, most == 1 ? "is not a share of a processor: give a cpu above 0 and at most 1"
                            : "is not a factor of speed: give a speed above 0, where 1 is the device's own");
  }
  trace.at_s.push_back(*at);
  trace.levels.push_back(*level);
}

namespace fs = std::filesystem;

std::string line(const std::string& key, const std::string& value) { return key + " = " + value + "\n"; }

std::string policy_section(const Job& job) {
  if (job.policy_options.empty()) return "";
  std::string text = "[policy." + job.policy + "]\n";
  for (const auto& [name, value] : job.policy_options) text += line(name, option_text(value));
  return text;
}

// The job file's section of a worker; the defaults, a CPU, for a worker that is not in the file.
WorkerSpec spec_of(const JobFile& job, const std::string& name) {
  const auto found = std::ranges::find(job.worker_specs, name, &WorkerSpec::name);
  return found == job.worker_specs.end() ? WorkerSpec{} : *found;
}

std::string worker_section(const JobFile& job, const std::string& name, const std::string& rounds) {
  const WorkerSpec spec = spec_of(job, name);
  const std::optional<Device> device = device_in(spec.device);
  const bool gpu = device && kind(*device) == DeviceKind::gpu;
  return "[[worker]]\n" + line("name", steelyard::toml_quoted(name)) + (gpu ? line("kind", "\"gpu\"") : "") +
         (spec.max_batch > 0 ? line("max_batch", std::to_string(spec.max_batch)) : "") +
         line("recorded", steelyard::toml_quoted(rounds));
}

void require_known(const std::vector<std::string>& without, const RecordedRun& record,
                   const std::string& run) {
  for (const std::string& name : without) {
    if (std::ranges::find(record.workers, name, &RecordedWorker::name) != record.workers.end()) continue;
    std::vector<std::string> names;
    for (const RecordedWorker& worker : record.workers) names.push_back(worker.name);
    refuse_setup("--without " + name + ": " + run + " has no such worker" + among(name, names));
  }
}

}  // namespace

std::vector<sim::MeasuredTime> read_profile(const std::string& path) {
  const std::string text = read_input(path, {"profile", most_mb, profile_remedy});
  Json json;
  try {
    json = parse_json_strictly(text);
  } catch (const Json::parse_error& trouble) {
    const auto line = 1 + std::count(text.begin(), text.begin() + std::min(trouble.byte, text.size()), '\n');
    refuse(path + ":" + std::to_string(line), std::string("is not JSON: ") + profile_remedy);
  } catch (const Json::out_of_range&) {
    refuse(path, std::string("has a number that is out of range: ") + profile_remedy);
  }
  if (!json.is_object() || json.value("steelyard_profile", Json()) != 1) {
    refuse(path, std::string("is not a profile of this release: ") + profile_remedy);
  }
  for (const char* list : {"together", "points", "alone"}) {
    const auto found = json.find(list);
    if (found == json.end() || !found->is_array() || found->empty()) continue;
    std::vector<sim::MeasuredTime> times;
    for (const Json& point : *found) times.push_back(measured_time(point, path, list, times.size()));
    return times;
  }
  refuse(path, std::string("has no times: ") + profile_remedy);
}

std::vector<sim::MeasuredTime> read_recording(const std::string& path, const std::string& worker) {
  std::vector<sim::MeasuredTime> times;
  std::vector<std::string> names;
  bool found = false;
  for (const RecordedRound& round : read_rounds(path)) {
    times.emplace_back();
    for (std::size_t i = 0; i < round.workers.size(); ++i) {
      if (std::ranges::find(names, round.workers[i]) == names.end()) names.push_back(round.workers[i]);
      if (round.workers[i] != worker || round.shares[i] <= 0 || round.compute_ms[i] <= 0) continue;
      times.back() = {round.shares[i], round.compute_ms[i]};
      found = true;
    }
  }
  if (!found) refuse(path, "has no round of worker \"" + worker + "\"" + among(worker, names));
  return times;
}

RecordedRun read_record(const std::string& path) {
  RecordedRun record;
  std::map<std::string, std::uint64_t> first;
  for (const RecordedRound& round : read_rounds(path)) {
    for (std::size_t i = 0; i < round.workers.size(); ++i)
      if (round.shares[i] > 0) first.try_emplace(round.workers[i], record.rounds);
    ++record.rounds;
    record.seconds += round.round_ms / 1000;
    record.exchange_ms += exchange_ms(round);
    record.epoch_samples = std::max(record.epoch_samples, round.end);
  }
  record.exchange_ms /= static_cast<double>(record.rounds);
  for (const auto& [name, round] : first) record.workers.push_back({name, round});
  return record;
}

double read_exchange_ms(const std::string& path) {
  std::vector<double> beyond;
  for (const RecordedRound& round : read_rounds(path)) beyond.push_back(exchange_ms(round));
  return median(beyond);
}

sim::SpeedTrace read_trace(const std::string& path) {
  sim::SpeedTrace trace;
  bool headed = false;
  const std::string text = read_input(path, {"trace", most_mb, trace_remedy});
  for_each_place(path, text, [&](std::string_view line, const std::string& place) {
    if (line.starts_with('#')) return;
    if (headed) return add_step(trace, line, place);
    if (line != "time_s,speed" && line != "time_s,cpu") refuse(place, trace_remedy);
    trace.kind = line == "time_s,cpu" ? sim::SpeedTrace::Kind::cpu : sim::SpeedTrace::Kind::speed;
    headed = true;
  });
  if (trace.empty()) refuse(path, std::string("has no steps: ") + trace_remedy);
  return trace;
}

Replay replay_of(const std::string& run, const std::vector<std::string>& without) {
  const std::string directory = fs::absolute(run).lexically_normal().string();
  const std::string rounds = directory + "/rounds.jsonl", path = directory + "/job.toml";
  const JobFile job =
      parse_job(read_input(path, {"job", 16, "give the directory of a run, as in runs/demo-1", ExitCode::io}),
                path, {});
  const SyncMode sync = job.job.sync;
  if (sync.is_local()) {
    refuse_setup(run + " took local steps (" + sync_text(sync) +
                 "): its rounds do not show how long a step takes: replay a run under bsp, ssp or asp");
  }
  const RecordedRun record = read_record(rounds);
  require_known(without, record, run);
  Replay replay{"", job.job.policy, sync_text(sync), record.seconds, record.rounds};
  replay.scenario =
      "# Replays " + run + " with `steelyard simulate` or `steelyard compare`.\n[job]\n" +
      line("global_batch", std::to_string(job.job.global_batch)) +
      line("samples_per_epoch", std::to_string(record.epoch_samples)) +
      line("rounds", std::to_string(record.rounds)) + line("seed", std::to_string(job.job.seed)) +
      line("sync", steelyard::toml_quoted(replay.sync)) +
      line("policy", steelyard::toml_quoted(replay.policy)) + policy_section(job.job) + "[network]\n" +
      line("servers", std::to_string(job.job.shards)) + line("step_ms", number_text(record.exchange_ms));
  std::string events;
  std::size_t there = 0;
  for (const RecordedWorker& worker : record.workers) {
    if (std::ranges::find(without, worker.name) != without.end()) continue;
    ++there;
    replay.scenario += worker_section(job, worker.name, rounds);
    if (worker.first_round == 0) continue;
    events += "[[event]]\n" + line("worker", steelyard::toml_quoted(worker.name)) + "join = true\n" +
              line("from_round", std::to_string(worker.first_round));
  }
  if (there == 0) refuse_setup("--without: no worker of " + run + " is left: leave fewer out");
  replay.scenario += events;
  return replay;
}

}  // namespace steelyard
