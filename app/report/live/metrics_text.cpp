#include "app/report/live/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/text.h"

namespace steelyard {
namespace {

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

std::string pair_of(const std::string& name, const std::string& value) {
  return name + "=\"" + label(value) + "\"";
}

// Counts in full, measured values with 12 digits.
std::string digits(double value) {
  if (std::trunc(value) == value) return number_text(value);
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 12).ptr};
}

// All samples of a family stand together, whichever run they are of.
class Families {
 public:
  // Further samples have these labels, before their own.
  void labels(std::string common) { common_ = std::move(common); }

  void begin(const std::string& name, const std::string& type, const std::string& help) {
    name_ = "steelyard_" + name;
    const auto found = std::ranges::find(families_, name_, &Family::name);
    at_ = static_cast<std::size_t>(found - families_.begin());
    if (found == families_.end())
      families_.push_back({name_, "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n"});
  }
  void sample(auto number, const std::string& labels = "", const std::string& ending = "") {
    const auto value = static_cast<double>(number);
    const std::string all = common_ + (common_.empty() || labels.empty() ? "" : ",") + labels;
    families_[at_].text += name_ + ending + (all.empty() ? "" : "{" + all + "}") + " " +
                           (std::isfinite(value) ? digits(value) : "NaN") + "\n";
  }
  void one(const std::string& name, const std::string& type, const std::string& help, auto value) {
    begin(name, type, help);
    sample(value);
  }
  void known(const std::string& name, const std::string& help, double value) {
    if (std::isfinite(value) && value >= 0) one(name, "gauge", help, value);
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const Family& it : families_) all += it.text;
    return all;
  }

 private:
  struct Family {
    std::string name, text;
  };
  std::vector<Family> families_;
  std::string common_, name_;
  std::size_t at_ = 0;
};

void add_round_seconds(Families& text, const RunCounters& it) {
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

void add_workers(Families& text, const RunCounters& it, bool barrier) {
  const auto all = [&](const std::string& name, const std::string& type, const std::string& help,
                       auto WorkerCounters::*value) {
    if (it.workers.empty()) return;
    text.begin("worker_" + name, type, help);
    for (const auto& [worker, counters] : it.workers) text.sample(counters.*value, pair_of("worker", worker));
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

void add_state(Families& text, const RunMetrics& run) {
  text.begin("job_state", "gauge", "1 for the state of the job, 0 for the others.");
  for (const RunState it : all_run_states)
    text.sample(it == run.state.state ? 1 : 0, pair_of("state", name(it)));
  text.begin("job_state_info", "gauge", "The state of the job and its reason; always 1.");
  text.sample(1, pair_of("state", name(run.state.state)) + "," + pair_of("reason", run.state.reason));
  text.one("idle_workers", "gauge", "Workers in the job that got no samples in the last rounds.",
           run.idle_workers);
  if (run.shards_without_mirror)
    text.one("shards_without_mirror", "gauge",
             "Shards whose server has no filled mirror: its loss ends the job.", *run.shards_without_mirror);
}

void add_run(Families& text, const RunMetrics& run, const std::string& job) {
  const RunCounters& it = run.counters;
  text.begin("job_info", "gauge", "The job, its policy and its sync mode; always 1.");
  text.sample(1, job + pair_of("policy", run.policy) + "," + pair_of("sync", run.sync));
  add_state(text, run);
  add_round_seconds(text, it);
  if (run.barrier)
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
  if (run.last_round > 0)
    text.one("last_round_timestamp_seconds", "gauge", "End of the last round, since 1970.", run.last_round);
  add_workers(text, it, run.barrier);
}

}  // namespace

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

std::string metrics_text(const RunMetrics& run) {
  Families text;
  add_run(text, run, pair_of("job", run.job) + ",");
  return text.text();
}

std::string metrics_text(const std::vector<RunMetrics>& runs) {
  Families text;
  for (const RunMetrics& run : runs) {
    text.labels(pair_of("job", run.job) + "," + pair_of("run", run.run));
    add_run(text, run, "");
  }
  return text.text();
}

}  // namespace steelyard
