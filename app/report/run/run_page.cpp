#include "app/report/run/run_page.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <span>

#include "app/report/page/page.h"
#include "app/report/run/changes.h"
#include "app/report/run/finding_text.h"
#include "app/report/run/lanes.h"
#include "app/report/run/run_charts.h"
#include "app/report/run/status_text.h"
#include "core/error.h"

namespace steelyard {
namespace {

constexpr std::size_t most_lanes = 24, most_rows = 200;
constexpr std::ptrdiff_t few_marks = 12;               // of a kind: more uprights hide the lines
constexpr std::uint64_t short_run = 10;                // rounds, for which nothing can be said of the ideal
constexpr double pause_after = 10, pause_factor = 10;  // seconds, and times a usual round

// The workers that the others waited for longest, in the order of names.
std::vector<std::uint32_t> most_interesting(const Finding& finding, std::size_t most) {
  std::vector<std::uint32_t> workers(finding.workers.size());
  std::iota(workers.begin(), workers.end(), 0);
  std::ranges::stable_sort(workers, std::greater{},
                           [&](std::uint32_t it) { return finding.workers[it].held; });
  workers.resize(std::min(workers.size(), most));
  std::ranges::sort(workers);
  return workers;
}

Json cards(const ReportedRun& run, const Finding& finding) {
  const RunResult& result = run.record.result;
  double ideal = result.percent_of_ideal, rate = result.samples_per_second, accuracy = result.accuracy;
  double test_loss = result.test_loss;
  TestError error = result.error;
  if (ideal < 0 && finding.ideal_seconds >= 0) ideal = 100 * finding.ideal_seconds / finding.seconds;
  if (rate < 0 && finding.seconds > 0) rate = finding.samples / finding.seconds;
  std::uint64_t evaluations = 0;
  for (const RunRound& round : run.record.rounds) {
    if (round.train) continue;
    ++evaluations;
    if (result.known) continue;
    accuracy = round.accuracy;
    test_loss = round.loss;
    error = round.error;
  }
  Json list = Json::array();
  const auto card = [&](const std::string& label, const std::string& value, const std::string& note) {
    list.push_back({{"label", label}, {"value", value}, {"note", note}});
  };
  if (accuracy >= 0) card("test accuracy", percent(accuracy, 2), count_of(evaluations, "evaluation"));
  if (error.known()) card("test " + error.name, error.text(), count_of(evaluations, "evaluation"));
  if (!(accuracy >= 0) && std::isfinite(test_loss))
    card("test loss", fixed(test_loss, 4), count_of(evaluations, "evaluation"));
  card("training time", at_text(finding.seconds),
       grouped(static_cast<double>(finding.rounds)) + " rounds, without evaluations");
  if (rate >= 0) card("samples/s", grouped(rate), "all workers together");
  if (ideal >= 0)
    card("percent of ideal", ideal_text(ideal, finding.rounds <= short_run),
         "100 %: the best split of every round");
  if (finding.barrier && finding.workers.size() > 1) {
    card("waiting", percent(finding.waiting), "of a worker's time, on average");
    card("exchange", percent(finding.exchange), "of the time: parameters and gradients");
  }
  return {{"type", "cards"}, {"id", "cards"}, {"cards", list}};
}

TextRows worker_rows(const RunRecord& record, const Finding& finding) {
  TextRows rows{{"worker", "samples a round", "samples/s while computing", "ms a round", "rounds",
                 "last to finish", "others waited for it"}};
  if (!finding.barrier) rows[0].resize(5);
  for (std::size_t i = 0; i < std::min(finding.workers.size(), most_rows); ++i) {
    const WorkerFinding& it = finding.workers[i];
    const auto rounds = static_cast<double>(std::max<std::uint64_t>(it.rounds, 1));
    rows.push_back({record.workers[i], grouped(it.samples / rounds, 1), grouped(it.speed()),
                    short_number(1e3 * it.computing / rounds), grouped(static_cast<double>(it.rounds))});
    if (!finding.barrier) continue;
    rows.back().push_back(percent(static_cast<double>(it.last) / rounds));
    rows.back().push_back(at_text(it.held));
  }
  return rows;
}

// A worker rests in the rounds for which it gets no samples, and while it is not in the job.
Json waiting_block(const RunRecord& record, const Finding& finding,
                   const std::vector<std::uint32_t>& workers) {
  Json rows = Json::array();
  bool rests = false;
  for (const std::uint32_t i : workers) {
    const WorkerFinding& it = finding.workers[i];
    const double busy = it.computing + it.waiting + it.exchanging,
                 all = std::max({finding.seconds, busy, 1e-9});
    const double rest = (all - busy) / all;
    rests = rests || rest > 0.005;
    rows.push_back({{"name", record.workers[i]},
                    {"parts", Json::array({Json::array({"computing", brief(it.computing / all)}),
                                           Json::array({"waiting", brief(it.waiting / all)}),
                                           Json::array({"exchange", brief(it.exchanging / all)}),
                                           Json::array({"resting", brief(rest)})})},
                    {"value", rest > 0.995 ? "rests" : "waits " + percent(it.waiting / all)}});
  }
  std::string note = "How each worker spent its time. The worker that waits least delays the others.";
  if (rests) note += " A worker rests while it has no samples.";
  if (workers.size() < finding.workers.size())
    note += " The bars and charts show the " + std::to_string(workers.size()) + " of " +
            std::to_string(finding.workers.size()) + " workers that the others waited for longest.";
  Json legend = Json::array({"computing", "waiting", "exchange"});
  if (rests) legend.push_back("resting");
  Json block = table_block("waiting", "Waiting for the slowest worker", worker_rows(record, finding), note);
  return {{"type", "bars"},   {"id", "waiting"}, {"title", block["title"]}, {"note", note},
          {"legend", legend}, {"rows", rows},    {"table", block}};
}

// The middle of the stretch in which most was waited, if any; else the last rounds.
std::pair<std::size_t, std::string> first_in_view(const RunRecord& record, const Finding& finding) {
  const auto worst = std::ranges::max_element(
      finding.stretches, {}, [](const Stretch& it) { return it.waiting * (it.end - it.begin); });
  if (worst == finding.stretches.end()) return {record.rounds.size(), "the last rounds"};
  return {(worst->first + worst->last) / 2, "the longest wait"};
}

using Columns = std::vector<std::pair<std::string, std::string>>;

// Each worker's reports about its machine: mean and minimum over its rounds. Empty values: not reported.
std::vector<Columns> measured(const RunRecord& record) {
  struct Sums {
    double cpu = 0, rounds = 0, least_cpu = 1, least_memory = INFINITY;
  };
  std::vector<Sums> workers(record.workers.size());
  for (const RunRound& round : record.rounds) {
    for (const RunPart& part : round.parts) {
      Sums& it = workers[part.worker];
      if (part.memory >= 0) it.least_memory = std::min<double>(it.least_memory, part.memory);
      if (part.cpu < 0) continue;
      it.cpu += part.cpu;
      it.least_cpu = std::min<double>(it.least_cpu, part.cpu);
      ++it.rounds;
    }
  }
  std::vector<Columns> columns;
  for (const Sums& it : workers) {
    columns.push_back({{"CPU available, mean", it.rounds > 0 ? percent(it.cpu / it.rounds) : ""},
                       {"CPU available, minimum", it.rounds > 0 ? percent(it.least_cpu) : ""},
                       {"memory available, minimum",
                        std::isfinite(it.least_memory) ? grouped(it.least_memory) + " MB" : ""}});
  }
  return columns;
}

Json machine_block(const ReportedRun& run) {
  TextRows rows{{"worker"}};
  std::vector<Columns> reports = measured(run.record);
  std::set<std::size_t> differs;  // columns with a value other than that of a plain machine
  for (std::uint32_t slot = 0; slot < run.record.workers.size() && rows.size() <= most_rows; ++slot) {
    const std::string& worker = run.record.workers[slot];
    Columns& columns = reports[slot];
    if (const auto found = run.machines.find(worker); found != run.machines.end())
      columns.insert(columns.end(), found->second.begin(), found->second.end());
    rows.push_back({worker});
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto& [column, value] = columns[i];
      if (rows[0].size() < i + 2) rows[0].push_back(column);
      if (!value.empty()) differs.insert(i + 1);
      rows.back().push_back(value.empty() ? "-" : value);
    }
  }
  if (differs.empty()) return {};
  for (std::vector<std::string>& row : rows) {
    std::vector<std::string> kept{row[0]};
    for (const std::size_t i : differs) kept.push_back(i < row.size() ? row[i] : "-");
    row = kept;
  }
  return table_block(
      "machines", "Machines", rows,
      "CPU and memory as the workers reported them, the rest as the job describes it. Columns without a "
      "value are left out.");
}

void add_changes(Json& section, const Changes& changes) {
  static constexpr std::pair<ChangeKind, const char*> kinds[] = {{ChangeKind::worker, "Workers"},
                                                                 {ChangeKind::move, "Work moved"},
                                                                 {ChangeKind::server, "Servers"},
                                                                 {ChangeKind::checkpoint, "Checkpoints"},
                                                                 {ChangeKind::job, "Job"}};
  std::string note = changes.list.empty() ? "None: shares stayed as they were, and no worker joined or left."
                                          : "Click a group to see its events.";
  if (changes.left_out > 0)
    note += " " + grouped(static_cast<double>(changes.left_out)) +
            " smaller events are left out; events.jsonl has all.";
  section["blocks"].push_back({{"type", "facts"},
                               {"id", "events"},
                               {"title", "Events"},
                               {"facts", Json::array({Json::array({"", note})})}});
  for (const auto& [kind, title] : kinds) {
    TextRows rows{{"at", "event"}};
    if (kind == ChangeKind::move) rows[0].push_back("samples/s measured before");
    for (const Change& it : changes.list) {
      if (it.kind != kind) continue;
      rows.push_back({at_text(it.at), it.what});
      if (kind == ChangeKind::move) rows.back().push_back(it.why);
    }
    if (rows.size() < 2) continue;
    const std::string text =
        std::string(title) + ": " + std::to_string(rows.size() - 1) + ", the last at " + rows.back()[0];
    add_block(section, table_block(std::string("events-") + static_cast<char>('a' + static_cast<int>(kind)),
                                   text, rows, "", true));
  }
}

Json facts(const ReportedRun& run) {
  const RunRecord& record = run.record;
  Json list = Json::array();
  const auto fact = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) list.push_back(Json::array({name, value}));
  };
  fact("directory", run.path);
  fact("job", run.about);
  for (const Origin& it : record.origins) {
    fact(&it == &record.origins.front() ? "began" : "resumed",
         it.date + " on " + it.machine + ", steelyard " + it.version);
  }
  if (record.origins.empty()) fact("began", "date, machine and version were not recorded");
  fact("outcome", record.result.known
                      ? record.result.outcome + (record.result.text.empty() ? "" : ": " + record.result.text)
                      : "none yet");
  fact("checkpoint", record.result.checkpoint);
  fact("job.toml", run.trouble);
  if (record.unreadable > 0)
    fact("not complete", std::to_string(record.unreadable) + " lines of the record cannot be read");
  return {{"type", "facts"}, {"id", "about"}, {"title", "About this run"}, {"facts", list}};
}

// Before the first round: which workers joined, by the notes of the scheduler, and which are missing.
void add_joined(Json& section, const ReportedRun& run) {
  TextRows rows{{"worker", "state"}};
  const std::vector<std::string> missing = missing_workers(run);
  for (const auto& [worker, machine] : run.machines)
    rows.push_back({worker, std::ranges::find(missing, worker) == missing.end() ? "joined" : "missing"});
  const std::size_t all = run.machines.size();
  if (all == 0) return add_block(section, text_block("finding", "No round of training has ended.", ""));
  const std::string present =
      std::to_string(all - missing.size()) + " of " + count_of(all, "worker") + " joined.";
  add_block(section,
            !missing.empty()
                ? text_block("finding", "The job waits for " + count_of(missing.size(), "worker") + ".",
                             " " + present + " Missing: " + joined(missing) + ".")
                : text_block("finding", "All workers joined.", " No round of training has ended."));
  add_block(section, table_block("joined", "Workers", rows));
}

void add_run(Json& section, const ReportedRun& run, const PageDetail& detail) {
  const Finding finding = finding_of(run.record, run.terms);
  const Changes changes = changes_of(run.record, finding.barrier);
  if (finding.rounds == 0) {
    add_joined(section, run);
  } else {
    std::vector<std::pair<double, std::string>> marks;
    for (const ChangeKind kind : {ChangeKind::move, ChangeKind::worker}) {
      if (std::ranges::count(changes.list, kind, &Change::kind) > few_marks) continue;
      for (const Change& it : changes.list) {
        if (it.kind == kind) marks.emplace_back(it.at, it.what);
      }
    }
    for (Json& block : finding_blocks(run, finding)) add_block(section, std::move(block));
    add_block(section, cards(run, finding));
    std::vector<Json> charts =
        run_charts(run, most_interesting(finding, most_chart_lines), marks, detail.points);
    // Loss, and accuracy if there is one.
    const Json& second = charts.at(1);  // null if there is nothing to draw
    const bool accuracy = second.is_object() && second.at("id") == "accuracy";
    const std::ptrdiff_t first_charts = accuracy ? 2 : 1;
    for (Json& block : std::span(charts).first(first_charts)) add_block(section, std::move(block));
    const std::vector<std::uint32_t> drawn = most_interesting(finding, most_lanes);
    add_block(section, finding.barrier ? waiting_block(run.record, finding, drawn)
                                       : table_block("workers", "Workers", worker_rows(run.record, finding)));
    add_block(section, better_block(run.record, finding));
    add_block(section, stretches_block(run.record, finding));
    const auto [first, label] = first_in_view(run.record, finding);
    if (finding.barrier) add_block(section, lanes_block(run.record, drawn, first, label, detail.exact));
    for (Json& block : std::span(charts).subspan(first_charts)) add_block(section, std::move(block));
  }
  add_block(section, machine_block(run));
  add_changes(section, changes);
  add_block(section, facts(run));
  section["blocks"].push_back(
      {{"type", "code"}, {"id", "job"}, {"title", "the job, with every default"}, {"text", run.job}});
}

// With an end, that; before the first round the job waits for its workers.
Json state_of_run(const ReportedRun& run, bool live) {
  const RunResult& result = run.record.result;
  const RunStatus status = status_of(run);
  const std::string known = !run.state.empty() ? run.state
                            : result.known     ? result.outcome
                            : live             ? "running"
                                               : "stopped";
  const bool ended = known != "running";
  std::string name = known == "finished" || known == "running"      ? known
                     : known == "interrupted" || known == "stopped" ? "stopped"
                                                                    : "failed";
  if (!ended && status.round == 0) name = "waiting";
  std::string text = status.round == 0 ? "no round has ended" : progress_text(run, status, !ended);
  if (known == "finished" && result.accuracy >= 0)
    text = percent(result.accuracy, 2) + " test accuracy, " + text;
  else if (known == "finished" && result.error.known())
    text = result.error.text() + " test " + result.error.name + ", " + text;
  else if (known == "finished" && std::isfinite(result.test_loss))
    text = fixed(result.test_loss, 4) + " test loss, " + text;
  if (name == "failed") text = known + (result.text.empty() ? "" : ": " + result.text) + "; " + text;
  Json state = {{"name", name}, {"text", text}, {"final", ended}};
  if (status.done >= 0 && !ended) state["done"] = brief(status.done);
  return state;
}

Json run_section(const ReportedRun& run, const std::string& title, bool live) {
  Json section = section_of(title, run.about);
  section["state"] = state_of_run(run, live);
  return section;
}

// Runs of different methods have the colours of their methods; else each run has a colour of its own.
Json overview(const std::vector<ReportedRun>& runs) {
  TextRows rows{{"run", "policy", "mode", "samples/s", "percent of ideal", "test accuracy", "training time",
                 "the others waited for"}};
  const auto known = [](double value, const std::string& text) { return value < 0 ? "-" : text; };
  std::set<std::string> data;
  for (const ReportedRun& run : runs) {
    const Finding finding = finding_of(run.record, run.terms);
    const RunResult& it = run.record.result;
    const auto culprit = finding.culprit();
    data.insert(run.data);
    rows.push_back({short_path(run, runs), run.policy, run.sync,
                    finding.seconds > 0 ? grouped(finding.samples / finding.seconds) : "-",
                    known(it.percent_of_ideal, ideal_text(it.percent_of_ideal, finding.rounds <= short_run)),
                    known(it.accuracy, percent(it.accuracy, 2)), at_text(finding.seconds),
                    culprit ? run.record.workers[*culprit] : "-"});
  }
  std::string names;
  for (const std::string& it : data) names += (names.empty() ? "" : ", ") + it;
  const std::string remark = data.size() < 2 ? "On the test set."
                                             : "These runs have different data (" + names +
                                                   "), so their accuracies cannot be compared.";
  Json section = section_of(std::to_string(runs.size()) + " runs", data.size() < 2 ? "" : remark);
  add_block(section, table_block("runs", "", rows));
  add_block(section, accuracy_of_all(runs, remark));
  return section;
}

}  // namespace

Json run_document(const std::vector<ReportedRun>& runs) {
  Json sections = Json::array();
  if (runs.size() > 1) sections.push_back(overview(runs));
  for (const ReportedRun& run : runs) {
    Json section = run_section(run, runs.size() > 1 ? short_path(run, runs) : run.name, false);
    // A page of several runs has to stay as small as that of one.
    add_run(
        section, run,
        {std::max<std::size_t>(PageDetail().points / runs.size(), 200), PageDetail().exact / runs.size()});
    sections.push_back(std::move(section));
  }
  if (!sections.empty()) add_block(sections.back(), help_block(run_help));
  return {{"kind", runs.size() > 1 ? "runs" : "run"},
          {"title", "steelyard report" + (runs.empty() ? "" : ": " + runs.front().name)},
          {"sections", sections}};
}

Json live_document(const ReportedRun& run, double last_round) {
  Json section = run_section(run, run.name, true);
  if (last_round >= 0) {
    std::vector<double> times;
    for (const RunRound& round : run.record.rounds) times.push_back(round.seconds());
    const double usual =
        times.empty() ? 0
                      : std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    Json& state = section["state"];
    state["last"] = brief(last_round);
    state["pause"] = brief(std::max(pause_after, pause_factor * usual));
    if (state["name"] == "running" && last_round > std::max(pause_after, pause_factor * usual))
      state["name"] = "paused";
  }
  if (run.record.left_out > 0) {
    section["about"] =
        run.about + ". The page has the last " +
        grouped(static_cast<double>(std::ranges::count_if(run.record.rounds, &RunRound::train))) +
        " rounds; the report of the run has " + grouped(static_cast<double>(run.record.left_out)) +
        " earlier ones, too";
  }
  add_run(section, run, {400, 200});
  add_block(section, help_block(run_help));
  return {{"kind", "live"}, {"title", "steelyard: " + run.name}, {"sections", Json::array({section})}};
}

}  // namespace steelyard
