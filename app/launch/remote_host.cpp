#include "app/launch/remote_host.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/report/terminal_text.h"
#include "core/check.h"
#include "protocol/codec.h"
#include "protocol/machine.h"
#include "protocol/node.h"

namespace steelyard {
namespace {

constexpr Duration between_beats = std::chrono::seconds(5);  // attend's timeout is five minutes
constexpr Duration first_word = std::chrono::minutes(1);     // timeout for the first message of a host

constexpr Duration minute = std::chrono::minutes(1);

}  // namespace

RemoteHost::RemoteHost(const LaunchPlan& plan, const LaunchHost& host, const RunDirectory& run, Warning warn)
    : plan_(plan), host_(host), door_(plan, host.spec.name, run, std::move(warn)), command_(host) {}

void RemoteHost::tell(const ToHost& message) {
  if (const auto* it = std::get_if<StartProcess>(&message))
    door_.open_log(it->name);  // so that the file exists even if the process prints nothing
  command_.send(to_line(message));
}

std::vector<FromHost> RemoteHost::hear(Time now) {
  if (now - beat_ > between_beats) {
    beat_ = now;
    tell(Beat{});
  }
  std::vector<FromHost> news;
  for (const std::string& line : command_.look()) door_.other(line, now);
  for (const std::string& line : command_.answers()) {
    std::optional<FromHost> message = from_host(line);
    if (!message) {
      door_.other(line, now);  // greeting of a login shell
      continue;
    }
    if (!door_.take(*message, now)) continue;
    if (const auto* it = std::get_if<HostReady>(&*message)) check(*it);
    news.push_back(std::move(*message));
  }
  door_.flush(now);
  if (left_) return news;
  if (command_.status() && news.empty()) throw lost(*command_.status());
  if (!ready_ && now - since_ > first_word) {
    throw Failure(ExitCode::unreachable,
                  "host '" + host_.spec.name + "' (" + plan_.roles_on(host_.spec.name) +
                      "): no answer within a minute: check that `" + shell_line(host_.command) + "` works");
  }
  return news;
}

void RemoteHost::check(const HostReady& message) {
  ready_ = true;
  if (message.protocol == protocol_version) return;
  throw other_release(host_, plan_.roles_on(host_.spec.name), message.release,
                      static_cast<double>(message.protocol));
}

Failure RemoteHost::lost(int status) const {
  const std::string said = command_.last_words();
  if (!ready_) return unreachable(host_, plan_.roles_on(host_.spec.name), status, said);
  return {ExitCode::unreachable, "host '" + host_.spec.name + "': the connection is lost (its process " +
                                     describe_status(status) + (said.empty() ? "" : ": " + said) +
                                     "), and with it " + plan_.roles_on(host_.spec.name)};
}

void RemoteHost::leave() {
  if (std::exchange(left_, true)) return;
  command_.close();
  door_.close();
}

HostLog::HostLog(std::string path, std::string source, const HostLimits& limits, const Warning& warn)
    : path_(std::move(path)), source_(std::move(source)), limits_(limits), warn_(warn) {}

void HostLog::open() {
  if (file_) return;
  file_.emplace(path_, LineFile::Links::refuse);
  std::error_code ignored;
  room_ = limits_.bytes - std::min<std::uint64_t>(limits_.bytes, std::filesystem::file_size(path_, ignored));
}

bool HostLog::add(const std::string& line, Time now) {
  if (now - minute_ >= minute) begin_minute(now);
  if (++lines_ > limits_.lines_a_minute) {
    ++left_out_;
    if (!std::exchange(warned_, true))
      warn_(source_ + " sends more than " + std::to_string(limits_.lines_a_minute) +
            " lines a minute: the launcher drops the rest of each minute");
    return false;
  }
  note(line.substr(0, longest_said), now);
  return true;
}

void HostLog::note(const std::string& line, Time now) {
  open();
  if (full_) return;
  full_ = line.size() >= room_;  // the newline needs a byte, too
  if (!full_) {
    room_ -= line.size() + 1;
    return file_->add(line, now);
  }
  const std::string limit = std::to_string(limits_.bytes) + " bytes";
  file_->add("steelyard: this log has reached its limit of " + limit + ": later lines are dropped", now);
  warn_(source_ + ": " + path_ + " has reached its limit of " + limit + ": later lines are dropped");
}

void HostLog::begin_minute(Time now) {
  if (left_out_ > 0) note("steelyard: " + std::to_string(left_out_) + " lines of a minute were dropped", now);
  minute_ = now;
  lines_ = left_out_ = 0;
}

void HostLog::flush(Time now) {
  if (left_out_ > 0 && now - minute_ >= minute) begin_minute(now);
  if (file_) file_->flush(now);
}

HostDoor::HostDoor(const LaunchPlan& plan, const std::string& host, const RunDirectory& run, Warning warn,
                   const HostLimits& limits)
    : host_("host '" + host + "'"),
      warn_(std::move(warn)),
      limits_(limits),
      own_(run.log("host-" + host), host_ + ": the connection", limits_, warn_) {
  for (const LaunchProcess& it : plan.processes) {
    if (it.host == host)
      logs_.try_emplace(it.name, run.log(it.name), host_ + ": process '" + it.name + "'", limits_, warn_);
  }
}

void HostDoor::open_log(const std::string& process) {
  const auto found = logs_.find(process);
  CHECK(found != logs_.end(), "the plan has no such process on this host");
  found->second.open();
}

bool HostDoor::take(const FromHost& message, Time now) {
  return std::visit(Overloaded{
                        [](const HostReady&) { return true; },
                        [&](const Said& it) {
                          const auto log = logs_.find(it.name);
                          return log == logs_.end() ? refuse(it.name) : log->second.add(it.text, now);
                        },
                        [&](const ProcessEnded& it) { return logs_.contains(it.name) || refuse(it.name); },
                    },
                    message);
}

// Warns only once, so that a host cannot fill a terminal or a log.
bool HostDoor::refuse(const std::string& process) {
  if (refused_++ == 0)
    warn_(host_ + " sends a line about a process '" + shown_line(process, longest_name) +
          "', which the job does not run there: the launcher ignores such lines; check which program answers "
          "on that host");
  return false;
}

void HostDoor::flush(Time now) {
  own_.flush(now);
  for (auto& [process, log] : logs_) log.flush(now);
}

void HostDoor::close() const {
  if (refused_ > 1)
    warn_(host_ + " has sent " + std::to_string(refused_) +
          " lines about processes that the job does not run there");
}

}  // namespace steelyard
