// Throttle: slows an engine down as if its machine were slower, or at times used by others. For experiments
// on equal machines.
//
// After a micro-batch that took c seconds of processor time, the thread sleeps for (slow / cpu - 1) c, with
// the current levels of Throttle::slow and Throttle::cpu. Processor time is used so that the load of real
// co-tenants is not multiplied. If the kernel ends a sleep late, the surplus is subtracted from the next
// ones.
//
// An engine that computes elsewhere (Engine::work_place), on a GPU or on other threads, would continue during
// such a sleep. So its results are delayed instead: each range of the gradient, and the end, by
// (slow / cpu - 1) times the time since the previous one. This multiplies the load of co-tenants, too. If a
// delay is longer than the job's heartbeat_timeout, the scheduler may treat the worker as stalled.
#pragma once

#include <steelyard/engine.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"
#include "worker/compute/local_stepper.h"
#include "worker/compute/wrapped_engine.h"

namespace steelyard {

// `slow` and `cpu` differ in the worker's reports: `cpu` lowers the reported processor share, as other
// programs would; `slow` does not.
struct Throttle {
  StepFunction slow{1};  // factor on the compute time: 1 to 1000
  StepFunction cpu{1};   // share of the processor that others leave: 0.01 to 1

  [[nodiscard]] bool full_speed() const { return slow.is_always(1) && cpu.is_always(1); }

  // Parses the text forms (StepFunction in worker/compute/local_stepper.h). Throws Failure (configuration).
  static Throttle parse(const std::string& slow, const std::string& cpu);
  static bool is_slow(std::string_view text);
  static bool is_cpu(std::string_view text);
  static const std::string& slow_expected();  // both end a message that begins with "give"
  static const std::string& cpu_expected();
};

// The sleeping. Belongs to one thread.
class ThrottleClock {
 public:
  explicit ThrottleClock(Throttle throttle)
      : throttle_(std::move(throttle)) {}  // time counts from the first begin()

  void begin();                // a micro-batch begins
  void rest();                 // it has ended: sleeps for the thread's work since the last call
  void rest(Duration worked);  // the same, for work done elsewhere

  // The mean of `cpu` over the working time since the last call; std::nullopt if `cpu` is always 1.
  std::optional<double> take_share();

  // The mean of `cpu` over the 100 ms before this time; std::nullopt if `cpu` is always 1.
  [[nodiscard]] std::optional<double> share_at(Time now) const;

 private:
  const Throttle throttle_;
  std::optional<Time> first_;   // begin of all work
  Time part_{};                 // begin of the current part
  Duration worked_{0};          // the thread's CPU clock at the last call
  Duration debt_{0};            // still to sleep; negative after sleeping too long
  double left_ = 0, time_ = 0;  // for take_share(): the sum of cpu times time, and of time
};

// Any engine, throttled. A range of the gradient becomes final when it would on the slower machine.
class ThrottledEngine final : public WrappedEngine {
 public:
  ThrottledEngine(std::unique_ptr<Engine> engine, Throttle throttle)
      : WrappedEngine(std::move(engine)), clock_(std::move(throttle)) {}

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override;
  std::optional<double> take_share() override;
  [[nodiscard]] std::optional<double> share_at(Time now) const { return clock_.share_at(now); }

 private:
  nn::Sums held_back(const FinalRange& on_final, const std::function<nn::Sums(const FinalRange&)>& work);

  ThrottleClock clock_;
};

}  // namespace steelyard
