#include "worker/compute/parallel_engine.h"

#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>

#include "core/check.h"
#include "core/interval.h"
#include "core/parallel.h"

namespace steelyard {
namespace {

// A micro-batch with its own memory.
struct Copy {
  std::vector<float> inputs;
  std::vector<std::uint32_t> labels;
  std::vector<float> targets;
  std::vector<std::uint64_t> positions;
  nn::MicroBatch batch;
  bool last = false;  // for this engine

  void take(const nn::MicroBatch& from, ParallelEngine::SampleSize sample) {
    inputs.assign(from.inputs, from.inputs + from.size * sample.inputs);
    labels.assign(from.labels, from.labels + std::uint64_t{from.size} * sample.labels);
    positions.assign(from.positions, from.positions + from.size);
    batch = from;
    batch.inputs = inputs.data();
    batch.labels = labels.data();
    batch.positions = positions.data();
    if (from.targets == nullptr) return;
    targets.assign(from.targets, from.targets + std::uint64_t{from.size} * sample.targets);
    batch.targets = targets.data();
  }
};

using AddUp = std::function<void(std::uint64_t begin, std::uint64_t end, std::size_t engines)>;
using Work = std::function<nn::Sums(std::size_t engine, Samples& samples, const FinalRange& on_final)>;

// One call. An engine that runs out deals out the next micro-batches, and the engine that makes a range final
// last adds it up. No engine waits for another, so any number of threads works.
class Call {
 public:
  // Reads one micro-batch per engine while samples last; only engines that got one compute.
  Call(Samples& samples, ParallelEngine::SampleSize sample, std::size_t engines)
      : samples_(samples), sample_(sample), dealt_(engines) {
    while (!ended_ && read_ < engines) read();
    computing_ = read_;
  }

  // `add_up` receives the ranges of [0, floats), each once, when they are final in all engines that compute,
  // and the number of these engines.
  nn::Sums run(const Work& work, std::uint64_t floats, const AddUp& add_up) {
    std::vector<nn::Sums> sums(computing_);
    parallel_for(computing_, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t engine = begin; engine < end; ++engine) {
        try {
          Share share(*this, engine);
          sums[engine] =
              work(engine, share, [&](std::uint64_t from, std::uint64_t to) { finish(from, to, add_up); });
        } catch (...) {
          fail(std::current_exception());
        }
      }
    });
    if (failure_) std::rethrow_exception(failure_);
    for (const Interval rest : added_.gaps({0, computing_ == 0 ? 0 : floats})) {
      add_up(rest.begin, rest.end, computing_);
    }
    nn::Sums all;
    for (const nn::Sums& one : sums) all += one;
    return all;
  }

 private:
  // The micro-batches of one engine.
  class Share final : public Samples {
   public:
    Share(Call& call, std::size_t engine) : call_(call), engine_(engine) {}
    const nn::MicroBatch* next() override {
      current_ = call_.next(engine_, std::move(current_));
      return current_ ? &current_->batch : nullptr;
    }
    [[nodiscard]] bool at_end() const override { return current_->last; }

   private:
    Call& call_;
    const std::size_t engine_;
    std::unique_ptr<Copy> current_;
  };

  // Reads one micro-batch more than it returns, to know which is the last.
  std::unique_ptr<Copy> next(std::size_t engine, std::unique_ptr<Copy> used) {
    const std::lock_guard lock(mutex_);
    if (used) free_.push_back(std::move(used));
    std::deque<std::unique_ptr<Copy>>& own = dealt_[engine];
    while (!ended_ && own.size() < 2) read();
    if (own.empty()) return nullptr;
    std::unique_ptr<Copy> copy = std::move(own.front());
    own.pop_front();
    copy->last = own.empty();
    return copy;
  }

  void read() {
    ended_ = true;  // also if next() throws
    const nn::MicroBatch* batch = samples_.next();
    if (batch == nullptr) return;
    ended_ = false;
    if (free_.empty()) free_.push_back(std::make_unique<Copy>());
    free_.back()->take(*batch, sample_);
    dealt_[read_++ % dealt_.size()].push_back(std::move(free_.back()));
    free_.pop_back();
  }

  void finish(std::uint64_t begin, std::uint64_t end, const AddUp& add_up) {
    const std::lock_guard lock(mutex_);
    if (failure_ || ++finals_[begin] < computing_) return;
    add_up(begin, end, computing_);
    added_.add({begin, end});
  }

  // Ends the other engines soon.
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    ended_ = true;
    for (auto& own : dealt_) own.clear();
  }

  Samples& samples_;
  const ParallelEngine::SampleSize sample_;
  std::mutex mutex_;                                      // protects all below, `samples_` and calls of
                                                          // add_up
  std::vector<std::deque<std::unique_ptr<Copy>>> dealt_;  // to each engine
  std::vector<std::unique_ptr<Copy>> free_;
  std::size_t read_ = 0, computing_ = 0;
  bool ended_ = false;
  std::map<std::uint64_t, std::size_t> finals_;  // engines that finished it, by the begin of a range: all
                                                 // report the same ranges
  IntervalSet added_;
  std::exception_ptr failure_;
};

}  // namespace

ParallelEngine::ParallelEngine(std::vector<std::unique_ptr<Engine>> engines, SampleSize sample)
    : sample_(sample), engines_(std::move(engines)), gradients_(engines_.size() - 1) {
  CHECK(!engines_.empty(), "no engine to compute with");
}

nn::Sums ParallelEngine::train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                               const FinalRange& on_final) {
  for (auto& own : gradients_) {
    if (!own) own = std::make_unique<FloatBuffer>(gradient.size());
  }
  const Work work = [&](std::size_t engine, Samples& its, const FinalRange& final) {
    const std::span<float> sum = engine == 0 ? gradient : gradients_[engine - 1]->span();
    return engines_[engine]->train(parameters, its, sum, final);
  };
  const AddUp add_up = [&](std::uint64_t begin, std::uint64_t end, std::size_t engines) {
    for (std::size_t engine = 1; engine < engines; ++engine) {
      const float* from = gradients_[engine - 1]->data();
      for (std::uint64_t i = begin; i < end; ++i) gradient[i] += from[i];
    }
    if (on_final) on_final(begin, end);
  };
  return Call(samples, sample_, engines_.size()).run(work, gradient.size(), add_up);
}

nn::Sums ParallelEngine::evaluate(std::span<const float> parameters, Samples& samples) {
  const Work work = [&](std::size_t engine, Samples& its, const FinalRange&) {
    return engines_[engine]->evaluate(parameters, its);
  };
  return Call(samples, sample_, engines_.size()).run(work, 0, [](std::uint64_t, std::uint64_t, std::size_t) {
  });
}

std::vector<std::uint32_t> ParallelEngine::micro_batch_sizes() const {
  return engines_.front()->micro_batch_sizes();
}

std::uint64_t ParallelEngine::bytes() const {
  std::uint64_t all = 0;
  for (const auto& engine : engines_) all += engine->bytes();
  for (const auto& own : gradients_) all += own ? own->size() * sizeof(float) : 0;
  return all;
}

}  // namespace steelyard
