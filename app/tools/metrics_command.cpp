#include "app/tools/metrics_command.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>

#include "app/processes/signals.h"
#include "app/report/run_directory.h"
#include "app/report/terminal_writer.h"
#include "app/tools/run_life.h"
#include "app/tools/runs_command.h"
#include "app/web/http_server.h"
#include "app/web/place.h"
#include "core/error.h"

namespace steelyard {
namespace {

constexpr std::size_t few_parts = 5000;    // that each run keeps in memory
constexpr std::uint64_t block = 16 << 20;  // bytes read at once
constexpr double at_most_every = 1;        // seconds between two answers that are made anew
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

HttpAnswer text_answer(int status, const std::string& text, const std::string& type) {
  return {status, type, std::make_shared<const std::string>(text)};
}

// Shared by the threads of the server.
class FolderPages {
 public:
  FolderPages(const std::string& folder, double keep_hours) : runs_(folder, keep_hours) {}

  HttpAnswer answer(const std::string& path) try {
    if (path != "/metrics") return text_answer(404, "Available: /metrics.\n", "text/plain; charset=utf-8");
    const std::lock_guard one_at_a_time(mutex_);
    const double now = seconds_since_1970();
    if (now - made_ >= at_most_every || now < made_) {
      text_ = runs_.text(now);
      made_ = now;
    }
    return text_answer(200, text_, prometheus_text);
  } catch (const Failure& failure) {  // the folder may come back
    return text_answer(503, std::string(failure.what()) + "\n", "text/plain; charset=utf-8");
  }

 private:
  std::mutex mutex_;
  FolderMetrics runs_;
  std::string text_;
  double made_ = 0;
};

}  // namespace

void FollowedRun::begin_again() {
  job_ = read_text(path_ + "/job.toml");
  run_ = std::make_unique<LiveRun>(path_, job_, few_parts);
  rounds_at_ = events_at_ = 0;
}

void FollowedRun::look(RunLife life) {
  const std::string rounds = path_ + "/rounds.jsonl", events = path_ + "/events.jsonl";
  const bool anew = run_ == nullptr || size_of(rounds) < rounds_at_ || size_of(events) < events_at_ ||
                    (run_->has_ended() && life.training) || read_text(path_ + "/job.toml") != job_;
  if (anew) begin_again();
  const double written = written_at(rounds);
  read_on(events, events_at_, [&](std::string_view lines) { run_->event_lines(lines); });
  read_on(rounds, rounds_at_, [&](std::string_view lines) { run_->round_lines(lines, written); });
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
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  const SignalWatch signals(
      [&](int) {
        const std::lock_guard lock(mutex);
        over = true;
        ended.notify_all();
      },
      {"Ctrl-C again exits immediately", [] { return ""; }});
  FolderPages pages(command.folder, command.keep_hours);
  HttpServer server(web_place(command.web), "--web");
  server.serve([&](const std::string& path) { return pages.answer(path); });
  standard_error().line("the numbers of the runs in " + command.folder + " are at " + server.url() +
                        "metrics");
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return over; });
}

}  // namespace steelyard
