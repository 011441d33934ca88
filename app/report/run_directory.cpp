#include "app/report/run_directory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>
#include <vector>

#include "core/json.h"
#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/durable_file.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr int most_runs = 100000;  // of one name

[[noreturn]] void fail(const std::string& path, const std::string& why, const std::string& remedy) {
  throw Failure(ExitCode::io, "run directory " + path + ": " + why + ": " + remedy);
}

fs::path folder_of(const fs::path& path) {
  return path.parent_path().empty() ? fs::path(".") : path.parent_path();
}

// Syncs the entry of `path` in its folder. A folder without read permission cannot be synced; the system
// writes it later.
void sync_name(const fs::path& path) try {
  sync_directory(folder_of(path).string());
} catch (const Failure&) {
}

// Makes a directory and those above it.
void make(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> fresh;
  for (fs::path it = path; !it.empty() && !fs::exists(it, error); it = it.parent_path()) fresh.push_back(it);
  fs::create_directories(path, error);
  if (error) fail(path, error.message(), "give --run-dir a place where you may write");
  for (const fs::path& it : fresh) sync_name(it);
}

struct OutcomeRow {
  Outcome outcome;
  const char* name;
  ExitCode code;
};

const OutcomeRow& row_of(Outcome outcome) {
  static constexpr OutcomeRow rows[] = {{Outcome::finished, "finished", ExitCode::ok},
                                        {Outcome::interrupted, "interrupted", ExitCode::temporary},
                                        {Outcome::server_lost, "server lost", ExitCode::unreachable},
                                        {Outcome::storage, "storage", ExitCode::io},
                                        {Outcome::non_finite, "non-finite", ExitCode::failed},
                                        {Outcome::worker_failed, "worker failed", ExitCode::failed}};
  static constexpr OutcomeRow running{Outcome::running, "not ended",
                                      ExitCode::failed};  // no outcome was recorded
  const auto found = std::ranges::find(rows, outcome, &OutcomeRow::outcome);
  return found == std::end(rows) ? running : *found;
}

}  // namespace

RunDirectory::RunDirectory(std::string path) : path_(std::move(path)) {
  make(checkpoints());
  make(path_ + "/log");
}

RunDirectory RunDirectory::next(const std::string& parent, const std::string& name) {
  return RunDirectory(next_directory(parent, name));
}

std::string next_directory(const std::string& parent, const std::string& name) {
  make(parent);
  for (int n = 1; n <= most_runs; ++n) {
    std::string path = parent + "/" + name + "-" + std::to_string(n);
    std::error_code error;
    // Creating the directory reserves the number: two runs that start together get two directories.
    if (fs::create_directory(path, error)) {
      sync_name(path);
      return path;
    }
    if (error && error != std::errc::file_exists && error != std::errc::not_a_directory) {
      fail(path, error.message(), "give --run-dir a place where you may write");
    }
  }
  fail(parent + "/" + name + "-N", "all numbers are taken", "remove old runs, or give --run-dir");
}

std::string fresh_directory(const std::string& given, const std::string& name) {
  if (given.empty()) return next_directory("runs", name);
  std::error_code error;
  fs::create_directories(given, error);
  if (error || !fs::is_empty(given, error))
    fail(given, error ? error.message() : "it is not empty", "give --run-dir a new name");
  return given;
}

RunDirectory RunDirectory::create(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) {
    fail(path, "a file has this name", "give --run-dir another name");
  }
  make(path);
  if (!fs::is_empty(path, error)) {
    fail(path, error ? error.message() : "it is not empty",
         "give --run-dir a new name, or continue the run with --resume");
  }
  return RunDirectory(path);
}

RunDirectory RunDirectory::open(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path + "/job.toml", error)) {
    fail(path, "it has no run (no job.toml)", "give the directory of a run, such as runs/job-1");
  }
  return RunDirectory(path);
}

RunDirectory RunDirectory::share(const std::string& path) { return RunDirectory(path); }

void write_text(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  std::error_code ignored;
  fs::remove(fresh, ignored);  // left by a killed process
  try {
    DurableFile file(fresh, text.size());
    file.write(std::as_bytes(std::span(text)));
    file.finish();
    fs::rename(fresh, path);
    sync_name(path);
  } catch (const std::exception& trouble) {  // Failure of our own, or filesystem_error
    fs::remove(fresh, ignored);
    throw Failure(ExitCode::io, path + ": cannot be written: " + trouble.what() +
                                    ": free some space, or give --run-dir another place");
  }
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string RunDirectory::way_back() const {
  return list_checkpoints(checkpoints()).empty()
             ? "no checkpoint had been written yet: train again, with another --run-dir than " + path_
             : "continue from the last checkpoint with --run-dir " + path_ + " --resume";
}

ExitCode exit_code(Outcome outcome) { return row_of(outcome).code; }
const char* name(Outcome outcome) { return row_of(outcome).name; }

std::string verdict_json(const Verdict& v) {
  Json json = {{"format", 1},
               {"outcome", name(v.outcome)},
               {"text", v.text},
               {"exit_code", static_cast<int>(exit_code(v.outcome))},
               {"accuracy", known_or_null(v.accuracy)},
               {"test_loss", v.test_loss},
               {"seconds", v.seconds},
               {"rounds", v.rounds},
               {"samples_per_second", known_or_null(v.samples_per_second)},
               {"steady_samples_per_second", known_or_null(v.steady_samples_per_second)},
               {"percent_of_ideal", known_or_null(v.percent_of_ideal)},
               {"computing", known_or_null(v.computing)},
               {"efficiency", known_or_null(v.efficiency)},
               {"staleness", v.staleness},
               {"checkpoint", v.checkpoint}};
  add_error(json, v.error);
  // A path may be any bytes.
  return dump_json(json, 2) + "\n";
}

}  // namespace steelyard
