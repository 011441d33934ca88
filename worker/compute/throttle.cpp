#include "worker/compute/throttle.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/error.h"

namespace steelyard {
namespace {

constexpr double slowest = 1000, least_share = 0.01;

std::optional<StepFunction> read_slow(std::string_view text) { return StepFunction::read(text, 1, slowest); }
std::optional<StepFunction> read_cpu(std::string_view text) {
  return StepFunction::read(text, least_share, 1);
}

std::string expected(const std::string& level, const std::string& example) {
  return level +
         ", or several levels with their start times in seconds since the first computation, as in \"" +
         example + "\"; a final \"again@30\" repeats them every 30 s";
}

StepFunction demand(const char* what, const std::string& text, const std::optional<StepFunction>& read,
                    const std::string& expected) {
  if (read) return *read;
  refuse_setup(std::string(what) + " = \"" + text + "\": give " + expected);
}

// A request for the next micro-batch means that the previous one is done.
class ThrottledSamples final : public Samples {
 public:
  ThrottledSamples(Samples& samples, ThrottleClock& clock) : samples_(samples), clock_(clock) {}

  const nn::MicroBatch* next() override {
    if (working_) clock_.rest();
    const nn::MicroBatch* batch = samples_.next();
    working_ = batch != nullptr;
    if (working_) clock_.begin();
    return batch;
  }
  [[nodiscard]] bool at_end() const override { return samples_.at_end(); }
  [[nodiscard]] bool wanted() const override { return samples_.wanted(); }

 private:
  Samples& samples_;
  ThrottleClock& clock_;
  bool working_ = false;
};

}  // namespace

Throttle Throttle::parse(const std::string& slow, const std::string& cpu) {
  return {demand("slow", slow, read_slow(slow), slow_expected()),
          demand("cpu", cpu, read_cpu(cpu), cpu_expected())};
}

bool Throttle::is_slow(std::string_view text) { return read_slow(text).has_value(); }

bool Throttle::is_cpu(std::string_view text) { return read_cpu(text).has_value(); }

const std::string& Throttle::slow_expected() {
  static const std::string text = expected("a number from 1 to 1000", "2, 6@10, 2@20");
  return text;
}

const std::string& Throttle::cpu_expected() {
  static const std::string text = expected("a share from 0.01 to 1", "1, 0.4@10, 1@20");
  return text;
}

void ThrottleClock::begin() {
  if (throttle_.full_speed()) return;
  part_ = steady_now();
  if (first_) return;  // work between two micro-batches counts, too
  first_ = part_;
  worked_ = thread_cpu_time();
}

void ThrottleClock::rest() { rest(thread_cpu_time() - worked_); }

void ThrottleClock::rest(Duration worked) {
  if (throttle_.full_speed() || !first_) return;
  const double now = seconds(steady_now() - *first_), cpu = throttle_.cpu.at(now);
  // A sleep uses almost no processor time, so it does not cause further sleep.
  debt_ += from_seconds((throttle_.slow.at(now) / cpu - 1) * seconds(worked));
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

std::optional<double> ThrottleClock::take_share() {
  const double left = std::exchange(left_, 0), time = std::exchange(time_, 0);
  if (throttle_.cpu.is_always(1)) return std::nullopt;
  return time > 0 ? left / time : 1;
}

std::optional<double> ThrottleClock::share_at(Time now) const {
  if (throttle_.cpu.is_always(1)) return std::nullopt;
  constexpr int parts = 10;
  double sum = 0;
  for (int part = 0; part < parts; ++part) {
    const double before = 0.01 * part;
    sum += throttle_.cpu.at(first_ ? std::max(0.0, seconds(now - *first_) - before) : 0);
  }
  return sum / parts;
}

// Runs the engine without sleeps, then reports its final ranges with delays.
nn::Sums ThrottledEngine::held_back(const FinalRange& on_final,
                                    const std::function<nn::Sums(const FinalRange&)>& work) {
  struct Event {
    std::uint64_t begin, end;
    Duration worked;  // since the previous one
  };
  std::vector<Event> events;
  Time last = steady_now();
  const auto since_last = [&] {
    const Time now = steady_now();
    return now - std::exchange(last, now);
  };
  clock_.begin();
  const nn::Sums sums = work([&](std::uint64_t begin, std::uint64_t end) {
    events.push_back({begin, end, since_last()});
  });
  const Duration rest = since_last();
  for (const Event& event : events) {
    clock_.rest(event.worked);
    on_final(event.begin, event.end);
  }
  clock_.rest(rest);
  return sums;
}

nn::Sums ThrottledEngine::train(std::span<const float> parameters, Samples& samples,
                                std::span<float> gradient, const FinalRange& on_final) {
  if (work_place() != WorkPlace::this_thread) {
    return held_back(on_final, [&](const FinalRange& told) {
      return engine_->train(parameters, samples, gradient, told);
    });
  }
  ThrottledSamples throttled(samples, clock_);
  return engine_->train(parameters, throttled, gradient, [&](std::uint64_t begin, std::uint64_t end) {
    clock_.rest();
    on_final(begin, end);
  });
}

nn::Sums ThrottledEngine::evaluate(std::span<const float> parameters, Samples& samples) {
  if (work_place() != WorkPlace::this_thread) {
    return held_back({}, [&](const FinalRange&) { return engine_->evaluate(parameters, samples); });
  }
  ThrottledSamples throttled(samples, clock_);
  return engine_->evaluate(parameters, throttled);
}

// Multiplies by the share that others really leave, if known.
std::optional<double> ThrottledEngine::take_share() {
  const std::optional<double> real = engine_->take_share(), pretended = clock_.take_share();
  return real && pretended ? *real * *pretended : real ? real : pretended;
}

}  // namespace steelyard
