#include "app/tools/run_life.h"

#include <chrono>
#include <filesystem>

#include "app/processes/run_journal.h"
#include "app/report/run_directory.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

std::string whole_path(const fs::path& path) {
  const std::string whole = fs::absolute(path / "").lexically_normal().parent_path().string();
  return whole.empty() ? "/" : whole;
}

// The file's time is that of the last write, half a second after the round at most.
double seconds_since_write(const std::string& path) {
  std::error_code error;
  const fs::file_time_type at = fs::last_write_time(path, error);
  if (error) return -1;
  return std::max(std::chrono::duration<double>(fs::file_time_type::clock::now() - at).count(), 0.0);
}

}  // namespace

std::set<std::string> continued_runs(const std::string& folder) {
  std::set<std::string> runs;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string former = read_text(RunDirectory::continues_in(it->path().string()));
    if (!former.empty()) runs.insert(former.substr(0, former.find('\n')));
  }
  return runs;
}

RunLife life_of(const std::string& run, const std::set<std::string>& continued) {
  std::error_code ignored;
  RunLife life;
  life.training = in_use(run);
  life.since_round = life.training ? seconds_since_write(run + "/rounds.jsonl") : -1;
  life.continued =
      fs::exists(RunDirectory::superseded_in(run), ignored) || continued.contains(whole_path(run));
  return life;
}

RunLife life_of(const std::string& run) {
  return life_of(run, continued_runs(fs::path(whole_path(run)).parent_path().string()));
}

ReportedRun read_living_run(const std::string& path) {
  ReportedRun run = read_run(path);
  run.life = life_of(path);
  return run;
}

}  // namespace steelyard
