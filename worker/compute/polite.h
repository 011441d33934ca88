// Background workers: the owner of the machine has priority.
//
// The kernel gives a background worker's computing only unused processor time (give_way). That is not enough:
// systemd, containers and login sessions each form a group, and groups get equal shares whatever runs in
// them; memory and caches are shared, too. The worker therefore measures how many cores others use, and
// computes on the rest. If c cores are left and it has t threads, it pauses after each micro-batch so that it
// computes only for the share
//
//   polite_share = c / t, at least 1/20 and at most 1
//
// of the time. Its measured speed drops accordingly, and the policy assigns it less work. If nothing is left
// it gets no piece (scheduler/rounds/progress_monitor.h), unless it is the only worker; then it uses t/20 of
// a core. If others get less time because of this worker, their use looks smaller, but each measurement
// corrects this, so the share falls to the minimum.
//
// Programs with a nice value above 0, including other background workers, do not count as the owner's. Only
// processors are measured: the load of others on a GPU is unknown.
#pragma once

#include <steelyard/engine.h>

#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/queue.h"
#include "core/time.h"
#include "worker/compute/meter.h"
#include "worker/compute/workload.h"
#include "worker/compute/wrapped_engine.h"

namespace steelyard {

// The share of the time that a worker with this many threads may work, without the minimum of polite_share().
// Negative: not known.
double left_share(double left, unsigned cores, unsigned threads);

// LeftWatch: reports twice a second which share of its processors other programs leave to a background
// worker.
//
// It runs on a thread of normal priority, because the computing threads get no time while the machine is
// busy, which is when the report is needed.
class LeftWatch {
 public:
  // `tell` is called on this object's thread, with left_share(), until the destructor runs.
  LeftWatch(unsigned threads, std::function<void(double share)> tell, Meter meter = Meter());
  ~LeftWatch();
  LeftWatch(const LeftWatch&) = delete;
  LeftWatch& operator=(const LeftWatch&) = delete;

 private:
  void run();

  const unsigned threads_;
  const std::function<void(double)> tell_;
  Meter meter_;
  BoundedQueue<bool> end_{1};
  std::thread thread_;  // last: uses all of the above
};

// The share by the formula above. `left` is Reading::left of a machine with this many cores; negative: not
// known, then the result is 1.
double polite_share(double left, unsigned cores, unsigned threads);

// Lowers the priority of the calling thread, and of all threads and processes that it starts later:
// SCHED_IDLE, nice 19, the idle class of input and output. If memory runs out, the kernel kills this process
// first. Needs no privileges; settings that the system refuses are left unchanged.
void give_way();

// When to pause, and for how long. Belongs to one thread. The first call only sets the starting point.
class PolitePace {
 public:
  explicit PolitePace(unsigned threads, Meter meter = Meter());

  // The share of the time that the worker may compute now. Measures at most five times a second.
  double share(Time now);
  // Call after each micro-batch, with this process's total processor time. Sleeps in short steps, at most 2
  // s, until the share is met; ends early once `wanted` returns false or no other program needs the
  // processor.
  void pause(Duration processor_time, const std::function<bool()>& wanted);

 private:
  const unsigned threads_;
  Meter meter_;
  Time looked_{};
  double share_ = 1;
  std::optional<Duration> worked_{};  // at the last pause
  Duration debt_{};
};

// Makes any engine polite: pauses after its micro-batches. The engine is made on a thread that has called
// give_way().
class PoliteEngine final : public WrappedEngine {
 public:
  PoliteEngine(std::unique_ptr<Engine> engine, unsigned threads)
      : WrappedEngine(std::move(engine)), pace_(threads) {}

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override;

 private:
  PolitePace pace_;
};

// The workload with a polite engine of this many threads. Making the engine throws Failure (temporary) if it
// does not fit into the free memory without swapping.
Workload polite(Workload workload, unsigned threads);

}  // namespace steelyard
