#include "launch/local_host.h"

#include <cstdlib>
#include <utility>

#include "report/version_text.h"
#include "wire/codec.h"
#include "wire/machine.h"

namespace steelyard {
namespace {

constexpr std::size_t longest_said = 1 << 16;  // letters of a line of a process

}  // namespace

LocalHost::LocalHost() {
  setenv("OMP_NUM_THREADS", "1", 1);           // one computing thread a worker, also inside oneDNN
  const std::string version = version_text();  // a line
  news_.emplace_back(HostReady{protocol_version, version.substr(0, version.find('\n'))});
}

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
  const Descriptor input = text_to_read(message.input);
  Program program{.path = {}, .arguments = message.arguments, .in = input.number()};
  if (run_ != nullptr) {
    const bool scheduler = message.name == "scheduler";
    const Descriptor log = scheduler ? Descriptor() : log_to_write(run_->log(message.name));
    program.out = program.error = log.number();
    if (scheduler) program.keep = lock_;
    return children_.start(message.name, program);
  }
  Pipe out = make_pipe(), error = make_pipe();
  program.out = out.write.number();
  program.error = error.write.number();
  children_.start(message.name, program);
  voices_.push_back(std::make_unique<Voice>(
      Voice{message.name, {std::move(out.read), longest_said}, {std::move(error.read), longest_said}}));
}

std::vector<FromHost> LocalHost::hear(Time) {
  pass_on();
  for (const Child& child : children_.ended()) {
    pass_on();  // what a process said last is told before its end is
    news_.emplace_back(ProcessEnded{child.name, *child.status});
  }
  return std::exchange(news_, {});
}

void LocalHost::pass_on() {
  for (const auto& it : voices_) {
    for (std::string& line : it->error.read()) news_.emplace_back(Said{it->name, true, std::move(line)});
    for (std::string& line : it->out.read()) news_.emplace_back(Said{it->name, false, std::move(line)});
  }
  std::erase_if(voices_, [](const auto& it) { return it->out.ended() && it->error.ended(); });
}

}  // namespace steelyard
