#include "app/processes/status_logger.h"

#include <array>
#include <cstdio>
#include <utility>

#include "app/report/run_directory.h"
#include "transport/host.h"

namespace steelyard {
namespace {

constexpr Duration between_lines = std::chrono::minutes(1);

std::string rounded(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

}  // namespace

StatusLogger::StatusLogger(Link& link, std::string name, std::string device,
                           std::function<void(const std::string&)> say, Waiting wait)
    : link_(link), name_(std::move(name)), device_(std::move(device)), say_(std::move(say)), wait_(wait) {}

void StatusLogger::send(Envelope envelope) {
  if (const auto* message = std::get_if<ToScheduler>(&envelope.message)) {
    const auto* ready = std::get_if<Ready>(message);
    if (ready != nullptr && !std::exchange(ready_, true)) {
      if (!ready->computing.empty()) say_("computes with " + ready->computing);
      say_("model and data are ready: waiting for work");
    }
    if (const auto* report = std::get_if<Report>(message)) {
      ++pieces_;
      samples_ += report->piece.positions.size();
      seconds_ += report->seconds;
    }
  }
  link_.send(std::move(envelope));
}

std::optional<Envelope> StatusLogger::receive(Time deadline) {
  std::optional<Envelope> in = link_.receive(deadline);
  const Time now = steady_now();
  const bool was_stopped = deadline > Time{} && now - deadline > stopped_after;
  if (was_stopped) heard_ = now;  // this process was stopped, not the scheduler silent
  if (in) heard(*in, now);
  if (!job_.empty()) look_for_silence(now);
  if (job_.empty() && heard_ == Time{}) tell_waiting(now);
  return in;
}

void StatusLogger::heard(const Envelope& in, Time now) {
  if (in.from == scheduler_node) {
    heard_ = now;
    if (std::exchange(silent_, false)) say_("the scheduler answers again");
  }
  if (const auto* to_worker = std::get_if<ToWorker>(&in.message)) {
    const auto* welcome = std::get_if<Welcome>(to_worker);
    if (welcome != nullptr) joined(*welcome, "worker", welcome->job->workers);
    if (const auto* it = std::get_if<Unreachable>(to_worker))
      say_("server '" + server(it->node) + "' cannot be reached: " + it->why + "; trying again");
    if (const auto* roster = std::get_if<Roster>(to_worker)) {
      for (const ShardPlace& shard : roster->shards) shards_[shard.node] = shard.name;
    }
  } else if (const auto* to_shard = std::get_if<ToShard>(&in.message)) {
    const auto* welcome = std::get_if<Welcome>(to_shard);
    if (welcome != nullptr) joined(*welcome, "shard", welcome->job->shards);
    if (std::holds_alternative<Push>(*to_shard)) ++pushes_;
  }
  if (job_.empty() || pieces_ + pushes_ == 0) return;
  if (told_ != Time{} && now - told_ < between_lines) return;
  say_(told_ == Time{} ? "at work" : done() + " so far");
  told_ = now;
}

void StatusLogger::joined(const Welcome& welcome, const std::string& what, std::uint32_t places) {
  if (!job_.empty()) return;
  const Job& job = welcome.job;
  job_ = job.name;
  timeout_ = from_seconds(job.heartbeat_timeout);
  std::string text = "joined job '" + job.name + "' as '" + name_ + "', " + what + " " +
                     std::to_string(welcome.slot + 1) + " of " + std::to_string(places);
  if (!device_.empty())
    text += ": model '" + job.model + "', data '" + job.data + "', computing on " + device_;
  say_(text);
}

void StatusLogger::look_for_silence(Time now) {
  if (silent_ || now - heard_ <= timeout_) return;
  silent_ = true;
  say_("nothing from the scheduler for " + rounded(seconds(now - heard_)) + " s: still trying");
}

void StatusLogger::tell_waiting(Time now) {
  if (wait_.limit == Duration{} || now - waiting_told_ < wait_.between) return;
  waiting_told_ = now;
  say_("no answer from the scheduler yet: waiting for " + rounded(seconds(now - began_)) + " of " +
       rounded(seconds(wait_.limit)) + " s");
}

std::string StatusLogger::done() const {
  if (device_.empty()) return "summed " + std::to_string(pushes_) + " pushes";
  return "computed " + std::to_string(samples_) + " samples in " + std::to_string(pieces_) + " pieces, " +
         rounded(seconds_) + " s of computing";
}

std::string StatusLogger::server(NodeId shard) const {
  const auto known = shards_.find(shard);
  return known == shards_.end() ? to_string(shard) : known->second;
}

void StatusLogger::exchange(NodeId shard, Exchanged by) {
  const std::array ways{"': through sockets (another host or user, or --exchange sockets)",
                        "': through shared memory", "': through the memory of GPUs"};
  say_("parameters and gradients of server '" + server(shard) + ways.at(static_cast<std::size_t>(by)));
}

void StatusLogger::over(const ExitReason& ending) {
  if (job_.empty() || ending.refusal() || ending.unreachable()) return;
  say_("job '" + job_ + "' ended (" + name(ending.stop().outcome) + "): " + done());
}

}  // namespace steelyard
