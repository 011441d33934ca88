#include "app/launch/further_jobs.h"

#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include "app/report/run_directory.h"
#include "core/error.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

}  // namespace

FurtherJobs::FurtherJobs(std::optional<FurtherRuns> how) : how_(std::move(how)) {
  if (how_) fs::create_directories(how_->sockets + "/next");
}

FurtherJobs::~FurtherJobs() {
  std::error_code ignored;
  if (!how_) return;
  for (unsigned number = 2; number <= number_; ++number)
    fs::remove_all(how_->sockets + "/" + std::to_string(number), ignored);
  fs::remove_all(how_->sockets + "/next", ignored);
}

void FurtherJobs::look(std::size_t scripts) {
  for (const Child& child : children_.ended()) {
    const int code =
        WIFEXITED(*child.status) ? WEXITSTATUS(*child.status) : static_cast<int>(ExitCode::unreachable);
    if (code_ == 0) code_ = code;
  }
  if (running()) {
    if (scripts < workers_ && !has_begun()) end();
  } else if (how_ && !stopped_ && code_ == 0 && scripts > 0 &&
             fs::exists(how_->sockets + "/next/" + std::to_string(number_ + 1))) {
    start(scripts);
  }
}

void FurtherJobs::start(std::size_t scripts) {
  const std::string number = std::to_string(++number_), sockets = how_->sockets + "/" + number;
  const bool chosen = !how_->directory.empty();
  directory_ = chosen ? how_->directory + "-" + number : next_directory("runs", how_->name);
  workers_ = scripts;
  ending_ = false;
  fs::create_directories(sockets);
  std::vector<std::string> arguments{"run",       "-n",    std::to_string(scripts),
                                     "--sockets", sockets, "--run-dir",
                                     directory_,  "--set", "job.name=" + how_->name};
  arguments.insert(arguments.end(), how_->arguments.begin(), how_->arguments.end());
  if (how_->resume && fs::exists(directory_ + "/job.toml")) arguments.emplace_back("--resume");
  Program program;
  program.arguments = std::move(arguments);
  children_.start("job " + number, program);
}

void FurtherJobs::stop() {
  stopped_ = true;
  end();
}

// Once: a second signal would end it without a checkpoint.
void FurtherJobs::end() {
  if (!std::exchange(ending_, true)) children_.signal_all(SIGTERM);
}

bool FurtherJobs::has_begun() const {
  std::error_code error;
  const auto size = fs::file_size(directory_ + "/rounds.jsonl", error);
  return !error && size > 0;
}

}  // namespace steelyard
