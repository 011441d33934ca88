// Polite workers: who owns the machine comes first.
//
// The kernel lets a polite worker's computing have what nobody else wants (give_way). That is not enough:
// between the groups of systemd, of containers and of sessions shares are equal, whatever runs in them; and
// memory and caches are shared too. So the worker looks how many cores others use, and computes on the rest:
// where c are left and it has t threads, it pauses after each micro-batch until it has worked for the share
//
//   polite_share = c / t, at least 1/20 and at most 1
//
// of the time. Its measured speed falls with that, and balancing gives it less to do. Where nothing is left
// it gets no piece (scheduler/rounds/progress_monitor.h), unless it is alone; what it then takes is t/20 of a
// core. Where nothing keeps the two apart, whatever it takes makes the others' use look smaller; but each
// look takes that off again, so it comes down to the least.
//
// Who is nice to the owner counts for nothing: programs with a nice value above 0, other polite workers
// among them. Processors only: of a GPU it is not known what others use.
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

namespace steelyard {

// LeftWatch: tells a polite worker, twice a second, what other programs leave of the processors that it may
// use.
//
// On a thread of its own that does not give way: the threads that compute come to nothing while the machine
// is full, which is when the others have to know.

// The share of the time that a worker with so many threads may work, without the least that polite_share()
// grants it. Negative: not known.
double left_share(double left, unsigned cores, unsigned threads);

class LeftWatch {
 public:
  // `tell` is called on this one's thread, with left_share(), until the destructor is.
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
  std::thread thread_;  // last: it uses all of the above
};

// Of a machine with so many cores, of whose time this share is left by programs that are not nice
// (Reading::left; negative: not known, then all is).
double polite_share(double left, unsigned cores, unsigned threads);

// The calling thread, and all that it starts from now on, run when nobody else wants the processor or the
// disk: SCHED_IDLE, nice 19, the idle class of input and output. If memory runs out, the kernel ends this
// process first. All of it needs no rights; what a system refuses all the same is left as it is.
void give_way();

// When to pause, and for how long. Belongs to one thread; nothing is known of a process before the first
// call.
class PolitePace {
 public:
  explicit PolitePace(unsigned threads, Meter meter = Meter());

  // The share it may work now. Looks at the machine at most five times a second.
  double share(Time now);
  // A micro-batch is done, after which this process had used so much processor time: sleeps for what that
  // comes to, 2 s at the most, a part at a time; no longer than `wanted`, or than others need the processor.
  void pause(Duration processor_time, const std::function<bool()>& wanted);

 private:
  const unsigned threads_;
  Meter meter_;
  Time looked_{};
  double share_ = 1;
  std::optional<Duration> worked_{};  // as of the last pause
  Duration debt_{};
};

// Any engine, politely: the workload's own, made on a thread that gives way.
class PoliteEngine final : public Engine {
 public:
  PoliteEngine(std::unique_ptr<Engine> engine, unsigned threads)
      : engine_(std::move(engine)), pace_(threads) {}

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override;
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override {
    return engine_->micro_batch_sizes();
  }
  [[nodiscard]] std::optional<double> weight() const override { return engine_->weight(); }
  [[nodiscard]] std::uint64_t bytes() const override { return engine_->bytes(); }
  std::optional<double> take_share() override { return engine_->take_share(); }
  [[nodiscard]] WorkPlace work_place() const override { return engine_->work_place(); }

 private:
  const std::unique_ptr<Engine> engine_;
  PolitePace pace_;
};

// The same workload with a polite engine of so many threads. Making the engine throws Failure (temporary) if
// the machine has not the memory for it without swapping.
Workload polite(Workload workload, unsigned threads);

}  // namespace steelyard
