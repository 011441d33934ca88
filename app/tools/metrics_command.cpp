#include "app/tools/metrics_command.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>

#include "app/processes/signals.h"
#include "app/report/run_directory.h"
#include "app/report/terminal_writer.h"
#include "app/tools/run_life.h"
#include "app/tools/runs_command.h"
#include "app/web/http_server.h"
#include "app/web/place.h"
#include "core/error.h"
#include "core/queue.h"
#include "core/record_parts.h"

namespace steelyard {
namespace {

constexpr std::size_t few_parts = 5000;    // that each run keeps in memory
constexpr std::uint64_t block = 16 << 20;  // bytes read at once
constexpr double at_most_every = 1;        // seconds between two answers that are made anew
constexpr std::size_t most_requests = 16;  // in the queue
constexpr auto answer_within = std::chrono::seconds(8);
constexpr const char* prometheus_text = "text/plain; version=0.0.4; charset=utf-8";

// Seconds since 1970; 0: there is no such file.
double written_at(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return 0;
  return static_cast<double>(file.st_mtim.tv_sec) + 1e-9 * static_cast<double>(file.st_mtim.tv_nsec);
}

std::uint64_t size_of(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? static_cast<std::uint64_t>(file.st_size) : 0;
}

// Passes on the complete lines from `at` on, and moves it.
template <class Take>
void read_on(const std::string& path, std::uint64_t& at, const Take& take) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  for (std::string text(block, '\0');;) {
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    const std::string_view got(text.data(),
                               static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    const std::string_view whole = got.substr(0, got.rfind('\n') + 1);
    if (whole.empty()) return;
    take(whole);
    at += whole.size();
    if (got.size() < text.size()) return;
    file.seekg(static_cast<std::streamoff>(at));
  }
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

HttpAnswer plain_answer(int status, const std::string& text) {
  return {status, "text/plain; charset=utf-8", std::make_shared<const std::string>(text)};
}

struct MetricsRequest {
  std::promise<HttpAnswer> answer;
};
using Requests = BoundedQueue<MetricsRequest>;

// Called on threads of the server.
HttpAnswer requested(Requests& requests, const std::string& path) try {
  if (path != "/metrics") return plain_answer(404, "Available: /metrics.\n");
  MetricsRequest request;
  std::future<HttpAnswer> answer = request.answer.get_future();
  if (!requests.try_push(std::move(request)) || answer.wait_for(answer_within) != std::future_status::ready)
    return plain_answer(503, "Not available now: try again in some seconds.\n");
  return answer.get();
} catch (const std::future_error&) {  // the queue was closed before
  return plain_answer(503, "The server has ended.\n");
}

// Answers the requests until the queue is closed.
void answer_all(Requests& requests, FolderMetrics& runs) {
  HttpAnswer last;
  double made = 0;
  while (auto next = requests.pop()) {
    const double now = seconds_since_1970();
    try {
      if (now - made >= at_most_every || now < made) {
        last = {200, prometheus_text, std::make_shared<const std::string>(runs.text(now))};
        made = now;
      }
    } catch (const Failure& failure) {  // the folder may come back
      last = plain_answer(503, std::string(failure.what()) + "\n");
      made = 0;
    }
    next->answer.set_value(last);
  }
}

}  // namespace

void FollowedRun::begin_again() {
  job_ = read_text(path_ + "/job.toml");
  run_ = std::make_unique<LiveRun>(path_, job_, few_parts);
  rounds_part_ = rounds_at_ = events_at_ = 0;
}

void FollowedRun::look(RunLife life) {
  const std::string rounds = path_ + "/rounds.jsonl", events = path_ + "/events.jsonl";
  const std::vector<std::uint64_t> closed = closed_parts(rounds);
  const std::uint64_t last = closed.empty() ? 0 : closed.back();
  const bool cut = last < rounds_part_ || (last == rounds_part_ && size_of(rounds) < rounds_at_);
  const bool anew = run_ == nullptr || cut || size_of(events) < events_at_ ||
                    (run_->has_ended() && life.training) || read_text(path_ + "/job.toml") != job_;
  if (anew) begin_again();
  const double written = written_at(rounds);
  read_on(events, events_at_, [&](std::string_view lines) { run_->event_lines(lines); });
  const auto take = [&](std::string_view lines) { run_->round_lines(lines, written); };
  for (const std::uint64_t part : closed) {
    if (part <= rounds_part_) continue;
    read_on(part_of(rounds, part), rounds_at_, take);
    rounds_part_ = part;
    rounds_at_ = 0;
  }
  read_on(rounds, rounds_at_, take);
  if (const std::string result = read_text(path_ + "/result.json"); !life.training && !result.empty())
    run_->ended(result);
  run_->life(life);
}

std::string FolderMetrics::text(double now) {
  std::vector<RunMetrics> all;
  const std::set<std::string> continued = continued_runs(folder_);
  std::map<std::string, FollowedRun> kept;
  for (const std::string& path : runs_in(folder_)) {
    const RunLife life = life_of(path, continued);
    const double last = std::max(written_at(path + "/rounds.jsonl"), written_at(path + "/result.json"));
    if (!life.training && now - last > 3600 * keep_hours_) continue;
    auto known = runs_.extract(path);
    FollowedRun& run = known.empty() ? kept.try_emplace(path, path).first->second
                                     : kept.insert(std::move(known)).position->second;
    run.look(life);
    all.push_back(run.metrics(now));
  }
  runs_ = std::move(kept);
  return metrics_text(all);
}

void run_metrics(const MetricsCommand& command) {
  (void)runs_in(command.folder);  // a folder that is not there is reported now
  Requests requests(most_requests);
  const SignalWatch signals([&](int) { requests.close(); },
                            {"Ctrl-C again exits immediately", [] { return ""; }});
  HttpServer server(web_place(command.web), "--web");
  server.serve([&](const std::string& path) { return requested(requests, path); });
  standard_error().line("the numbers of the runs in " + command.folder + " are at " + server.url() +
                        "metrics");
  FolderMetrics runs(command.folder, command.keep_hours);
  answer_all(requests, runs);
}

}  // namespace steelyard
