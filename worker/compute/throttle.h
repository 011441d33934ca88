// Throttle: makes an engine work as if its machine were slower than it is, or used by others at times, for
// experiments on equal machines.
//
// After a micro-batch that took c seconds of processor time, the thread sleeps for (slow / cpu - 1) c, with
// the levels that hold then. It is the processor time that counts: what a real co-tenant costs is not
// multiplied. Sleeps end late by what the kernel likes; the surplus is taken off the next ones.
//
// An engine that computes elsewhere (Engine::work_place), on a GPU or on other threads, would go on during
// such a sleep. It does its work undisturbed, and what it came to is held back: a range of the gradient, and
// the end, by (slow / cpu - 1) times the time since the one before. There what others cost is multiplied
// too; and what is held back for longer than a job's heartbeat_timeout looks like a worker that does not get
// on.
#pragma once

#include <steelyard/engine.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"
#include "worker/compute/local_stepper.h"

namespace steelyard {

// The difference is what a worker tells of it: of a slower machine nothing, of the share of its processor
// what a machine's own counters would say.
struct Throttle {
  StepFunction slow{1};  // computing takes so many times as long: 1 to 1000
  StepFunction cpu{1};   // share of the processor that others leave: 0.01 to 1

  [[nodiscard]] bool full_speed() const { return slow.is_always(1) && cpu.is_always(1); }

  // As they are written (worker/compute/local_stepper.h). Throws Failure (configuration).
  static Throttle parse(const std::string& slow, const std::string& cpu);
  static bool is_slow(std::string_view text);
  static bool is_cpu(std::string_view text);
  static const std::string& slow_expected();  // each ends a message that begins with "give"
  static const std::string& cpu_expected();
};

// The sleeping. Belongs to one thread.
class ThrottleClock {
 public:
  explicit ThrottleClock(Throttle throttle)
      : throttle_(std::move(throttle)) {}  // time counts from the first begin()

  void begin();  // a micro-batch begins here
  void rest();   // and has ended: what the thread has worked since the last call is made good for
  void rest(Duration worked);  // the same, where something else has worked for so long

  // The mean of `cpu` over the time of work since the last call; nothing if no other is pretended.
  std::optional<double> take_share();

 private:
  const Throttle throttle_;
  std::optional<Time> first_;   // when work began for the first time
  Time part_{};                 // when this part of it did
  Duration worked_{0};          // the thread's clock at the last call
  Duration debt_{0};            // still to be slept; negative after sleeping too long
  double left_ = 0, time_ = 0;  // of take_share(): the sum of cpu times time, and of time
};

// Any engine, throttled. A range of the gradient is final when a slower processor would have come so far.
class ThrottledEngine final : public Engine {
 public:
  ThrottledEngine(std::unique_ptr<Engine> engine, Throttle throttle)
      : engine_(std::move(engine)), clock_(std::move(throttle)) {}

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override;
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override {
    return engine_->micro_batch_sizes();
  }
  [[nodiscard]] std::optional<double> weight() const override { return engine_->weight(); }
  [[nodiscard]] std::uint64_t bytes() const override { return engine_->bytes(); }
  std::optional<double> take_share() override;
  [[nodiscard]] WorkPlace work_place() const override { return engine_->work_place(); }

 private:
  nn::Sums held_back(const FinalRange& on_final, const std::function<nn::Sums(const FinalRange&)>& work);

  const std::unique_ptr<Engine> engine_;
  ThrottleClock clock_;
};

}  // namespace steelyard
