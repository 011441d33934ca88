#include "app/report/live/live_run.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "app/report/page/page.h"
#include "app/report/run/run_page.h"
#include "app/report/run/status_text.h"
#include "core/json.h"
#include "core/text.h"

namespace steelyard {
namespace {

Json workers_json(const ReportedRun& run, const RunStatus& status) {
  Json workers = Json::array();
  for (std::size_t i = 0; i < status.finding.workers.size(); ++i) {
    const WorkerFinding& it = status.finding.workers[i];
    if (it.rounds == 0) continue;
    workers.push_back(
        {{"name", status.record.workers[i]},
         {"samples_a_round", it.samples / static_cast<double>(it.rounds)},
         {"samples_per_second", it.speed()},
         {"waiting",
          status.finding.barrier ? Json(it.waiting / std::max(status.finding.seconds, 1e-9)) : Json()}});
  }
  for (const auto& [name, why] : workers_without_rounds(run, status)) {
    workers.push_back({{"name", name}, {"samples_a_round", 0}, {"without_samples", why}});
  }
  return workers;
}

// The format escapes backslashes, quotes and newlines; other control characters are dropped.
std::string label(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) >= ' ') {
      result += c;
    }
  }
  return result;
}

// Counts in full, measured values with 12 digits.
std::string digits(double value) {
  if (std::trunc(value) == value) return number_text(value);
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 12).ptr};
}

class Text {
 public:
  void begin(const std::string& name, const std::string& type, const std::string& help) {
    name_ = "steelyard_" + name;
    text_ += "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n";
  }
  void sample(auto number, const std::string& labels = "", const std::string& ending = "") {
    const auto value = static_cast<double>(number);
    text_ += name_ + ending + (labels.empty() ? "" : "{" + labels + "}") + " " +
             (std::isfinite(value) ? digits(value) : "NaN") + "\n";
  }
  void one(const std::string& name, const std::string& type, const std::string& help, auto value) {
    begin(name, type, help);
    sample(value);
  }
  void known(const std::string& name, const std::string& help, double value) {
    if (std::isfinite(value) && value >= 0) one(name, "gauge", help, value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_, name_;
};

void round_seconds(Text& text, const RunCounters& it) {
  text.begin("round_seconds", "histogram", "Time of rounds of training.");
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < RunCounters::bounds.size(); ++i) {
    so_far += it.rounds_within[i];
    text.sample(so_far, "le=\"" + number_text(RunCounters::bounds[i]) + "\"", "_bucket");
  }
  text.sample(it.rounds, "le=\"+Inf\"", "_bucket");
  text.sample(it.seconds, "", "_sum");
  text.sample(it.rounds, "", "_count");
}

void by_worker(Text& text, const RunCounters& it, bool barrier) {
  const auto all = [&](const std::string& name, const std::string& type, const std::string& help,
                       auto WorkerCounters::*value) {
    if (it.workers.empty()) return;
    text.begin("worker_" + name, type, help);
    for (const auto& [worker, counters] : it.workers)
      text.sample(counters.*value, "worker=\"" + label(worker) + "\"");
  };
  all("rounds_total", "counter", "Rounds of training in which the worker computed.", &WorkerCounters::rounds);
  all("samples_total", "counter", "Samples of training that the worker computed.", &WorkerCounters::samples);
  all("computing_seconds_total", "counter", "Time in which the worker computed.", &WorkerCounters::computing);
  if (barrier)
    all("waiting_seconds_total", "counter",
        "Time in which the worker waited for the slowest worker of the round.", &WorkerCounters::waiting);
  all("share_samples", "gauge", "Samples of the last round that the worker computed; 0: it had none.",
      &WorkerCounters::share);
}

}  // namespace

LiveRun::LiveRun(std::string path, std::string job, std::size_t most_parts)
    : path_(std::move(path)), job_(std::move(job)), most_parts_(most_parts) {}

void LiveRun::round_lines(std::string_view text, double now) {
  const std::size_t before = reader_.so_far().rounds.size();
  reader_.round_lines(text);
  const RunRecord& record = reader_.so_far();
  for (std::size_t i = before; i < record.rounds.size(); ++i) {
    counters_.add(record.rounds[i], record.workers);
    if (record.rounds[i].train) last_round_ = now;
  }
  reader_.forget(most_parts_);
  ++changes_;
}

void LiveRun::event_lines(std::string_view text) {
  reader_.event_lines(text);
  ++changes_;
}

void LiveRun::ended(const std::string& result) {
  result_ = run_record("", "", result).result;
  ++changes_;
}

ReportedRun LiveRun::run() const {
  RunRecord record = reader_.record();
  record.result = result_;
  return reported_run(path_, job_, std::move(record));
}

Json LiveRun::document(double now) const {
  return live_document(run(), last_round_ > 0 ? std::max(now - last_round_, 0.0) : -1);
}

std::string LiveRun::status() const {
  const ReportedRun it = run();
  const RunStatus status = status_of(it);
  const std::string state = result_.known ? result_.outcome : "running";
  Json json = {{"format", 1},
               {"run", it.path},
               {"state", state},
               {"text", status_text(it, state)},
               {"epoch", status.epoch},
               {"round", status.round},
               {"done", known_or_null(status.done)},
               {"seconds_left", known_or_null(status.seconds_left)},
               {"samples_per_second", status.samples_per_second()},
               {"percent_of_ideal", known_or_null(100 * status.ideal())},
               {"accuracy", known_or_null(status.accuracy)},
               {"workers", workers_json(it, status)}};
  if (std::isfinite(status.test_loss)) json["test_loss"] = status.test_loss;
  add_error(json, status.error);
  return dump_json(json, 2) + "\n";
}

std::string LiveRun::metrics() const {
  const ReportedRun it = reported_run(path_, job_, {});
  return metrics_text(counters_, {it.name, it.policy, it.sync, it.terms.barrier}, last_round_);
}

WorkerCounters& RunCounters::counters_of(const std::string& name) {
  const bool room = workers.size() < most_workers || workers.contains(name);
  return workers[room ? name : others];
}

void RunCounters::add(const RunRound& it, const std::vector<std::string>& names) {
  if (!it.train) {
    ++evaluations;
    test_loss = it.loss;
    test_accuracy = it.accuracy;
    error = it.error;
    return;
  }
  const double slowest = it.slowest();
  ++rounds;
  ++rounds_within[static_cast<std::size_t>(std::ranges::lower_bound(bounds, it.seconds()) - bounds.begin())];
  samples += it.samples();
  seconds += it.seconds();
  exchange += std::max(it.seconds() - slowest, 0.0);
  loss = it.loss;
  accuracy = it.accuracy;
  ideal = it.percent_of_ideal < 0 ? -1 : it.percent_of_ideal / 100;
  epoch = it.epoch + 1;
  round = it.round + 1;
  for (auto& [name, of] : workers) of.share = 0;
  for (const RunPart& part : it.parts) {
    WorkerCounters& of = counters_of(names[part.worker]);
    ++of.rounds;
    of.samples += part.share;
    of.share += part.share;
    of.computing += part.seconds;
    of.waiting += slowest - part.seconds;
  }
}

std::string metrics_text(const RunCounters& it, const RunLabels& labels, double last_round) {
  Text text;
  text.begin("job_info", "gauge", "The job, its policy and its sync mode; always 1.");
  text.sample(1, "job=\"" + label(labels.job) + "\",policy=\"" + label(labels.policy) + "\",sync=\"" +
                     label(labels.sync) + "\"");
  round_seconds(text, it);
  if (labels.barrier)
    text.one("exchange_seconds_total", "counter",
             "Time of rounds beyond their slowest worker: exchange of parameters and gradients.",
             it.exchange);
  text.one("samples_total", "counter", "Samples of training of all workers.", it.samples);
  text.one("evaluations_total", "counter", "Evaluations on the test set.", it.evaluations);
  text.one("epoch", "gauge", "The epoch of the last round, counted from 1.", it.epoch);
  text.one("round", "gauge", "The last round, counted from 1.", it.round);
  text.known("loss", "Mean over the samples of the last round.", it.loss);
  text.known("accuracy_ratio", "Share of right answers in the last round.", it.accuracy);
  text.known("test_loss", "At the last evaluation.", it.test_loss);
  if (it.error.known()) {
    const bool squared = it.error.name == "RMSE";
    text.known(squared ? "test_rmse" : "test_mae",
               std::string(squared ? "Root mean squared" : "Mean absolute") +
                   " error at the last evaluation, in the units of the labels.",
               it.error.value);
  }
  text.known("test_accuracy_ratio", "Share of right answers at the last evaluation.", it.test_accuracy);
  text.known("ideal_ratio", "Speed of the last round, compared with its best split: 1 is ideal.", it.ideal);
  if (last_round > 0)
    text.one("last_round_timestamp_seconds", "gauge", "End of the last round, since 1970.", last_round);
  by_worker(text, it, labels.barrier);
  return text.take();
}

}  // namespace steelyard
