#include "app/report/recorder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/report/output_file.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "protocol/archive.h"
#include "protocol/machine.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard {
namespace {

constexpr std::size_t longest_note = 4096;  // bytes

// Rounded to microseconds, the precision of the measurements.
double in_ms(double seconds) { return std::round(seconds * 1e6) / 1e3; }

// False if the workers of a round were lost after their pushes and before their reports: its loss and times
// are unknown.
bool is_reported(const RoundRecord& r) { return r.purpose != Purpose::train || !r.parts.empty(); }

// Trials of resting workers that ended in this round.
Json trials_json(const RoundRecord& r) {
  Json trials = Json::array();
  for (const RoundRecord::Part& part : r.trials)
    trials.push_back({{"worker", part.name}, {"samples", part.share}, {"compute_ms", in_ms(part.seconds)}});
  return trials;
}

std::string json_line(const RoundRecord& r, const std::vector<WorkerPart>& parts, const RunTotals& totals,
                      const TestError& error, double at) {
  Json workers = Json::array(), shares = Json::array(), compute = Json::array();
  Json cpu = Json::array(), memory = Json::array();
  bool measured = false;
  std::vector<double> times;
  for (const WorkerPart& part : parts) {
    workers.push_back(part.name);
    shares.push_back(part.share);
    compute.push_back(in_ms(part.seconds));
    times.push_back(part.seconds);
    cpu.push_back(part.cpu < 0 ? Json() : Json(std::round(part.cpu * 1e3) / 1e3));
    memory.push_back(part.memory < 0 ? Json() : Json(std::round(part.memory)));
    measured = measured || part.cpu >= 0 || part.memory >= 0;
  }
  const bool train = r.purpose == Purpose::train;
  const bool reported = is_reported(r);
  const balancing::WorkTime work = totals.work_of_last();
  const auto of_training = [&](double value) {
    return train && reported && value >= 0 ? Json(value) : Json();
  };
  Json line = {{"round", r.round},
               {"epoch", r.epoch},
               {"purpose", train ? "train" : "evaluate"},
               {"begin", r.positions.begin},
               {"end", r.positions.end},
               {"lr", train ? Json(r.rate) : Json()},
               {"workers", workers},
               {"shares", shares},
               {"compute_ms", compute},
               {"round_ms", in_ms(r.seconds)},
               {"at_ms", in_ms(at)},
               {"se", relative_spread(times)},
               {"percent_of_ideal", of_training(totals.percent_of_last())},
               {"computing", of_training(work.computing())},
               {"efficiency", of_training(work.efficiency())},
               {"loss", reported ? Json(r.loss) : Json()},
               {"accuracy", reported ? known_or_null(r.accuracy) : Json()}};
  add_error(line, error);
  if (measured) {
    line["cpu"] = cpu;
    line["memory_mb"] = memory;
  }
  if (!r.trials.empty()) line["trials"] = trials_json(r);
  if (r.skipped > 0) line["holes"] = r.skipped;
  if (pushes(r.staleness) > 0) line["staleness"] = mean_of(r.staleness);
  // Names come from other machines and may be any bytes.
  return dump_json(line);
}

// TensorBoard groups tags by the part before the slash.
TensorboardFile::Scalars scalars(const RoundRecord& r, const std::vector<WorkerPart>& parts,
                                 const RunTotals& totals, const TestError& error) {
  const auto results = [&](const std::string& set) {
    TensorboardFile::Scalars its{{set + "/loss", r.loss}};
    if (r.accuracy >= 0) its.emplace_back(set + "/accuracy", r.accuracy);
    if (error.known()) its.emplace_back(set + "/" + error.name, error.value);
    return its;
  };
  if (r.purpose != Purpose::train) return results("test");
  TensorboardFile::Scalars all{{"train/learning_rate", r.rate}};
  if (!is_reported(r)) return all;
  const TensorboardFile::Scalars of_round = results("train");
  all.insert(all.begin(), of_round.begin(), of_round.end());
  const auto measured = [&](const char* tag, double value) {
    if (value >= 0) all.emplace_back(tag, value);
  };
  measured("speed/samples_per_second", totals.recent_samples_per_second());
  measured("speed/percent_of_ideal", totals.percent_of_last());
  measured("speed/efficiency", totals.work_of_last().efficiency());
  for (const WorkerPart& part : parts) {
    all.emplace_back("share/" + part.name, static_cast<double>(part.share));
    all.emplace_back("compute_ms/" + part.name, in_ms(part.seconds));
  }
  return all;
}

}  // namespace

Recorder::Recorder(const JobFile& file, const RunDirectory& run, ProgressBar& bar, bool goes_on,
                   ErrorScale errors, std::uint64_t part_bytes)
    : file_(file),
      run_(run),
      bar_(bar),
      lines_(run.rounds(), LineFile::Links::follow, part_bytes),
      events_(run.events()),
      totals_(file),
      errors_(std::move(errors)) {
  if (!goes_on) events_.add(origin_line(), Time{});
}

bool Recorder::flush(Time now) {
  lines_.flush(now);
  events_.flush(now);
  return lines_.trouble().empty() && events_.trouble().empty();
}

template <class Archive>
void Recorder::fields(Archive& archive) {
  archive(totals_, began_, first_seconds_, first_done_, first_time_);
}

std::string Recorder::save(Time now) const {
  Writer writer;
  writer.now = now;
  const_cast<Recorder*>(this)->fields(writer);  // reads alone
  return {reinterpret_cast<const char*>(writer.header.data()), writer.header.size()};
}

void Recorder::restore(std::string_view state, Time now) {
  Reader reader(std::as_bytes(std::span(state)), {});
  reader.now = now;
  try {
    fields(reader);
    if (reader.remaining() != 0) throw Malformed("is too long");
  } catch (const Malformed& trouble) {
    throw Failure(ExitCode::io, std::string("the saved record of a run ") + trouble.what());
  }
}

void Recorder::write(LineFile& file, const std::string& line, Time now) {
  file.add(line, now);
  if (on_line_) on_line_(&file == &events_, line);
}

void Recorder::handle(const ToRecorder& message, Time now) {
  std::visit(Overloaded{[&](const RoundRecord& it) { record(it, now); },
                        [&](const Note& it) { note(it.text, now); }, [&](const Ended& it) { end(it, now); }},
             message);
}

void Recorder::record(const RoundRecord& record, Time now) {
  const std::vector<WorkerPart> parts = by_worker(record);
  totals_.add(record, parts);
  if (!began_) {
    began_ = now;
    first_seconds_ = record.seconds;
    write(events_, dump_json(Json{{"at_ms", 0}, {"first_round", record.round}}), now);
  }
  const double at = first_seconds_ + seconds(now - *began_);
  const TestError error = record.purpose == Purpose::evaluate ? errors_.of(record.loss) : TestError();
  write(lines_, json_line(record, parts, totals_, error, at), now);
  if (board_) board_->add(record.round, at, scalars(record, parts, totals_, error));
  warn_of_trouble();
  if (record.purpose == Purpose::train) show(record, parts, now);
}

void Recorder::note(const std::string& text, Time now) {
  const std::string shown = text.substr(0, longest_note);
  const std::string line = event_line(shown, now);
  if (!event_limit_.admits(line.size() + 1, now)) return;
  if (const auto left_out = event_limit_.left_out(now)) {
    bar_.note(*left_out);
    happened(*left_out, now);
  }
  bar_.note(shown);
  write(events_, line, now);
  events_.flush(now);  // others wait for it: the launcher reads which scripts have joined
}

void Recorder::happened(const std::string& text, Time now) { write(events_, event_line(text, now), now); }

std::string Recorder::event_line(const std::string& text, Time now) const {
  const double at = began_ ? first_seconds_ + seconds(now - *began_) : 0;
  const Json line = {{"at_ms", in_ms(at)}, {"text", text}};
  return dump_json(line);
}

// By the nearest of the limits.
double Recorder::share_done(const RoundRecord& record) const {
  const Job& job = file_.job;
  double done = -1;
  if (job.epochs > 0 && job.train_samples > 0) {
    const double within = static_cast<double>(record.positions.end) / static_cast<double>(job.train_samples);
    const std::uint64_t epochs_before = record.epoch + record.passes - 1;
    done = (static_cast<double>(epochs_before) + within) / static_cast<double>(job.epochs);
  }
  if (job.rounds > 0) {
    done = std::max(done, static_cast<double>(record.round + 1) / static_cast<double>(job.rounds));
  }
  if (job.seconds > 0) done = std::max(done, totals_.train_seconds() / job.seconds);
  return std::min(done, 1.0);
}

// The time left is estimated from the rounds of this process, without the first one, in which buffers and
// connections are set up: a resumed run starts in the middle.
void Recorder::show(const RoundRecord& record, const std::vector<WorkerPart>& parts, Time now) {
  ProgressView view;
  view.epoch = record.epoch + record.passes - 1;
  view.epochs = file_.job.epochs;
  view.round = record.round + 1;
  view.rounds = file_.job.rounds;
  if (is_reported(record)) view.loss = record.loss;
  view.accuracy = totals_.accuracy();
  view.test_loss = totals_.test_loss();
  view.error = errors_.of(view.test_loss);
  view.samples_per_second = totals_.recent_samples_per_second();
  view.percent_of_ideal = totals_.percent_of_ideal();
  for (const WorkerPart& part : parts) {
    view.shares.push_back(part.share);
    view.workers.push_back(part.name);
  }
  view.done = share_done(record);
  if (first_done_ < 0) {
    first_done_ = view.done;
    first_time_ = now;
  } else if (view.done > first_done_) {
    view.seconds_left = (1 - view.done) * seconds(now - first_time_) / (view.done - first_done_);
  }
  bar_.show(view, now);
}

// The summary is made later, after the children have exited.
void Recorder::end(const Ended& ended, Time now) {
  ended_ = ended;
  totals_.add(ended);
  if (const auto left_out = event_limit_.left_out(now)) happened(*left_out, now);
  happened(std::string(name(ended.outcome)) + (ended.text.empty() ? "" : ": " + ended.text), now);
  flush(now);
  warn_of_trouble();
  bar_.finish();
}

// Once, since a full disk stays full for some time.
void Recorder::warn_of_trouble() {
  const LineFile& troubled = lines_.trouble().empty() ? events_ : lines_;
  if (warned_ || troubled.trouble().empty()) return;
  warned_ = true;
  bar_.note("warning: " + troubled.path() + " cannot be written (" + troubled.trouble() +
            "): training continues; free some space, and writing continues too");
}

Verdict Recorder::verdict() const {
  Verdict verdict;
  verdict.outcome = ended_.outcome;
  verdict.text = ended_.text;
  verdict.seconds = std::max(ended_.progress.seconds, totals_.train_seconds());
  totals_.complete(verdict);
  verdict.error = errors_.of(verdict.test_loss);
  const std::vector<std::string> checkpoints = list_checkpoints(run_.checkpoints());
  if (!checkpoints.empty()) verdict.checkpoint = checkpoints.front();
  return verdict;
}

std::string Recorder::summary() const {
  std::string text = totals_.summary(verdict()) + "  run directory       " + run_.path() + "\n";
  if (!lines_.trouble().empty() || lines_.dropped() > 0) {
    text += "  warning             " + lines_.path() + " is not complete" +
            (lines_.trouble().empty() ? "" : ": " + lines_.trouble()) + "\n";
  }
  if (left_out_ > 0) {
    text += "  warning             " + lines_.path() +
            " could not be written for a long time: " + std::to_string(left_out_) +
            " rounds are missing in the record and in the numbers above\n";
  }
  return text;
}

RecorderThread::RecorderThread(Recorder& recorder, std::size_t most_waiting)
    : recorder_(recorder),
      most_waiting_(most_waiting),
      told_(std::numeric_limits<std::size_t>::max()),
      seen_(1),
      thread_([this] { record(); }) {}

RecorderThread::~RecorderThread() { finish(); }

void RecorderThread::tell(ToRecorder message, Time now) {
  const auto* round = std::get_if<RoundRecord>(&message);
  const bool limited = round != nullptr && round->purpose == Purpose::train;
  const std::size_t weight = limited ? 1 + round->parts.size() : 0;
  if (limited && waiting_ + weight > most_waiting_) {
    ++left_out_;
    return;
  }
  const bool note = std::holds_alternative<Note>(message);
  if (note && notes_waiting_ >= most_notes) return;
  notes_waiting_ += note ? 1 : 0;
  waiting_ += weight;
  ++told_so_far_;
  told_.try_push(Told{std::move(message), now, weight});
}

std::optional<std::vector<std::byte>> RecorderThread::seen_by(Look look) {
  std::optional<Seen> seen;
  if (looking_ && seen_.size() > 0) seen = seen_.pop();
  if (seen) looking_ = false;
  if (seen && seen->told == told_so_far_) return std::move(seen->bytes);
  if (!std::exchange(looking_, true)) told_.try_push(Looking{std::move(look), told_so_far_});
  return std::nullopt;
}

void RecorderThread::record() {
  while (const auto next = told_.pop()) {
    if (const auto* looking = std::get_if<Looking>(&*next)) {
      seen_.try_push({looking->look(), looking->told});
      continue;
    }
    const Told& told = std::get<Told>(*next);
    recorder_.handle(told.message, told.now);
    waiting_ -= told.weight;
    notes_waiting_ -= std::holds_alternative<Note>(told.message) ? 1 : 0;
  }
  recorder_.left_out(left_out_);
}

void RecorderThread::finish() {
  told_.close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace steelyard
