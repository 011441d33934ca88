#include "app/report/run/run_record.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>

#include "app/config/hosts_file.h"
#include "app/config/job_file.h"
#include "app/config/job_source.h"
#include "app/config/prepare_job.h"
#include "app/report/terminal_text.h"
#include "core/error.h"
#include "core/json.h"
#include "core/record_parts.h"
#include "core/text.h"
#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

std::uint64_t count(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// Calls `take` for each line that is an object, and counts the others: the last line may be cut short.
template <class Take>
void each_line(std::string_view text, std::uint64_t& unreadable, const Take& take) {
  for_each_line(text, [&](std::string_view line) {
    const Json json = parse_json(line);
    if (!json.is_object()) {
      ++unreadable;
    } else {
      take(json);
    }
  });
}

void sort_workers(RunRecord& record) {
  std::vector<std::string> sorted = record.workers;
  std::vector<std::uint32_t> order(sorted.size()), place(sorted.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, natural_less, [&](std::uint32_t slot) { return record.workers[slot]; });
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted[i] = record.workers[order[i]];
  }
  record.workers = std::move(sorted);
  for (RunRound& round : record.rounds) {
    for (RunPart& part : round.parts) part.worker = place[part.worker];
  }
}

RunResult result_of(const std::string& text) {
  const Json json = parse_json(text);
  if (!json.is_object()) return {};
  return {true,
          text_at(json, "outcome"),
          text_at(json, "text"),
          text_at(json, "checkpoint"),
          number_at(json, "accuracy", -1),
          number_at(json, "seconds", -1),
          number_at(json, "samples_per_second", -1),
          number_at(json, "percent_of_ideal", -1),
          number_at(json, "test_loss", std::numeric_limits<double>::quiet_NaN()),
          error_in(json)};
}

namespace fs = std::filesystem;

constexpr std::size_t most_mb = 2048;  // of a file of lines

std::string text_of(const std::string& path, const std::string& what, bool needed) {
  std::error_code ignored;
  if (!needed && !fs::exists(path, ignored)) return "";
  return read_input(path, {what, most_mb, "give the directory of a run, such as runs/job-1", ExitCode::io});
}

std::string last_part(const std::string& path) {
  return fs::path(path + "/.").lexically_normal().parent_path().filename().string();
}

void take_job(ReportedRun& run) try {
  const JobFile file = parse_job(run.job, run.path + "/job.toml", {});
  const Job& job = file.job;
  run.name = job.name;
  run.policy = job.policy;
  run.sync = sync_text(job.sync);
  // An external model brings its data; the job's key has a default that means nothing then.
  if (job.model != external_model) run.data = job.data;
  run.about = job.model + (run.data.empty() ? "" : " on " + run.data) + ", " +
              std::to_string(job.global_batch) + " samples a batch, " + count_of(file.servers, "server") +
              ", mode " + run.sync + ", policy " + run.policy;
  run.terms.barrier = job.sync.has_versions();
  run.terms.grain = job.grain;
  run.epochs = job.epochs;
  run.rounds = job.rounds;
  run.seconds = job.seconds;
  run.mirrored_shards = job.replicas > 0 ? job.shards : 0;
  for (const WorkerSpec& it : file.worker_specs) {
    if (it.max_batch > 0) run.terms.most[it.name] = it.max_batch;
    const auto unless = [](const std::string& value, const char* usual) {
      return value == usual ? "" : value;
    };
    run.machines[it.name] = {{"device", it.device},
                             {"threads", it.threads},
                             {"samples that fit", it.max_batch > 0 ? std::to_string(it.max_batch) : ""},
                             {"precision", unless(it.precision, "float32")},
                             {"background", it.background ? "yes" : ""},
                             {"activations computed again", it.recompute ? "yes" : ""},
                             {"simulated slowdown", unless(it.simulate_slowdown, "1")},
                             {"simulated CPU share", unless(it.simulate_cpu_share, "1")}};
  }
} catch (const Failure& failure) {
  run.trouble = failure.what();
  // Rounds have a percent of ideal only if workers wait for each other.
  run.terms.barrier =
      std::ranges::any_of(run.record.rounds, [](const RunRound& it) { return it.percent_of_ideal >= 0; });
}

}  // namespace

double RunRound::slowest() const {
  double most = 0;
  for (const RunPart& part : parts) most = std::max(most, part.seconds);
  return most;
}

std::uint64_t RunRound::samples() const {
  std::uint64_t sum = 0;
  for (const RunPart& part : parts) sum += part.share;
  return sum;
}

// JSON stays in this file.
class RunReader::Lines {
 public:
  void read_round(const Json& line) {
    const double at = number_at(line, "at_ms", -1) / 1e3, seconds = number_at(line, "round_ms", -1) / 1e3;
    if (at < 0 || seconds < 0) return;
    if (starts_.empty() || at < last_at_) starts_.push_back(last_);  // a resumption: its clock starts at 0
    last_at_ = at;
    RunRound round;
    round.round = count(line, "round");
    round.epoch = count(line, "epoch");
    round.train = text_at(line, "purpose") != "evaluate";
    round.end = starts_.back() + at;
    round.begin = std::max(round.end - seconds, 0.0);
    const double none = std::numeric_limits<double>::quiet_NaN();
    round.loss = number_at(line, "loss", none);
    round.accuracy = number_at(line, "accuracy", none);
    round.percent_of_ideal = number_at(line, "percent_of_ideal", -1);
    round.error = error_in(line);
    add_parts(line, round);
    last_ = round.end;
    parts_ += round.parts.size() + 1;
    record_.rounds.push_back(std::move(round));
  }

  // A process writes notes before and after its line "first_round". The n-th such line belongs to the n-th
  // stretch of rounds.
  void read_event(const Json& line) {
    if (line.contains("began")) {
      record_.origins.push_back({text_at(line, "began"), text_at(line, "version"), text_at(line, "machine")});
      waiting_ = true;
      if (record_.origins.size() > 1) add_event("the run was resumed", started_, 0);
    } else if (line.contains("first_round")) {
      ++started_;
      waiting_ = false;
    } else if (line.contains("text")) {
      const double at = std::max(number_at(line, "at_ms", 0), 0.0) / 1e3;
      const bool placed = !waiting_ && started_ > 0;
      add_event(text_at(line, "text"), placed ? started_ - 1 : started_, placed ? at : 0);
    }
  }

  void forget(std::size_t most_parts) {
    if (parts_ <= most_parts) return;
    std::size_t kept = parts_;
    const auto old = [&](const RunRound& round) {
      if (!round.train || kept <= most_parts / 2) return false;
      kept -= round.parts.size() + 1;
      ++record_.left_out;
      record_.left_out_seconds += round.seconds();
      return true;
    };
    // Evaluations are usually few and show the whole run; if they are many, they go too.
    std::erase_if(record_.rounds, old);
    if (kept > most_parts / 2) {
      record_.rounds.erase(record_.rounds.begin(),
                           record_.rounds.begin() + static_cast<std::ptrdiff_t>(record_.rounds.size() / 2));
      kept = 0;
      for (const RunRound& round : record_.rounds) kept += round.parts.size() + 1;
    }
    parts_ = kept;
    if (events_.size() > most_events)
      events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(events_.size() / 2));
  }

  [[nodiscard]] RunRecord record() const {
    RunRecord record = record_;
    // A record may lack the events, but not the rounds.
    record.begun =
        std::ranges::any_of(record.rounds, &RunRound::train) && (record.origins.empty() || !waiting_);
    sort_workers(record);
    for (const Event& it : events_) {
      const bool known = it.process < starts_.size();
      record.events.push_back({known ? starts_[it.process] + it.at : last_, it.text});
    }
    std::ranges::stable_sort(record.events, {}, &RunEvent::at);
    return record;
  }

  RunRecord record_;  // without events

 private:
  static constexpr std::size_t most_events = 20'000;
  struct Event {
    std::string text;
    std::size_t process;  // index in starts_ of the clock of `at`
    double at;
  };
  void add_event(const std::string& text, std::size_t process, double at) {
    events_.push_back({text, process, at});
  }

  // -1 if the line has no such number.
  static float list_number(const Json& line, const char* list, std::size_t i) {
    const auto found = line.find(list);
    const bool known =
        found != line.end() && found->is_array() && i < found->size() && (*found)[i].is_number();
    return known ? (*found)[i].get<float>() : -1;
  }

  void add_parts(const Json& line, RunRound& round) {
    const Json none = Json::array();
    const Json &names = line.value("workers", none), &shares = line.value("shares", none),
               &times = line.value("compute_ms", none);
    if (!names.is_array() || !shares.is_array() || !times.is_array()) return;
    for (std::size_t i = 0; i < std::min({names.size(), shares.size(), times.size()}); ++i) {
      if (!names[i].is_string() || !shares[i].is_number_unsigned() || !times[i].is_number()) continue;
      if (shares[i] == 0U) continue;  // it rested
      const auto next = static_cast<std::uint32_t>(slots_.size());
      const auto [slot, fresh] = slots_.try_emplace(names[i].get<std::string>(), next);
      if (fresh) record_.workers.push_back(slot->first);
      round.parts.push_back({slot->second, shares[i].get<std::uint64_t>(), times[i].get<double>() / 1e3,
                             list_number(line, "cpu", i), list_number(line, "memory_mb", i)});
    }
  }

  std::vector<Event> events_;
  std::map<std::string, std::uint32_t> slots_;
  std::vector<double> starts_;  // of the processes that trained
  double last_ = 0, last_at_ = 0;
  bool waiting_ = true;      // the first round of the current process has not ended
  std::size_t started_ = 0;  // processes in events.jsonl with a first round
  std::size_t parts_ = 0;    // in record_; each round counts as one more
};

RunReader::RunReader() : lines_(std::make_unique<Lines>()) {}
RunReader::~RunReader() = default;

void RunReader::round_lines(std::string_view text) {
  each_line(text, lines_->record_.unreadable, [&](const Json& line) { lines_->read_round(line); });
}
void RunReader::event_lines(std::string_view text) {
  each_line(text, lines_->record_.unreadable, [&](const Json& line) { lines_->read_event(line); });
}
void RunReader::forget(std::size_t most_parts) { lines_->forget(most_parts); }
const RunRecord& RunReader::so_far() const { return lines_->record_; }
RunRecord RunReader::record() const { return lines_->record(); }

RunRecord run_record(std::string_view rounds, std::string_view events, const std::string& result) {
  RunReader reader;
  reader.round_lines(rounds);
  reader.event_lines(events);
  RunRecord record = reader.record();
  record.result = result_of(result);
  return record;
}

std::string short_path(const ReportedRun& run, const std::vector<ReportedRun>& among) {
  const std::string part = last_part(run.path);
  const auto same = std::ranges::count_if(
      among, [&](const ReportedRun& it) { return it.path != run.path && last_part(it.path) == part; });
  return same > 0 ? run.path : part;
}

ReportedRun reported_run(const std::string& path, const std::string& job, RunRecord record) {
  ReportedRun run;
  run.path = path;
  run.job = job;
  run.record = std::move(record);
  run.name = last_part(path);
  take_job(run);
  return run;
}

ReportedRun read_run(const std::string& path) {
  const std::string job = text_of(path + "/job.toml", "run", true);
  std::string rounds;
  const std::vector<std::string> parts = parts_of(path + "/rounds.jsonl");
  for (const std::string& part : parts) rounds += text_of(part, "rounds of a run", parts.size() == 1);
  return reported_run(path, job,
                      run_record(rounds, text_of(path + "/events.jsonl", "events of a run", false),
                                 text_of(path + "/result.json", "result of a run", false)));
}

}  // namespace steelyard
