#include "worker/compute/pace.h"

#include <thread>
#include <utility>

#include "core/error.h"

namespace steelyard {
namespace {

constexpr double slowest = 1000, least_share = 0.01;

std::optional<Staircase> read_slow(std::string_view text) { return Staircase::read(text, 1, slowest); }
std::optional<Staircase> read_cpu(std::string_view text) { return Staircase::read(text, least_share, 1); }

std::string expected(const std::string& level, const std::string& example) {
  return level +
         ", or several with the second from which each holds, counted from its first computation, as in \"" +
         example + "\"; with \"again@30\" as the last they repeat";
}

Staircase demand(const char* what, const std::string& text, const std::optional<Staircase>& read,
                 const std::string& expected) {
  if (read) return *read;
  throw Failure(ExitCode::configuration, std::string(what) + " = \"" + text + "\": give " + expected);
}

}  // namespace

Handicap Handicap::parse(const std::string& slow, const std::string& cpu) {
  return {demand("slow", slow, read_slow(slow), slow_expected()),
          demand("cpu", cpu, read_cpu(cpu), cpu_expected())};
}

bool Handicap::is_slow(std::string_view text) { return read_slow(text).has_value(); }

bool Handicap::is_cpu(std::string_view text) { return read_cpu(text).has_value(); }

const std::string& Handicap::slow_expected() {
  static const std::string text = expected("a number from 1 to 1000", "2, 6@10, 2@20");
  return text;
}

const std::string& Handicap::cpu_expected() {
  static const std::string text = expected("a share from 0.01 to 1", "1, 0.4@10, 1@20");
  return text;
}

Pace::Pace(Handicap handicap)
    : handicap_(std::move(handicap)), none_(handicap_.slow.is_always(1) && handicap_.cpu.is_always(1)) {}

void Pace::begin() {
  if (none_) return;
  part_ = steady_now();
  if (!first_) first_ = part_;
  worked_ = thread_cpu_time();
}

void Pace::rest() {
  if (none_ || !first_) return;
  const double now = seconds(steady_now() - *first_), cpu = handicap_.cpu.at(now);
  // Only what this thread itself has used; a sleep uses next to nothing, so it does not feed on itself.
  debt_ += from_seconds((handicap_.slow.at(now) / cpu - 1) * seconds(thread_cpu_time() - worked_));
  if (debt_ > Duration{0}) {
    const Time asleep = steady_now();
    std::this_thread::sleep_for(debt_);
    debt_ -= steady_now() - asleep;
  }
  worked_ = thread_cpu_time();
  const Time end = steady_now();
  const double took = seconds(end - std::exchange(part_, end));
  left_ += cpu * took;
  time_ += took;
}

std::optional<double> Pace::take_cpu() {
  const double left = std::exchange(left_, 0), time = std::exchange(time_, 0);
  if (handicap_.cpu.is_always(1)) return std::nullopt;
  return time > 0 ? left / time : 1;
}

}  // namespace steelyard
