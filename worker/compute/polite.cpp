#include "worker/compute/polite.h"

#include <linux/ioprio.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/time.h"

namespace steelyard {
namespace {

const Duration watch_every = milliseconds(500);

constexpr double least_cpu_left = 0.05;
constexpr int nicest = 19;
const Duration look_every = milliseconds(200), longest_pause = milliseconds(2000);

Duration process_cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Two versions of the parameters and two gradients on their way, as a worker keeps them, and the engine's
// memory.
double needed_mb(const Layout& layout, const Engine& engine) {
  return static_cast<double>(4 * layout.size() * sizeof(float) + engine.bytes()) / (1 << 20);
}

// A request for the next micro-batch means that the previous one is done, or dealt out to threads.
class PoliteSamples final : public Samples {
 public:
  PoliteSamples(Samples& samples, PolitePace& pace) : samples_(samples), pace_(pace) {}

  const nn::MicroBatch* next() override {
    pace_.pause(process_cpu_time(), [this] { return samples_.wanted(); });
    return samples_.next();
  }
  [[nodiscard]] bool at_end() const override { return samples_.at_end(); }
  [[nodiscard]] bool wanted() const override { return samples_.wanted(); }

 private:
  Samples& samples_;
  PolitePace& pace_;
};

}  // namespace

double left_share(double left, unsigned cores, unsigned threads) {
  return left < 0 ? -1 : std::min(1.0, left * cores / threads);
}

LeftWatch::LeftWatch(unsigned threads, std::function<void(double)> tell, Meter meter)
    : threads_(threads), tell_(std::move(tell)), meter_(std::move(meter)) {
  thread_ = std::thread([this] { run(); });
}

LeftWatch::~LeftWatch() {
  end_.try_push(true);
  thread_.join();
}

void LeftWatch::run() {
  while (!end_.pop(steady_now() + watch_every))
    tell_(left_share(meter_.measure().left, meter_.cores(), threads_));
}

double polite_share(double left, unsigned cores, unsigned threads) {
  return left < 0 ? 1 : std::clamp(left * cores / threads, least_cpu_left, 1.0);
}

void give_way() {
  const sched_param none{};
  (void)sched_setscheduler(0, SCHED_IDLE, &none);
  (void)setpriority(PRIO_PROCESS, 0, nicest);  // of the thread only, on Linux
  (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

PolitePace::PolitePace(unsigned threads, Meter meter) : threads_(threads), meter_(std::move(meter)) {}

double PolitePace::share(Time now) {
  if (now - looked_ < look_every) return share_;
  looked_ = now;
  return share_ = polite_share(meter_.measure().left, meter_.cores(), threads_);
}

void PolitePace::pause(Duration processor_time, const std::function<bool()>& wanted) {
  const Duration worked = processor_time - worked_.value_or(processor_time);
  worked_ = processor_time;
  const double part = share(steady_now());
  debt_ = std::min(longest_pause, debt_ + from_seconds(seconds(worked) / threads_ * (1 / part - 1)));
  while (debt_ > Duration{0} && wanted()) {
    const Time asleep = steady_now();
    std::this_thread::sleep_for(std::min(debt_, look_every));
    debt_ -= steady_now() - asleep;
    if (share(steady_now()) == 1) debt_ = std::min(debt_, Duration{0});  // the others are done
  }
}

nn::Sums PoliteEngine::train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                             const FinalRange& on_final) {
  PoliteSamples polite(samples, pace_);
  return engine_->train(parameters, polite, gradient, on_final);
}

nn::Sums PoliteEngine::evaluate(std::span<const float> parameters, Samples& samples) {
  PoliteSamples polite(samples, pace_);
  return engine_->evaluate(parameters, polite);
}

Workload polite(Workload workload, unsigned threads) {
  workload.make_engine = [make = std::move(workload.make_engine), layout = workload.layout, threads] {
    std::unique_ptr<Engine> engine = make();
    const double needed = needed_mb(layout, *engine), there = Meter().measure().memory;
    if (there >= 0 && needed > there) {
      throw Failure(ExitCode::temporary, "a background worker does not swap: this model needs " +
                                             std::to_string(static_cast<std::uint64_t>(needed) + 1) +
                                             " MB, and " + std::to_string(static_cast<std::uint64_t>(there)) +
                                             " MB are free: close other programs, or use another machine");
    }
    return std::make_unique<PoliteEngine>(std::move(engine), threads);
  };
  return workload;
}

}  // namespace steelyard
