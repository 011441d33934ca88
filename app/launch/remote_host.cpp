#include "app/launch/remote_host.h"

#include <optional>
#include <utility>

#include "app/report/terminal_text.h"
#include "protocol/codec.h"

namespace steelyard {
namespace {

constexpr Duration between_beats = std::chrono::seconds(5);       // attend waits five minutes for the next
constexpr Duration first_word = std::chrono::minutes(1);          // from a host
constexpr std::size_t kept_words = 5;                             // lines
constexpr std::size_t longest_word = 300, longest_release = 100;  // columns, in a message for people

}  // namespace

RemoteHost::RemoteHost(const LaunchPlan& plan, const LaunchHost& host, const RunDirectory& run, Warning warn)
    : plan_(plan), host_(host), door_(plan, host.spec.name, run, std::move(warn)) {
  const Pipe in = std::move(to_host_), out = std::move(from_host_), error = std::move(errors_);
  children_.start(host.spec.name, {.path = host.reach.front(),
                                   .arguments = {host.reach.begin() + 1, host.reach.end()},
                                   .in = in.read.number(),
                                   .out = out.write.number(),
                                   .error = error.write.number()});
}

void RemoteHost::tell(const ToHost& message) {
  if (const auto* it = std::get_if<StartProcess>(&message))
    door_.open_log(it->name);  // there, and empty if it is silent
  in_.add(to_line(message));
}

std::vector<FromHost> RemoteHost::hear(Time now) {
  if (now - beat_ > between_beats) {
    beat_ = now;
    tell(Beat{});
  }
  in_.flush();
  for (const Child& child : children_.ended()) status_ = child.status;
  std::vector<FromHost> news;
  for (std::string& line : error_.read()) {
    if (line.ends_with('\r')) line.pop_back();  // ssh thinks that a terminal reads it
    door_.other(line, now);
    words_.push_back(shown_line(line, longest_word));
    if (words_.size() > kept_words) words_.pop_front();
  }
  for (const std::string& line : out_.read()) {
    std::optional<FromHost> message = from_host(line);
    if (!message) {
      door_.other(line, now);  // a login shell that greets
      continue;
    }
    if (!door_.take(*message, now)) continue;
    if (const auto* it = std::get_if<HostReady>(&*message)) check(*it);
    news.push_back(std::move(*message));
  }
  door_.flush(now);
  if (left_) return news;
  if (status_ && news.empty()) throw lost(*status_);
  if (!ready_ && now - since_ > first_word) {
    throw Failure(ExitCode::unreachable,
                  "host '" + host_.spec.name + "' (" + plan_.roles_on(host_.spec.name) +
                      "): no answer within a minute: does `" + shell_line(host_.reach) + "` work?");
  }
  return news;
}

void RemoteHost::check(const HostReady& message) {
  ready_ = true;
  if (message.protocol == protocol_version) return;
  throw Failure(ExitCode::protocol,
                "host '" + host_.spec.name + "' (" + plan_.roles_on(host_.spec.name) +
                    ") has another release (" + shown_line(message.release, longest_release) +
                    "), which speaks protocol " + std::to_string(message.protocol) + ", not " +
                    std::to_string(protocol_version) + ": install the same release everywhere");
}

Failure RemoteHost::lost(int status) const {
  std::string said;
  for (const std::string& line : words_) said += (said.empty() ? "" : "; ") + line;
  if (!ready_) return unreachable(plan_, host_, status, said);
  return {ExitCode::unreachable, "host '" + host_.spec.name + "': the connection is lost (" +
                                     describe_status(status) + (said.empty() ? "" : ": " + said) +
                                     "), and with it " + plan_.roles_on(host_.spec.name)};
}

void RemoteHost::leave() {
  if (std::exchange(left_, true)) return;
  in_.close();
  door_.close();
}

}  // namespace steelyard
