#include "app/launch/local_host.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/launch/launch_plan.h"
#include "app/launch/user_script.h"
#include "app/processes/endpoint.h"
#include "app/report/output_file.h"
#include "core/error.h"
#include "core/processor.h"
#include "protocol/codec.h"
#include "protocol/machine.h"

namespace steelyard {
namespace {

// Passes the keys of a process in an unnamed file in memory, which it inherits: never on disk, and gone when
// it exits.
Descriptor give_keys(const StartProcess& message, Program& program) {
  if (message.keys.empty()) return Descriptor();
  keep_memory_closed(false);
  Descriptor file = text_to_read(message.keys);
  (void)fchmod(file.get(), 0600);
  program.keep.push_back(file.get());
  const std::string place = place_of_keys(file.get());
  if (program.path.empty()) {
    program.arguments.insert(program.arguments.end(), {"--keys", place});
  } else {
    program.environment.push_back("STEELYARD_KEYS=" + place);
  }
  return file;
}

// With OMP_NUM_THREADS users divide the cores among their scripts themselves.
std::vector<unsigned> cores_for(const StartProcess& message) {
  const bool by_user = !message.program.empty() && std::getenv("OMP_NUM_THREADS") != nullptr;
  return by_user ? std::vector<unsigned>{} : cores_of(message.cores, has_gpu_driver());
}

std::vector<std::string> environment_of(const StartProcess& message) {
  const std::string threads = "OMP_NUM_THREADS=";
  std::vector<std::string> all = message.environment;
  if (message.program.empty()) {
    all.push_back(threads + "1");  // oneDNN must not start threads of its own
    return all;
  }
  const auto sets_threads = [&](const std::string& it) { return it.starts_with(threads); };
  if (message.sharing > 0 && std::getenv("OMP_NUM_THREADS") == nullptr &&
      std::ranges::none_of(all, sets_threads))
    all.push_back(threads + std::to_string(std::max(1U, allowed_cores() / message.sharing)));
  return all;
}

}  // namespace

HostReady own_release() {
  const std::string version = version_text();  // a line
  return {protocol_version, version.substr(0, version.find('\n'))};
}

LocalHost::LocalHost() { news_.emplace_back(own_release()); }

LocalHost::LocalHost(const RunDirectory& run, int lock) : LocalHost() {
  run_ = &run;
  lock_ = lock;
}

void LocalHost::tell(const ToHost& message) {
  std::visit(Overloaded{
                 [&](const StartProcess& it) { start(it); },
                 [&](const SignalProcess& it) { children_.signal(it.name, it.signal); },
                 [](const Beat&) {},
             },
             message);
}

void LocalHost::start(const StartProcess& message) {
  const bool script = !message.program.empty();
  if (script && !is_runnable(message.program)) return refuse(message);
  const Descriptor input = text_to_read(message.input);
  Program program{.path = message.program,
                  .arguments = message.arguments,
                  .environment = environment_of(message),
                  .in = input.get(),
                  .cores = cores_for(message)};
  const Descriptor keys = give_keys(message, program);
  if (run_ != nullptr && script) {
    const std::string path = run_->log(message.name);
    const Descriptor log = log_to_write(path);
    Pipe out = make_pipe();
    program.out = out.write.get();
    program.error = log.get();
    children_.start(message.name, program);
    voices_.push_back(
        std::make_unique<Voice>(Voice{message.name,
                                      {std::move(out.read), longest_said},
                                      {Descriptor(), longest_said},
                                      std::make_unique<LineFile>(path, LineFile::Links::refuse)}));
    return;
  }
  if (run_ != nullptr) {
    const bool scheduler = message.name == "scheduler";
    const Descriptor log = scheduler ? Descriptor() : log_to_write(run_->log(message.name));
    program.out = program.error = log.get();
    if (scheduler) program.keep.push_back(lock_);
    return children_.start(message.name, program);
  }
  Pipe out = make_pipe(), error = make_pipe();
  program.out = out.write.get();
  program.error = error.write.get();
  children_.start(message.name, program);
  voices_.push_back(std::make_unique<Voice>(
      Voice{message.name, {std::move(out.read), longest_said}, {std::move(error.read), longest_said}, {}}));
}

void LocalHost::refuse(const StartProcess& message) {
  const std::string text = "this host has no executable program " + message.program +
                           ": correct the script's path, or STEELYARD_PYTHON";
  if (run_ != nullptr) LineFile(run_->log(message.name), LineFile::Links::refuse).add(text, steady_now());
  news_.emplace_back(Said{message.name, true, text});
  news_.emplace_back(ProcessEnded{message.name, static_cast<int>(ExitCode::configuration) << 8});
}

std::vector<FromHost> LocalHost::hear(Time now) {
  pass_on(now);
  for (const Child& child : children_.ended()) {
    pass_on(now);  // the last output of a process is reported before its exit
    news_.emplace_back(ProcessEnded{child.name, *child.status});
  }
  return std::exchange(news_, {});
}

void LocalHost::pass_on(Time now) {
  for (const auto& it : voices_) {
    for (std::string& line : it->error.read()) news_.emplace_back(Said{it->name, true, std::move(line)});
    for (std::string& line : it->out.read()) {
      if (it->log) it->log->add(line, now);
      news_.emplace_back(Said{it->name, false, std::move(line)});
    }
    if (it->log) it->log->flush(now);
  }
  std::erase_if(voices_, [](const auto& it) { return it->out.ended() && it->error.ended(); });
}

}  // namespace steelyard
