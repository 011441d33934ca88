#include "worker/compute/parallel_engine.h"

#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "core/check.h"
#include "core/interval.h"
#include "core/queue.h"

namespace steelyard {
namespace {

// A micro-batch with memory of its own.
struct Copy {
  std::vector<float> inputs;
  std::vector<std::uint32_t> labels;
  std::vector<std::uint64_t> positions;
  nn::MicroBatch batch;
  bool last = false;  // for this engine

  void take(const nn::MicroBatch& from, ParallelEngine::SampleSize sample) {
    inputs.assign(from.inputs, from.inputs + from.size * sample.inputs);
    labels.assign(from.labels, from.labels + std::uint64_t{from.size} * sample.labels);
    positions.assign(from.positions, from.positions + from.size);
    last = false;
    batch = from;
    batch.inputs = inputs.data();
    batch.labels = labels.data();
    batch.positions = positions.data();
  }
};

// What one engine gets to compute. next() and at_end() are its thread's, all else the dealer's.
class Lane final : public Samples {
 public:
  Lane() {
    for (int i = 0; i < 3; ++i) free_.push(std::make_unique<Copy>());
  }

  const nn::MicroBatch* next() override {
    if (current_) free_.push(std::move(current_));
    current_ = full_.pop().value_or(nullptr);
    return current_ ? &current_->batch : nullptr;
  }
  [[nodiscard]] bool at_end() const override { return current_->last; }

  // Held back until it is known whether it is the last one. False: the engine wants no more.
  bool give(const nn::MicroBatch& batch, ParallelEngine::SampleSize sample) {
    if (held_ && !full_.push(std::move(held_))) return false;
    std::optional<std::unique_ptr<Copy>> copy = free_.pop();
    if (!copy) return false;
    held_ = std::move(*copy);
    held_->take(batch, sample);
    return true;
  }
  void end() {
    if (held_) {
      held_->last = true;
      full_.push(std::move(held_));
    }
    full_.close();
  }
  // The engine computes no more.
  void close() {
    full_.close();
    free_.close();
  }

 private:
  BoundedQueue<std::unique_ptr<Copy>> free_{4}, full_{2};
  std::unique_ptr<Copy> held_, current_;
};

// What a thread has to say to the dealer.
struct Event {
  std::uint64_t begin = 0, end = 0;  // final; or, if empty, done
  nn::Sums sums{};
  std::exception_ptr failure{};
};

using AddUp = std::function<void(std::uint64_t begin, std::uint64_t end, std::size_t engines)>;
using Work = std::function<nn::Sums(std::size_t engine, Samples& samples, const FinalRange& on_final)>;

// One call: deals micro-batches out, and listens.
class Call {
 public:
  Call(std::size_t engines, Work work) : lanes_(engines), work_(std::move(work)) {}
  ~Call() { join(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void deal(Samples& samples, ParallelEngine::SampleSize sample) {
    for (std::size_t i = 0; const nn::MicroBatch* batch = samples.next(); ++i) {
      const std::size_t engine = i % lanes_.size();
      if (i < lanes_.size()) threads_.emplace_back([this, engine] { run(engine); });
      if (!lanes_[engine].give(*batch, sample)) break;
    }
    for (Lane& lane : lanes_) lane.end();
  }

  // `add_up` gets, of so many floats, each once, when it is final in all engines that computed: so many.
  nn::Sums listen(std::uint64_t floats, const AddUp& add_up) {
    nn::Sums sums;
    IntervalSet told;
    std::exception_ptr failure;
    std::map<std::uint64_t, std::size_t> finals;  // engines, by the begin of a range: all tell the same ones
    for (std::size_t done = 0; done < threads_.size();) {
      const Event event = *events_.pop();
      if (event.begin != event.end) {
        if (++finals[event.begin] == threads_.size() && !failure) {
          add_up(event.begin, event.end, threads_.size());
          told.add({event.begin, event.end});
        }
        continue;
      }
      ++done;
      sums += event.sums;
      if (!failure) failure = event.failure;
    }
    if (failure) std::rethrow_exception(failure);
    for (const Interval rest : told.gaps({0, threads_.empty() ? 0 : floats})) {
      add_up(rest.begin, rest.end, threads_.size());
    }
    return sums;
  }

 private:
  void join() {
    for (Lane& lane : lanes_) lane.end();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(std::size_t engine) {
    Event done;
    try {
      done.sums = work_(engine, lanes_[engine], [this](std::uint64_t begin, std::uint64_t end) {
        events_.push({begin, end});
      });
    } catch (...) {
      done.failure = std::current_exception();
    }
    lanes_[engine].close();
    events_.push(done);
  }

  std::vector<Lane> lanes_;
  const Work work_;
  BoundedQueue<Event> events_{1U << 20};  // an engine never waits for the dealer
  std::vector<std::thread> threads_;
};

}  // namespace

ParallelEngine::ParallelEngine(std::vector<std::unique_ptr<Engine>> engines, SampleSize sample)
    : sample_(sample), engines_(std::move(engines)), gradients_(engines_.size() - 1) {
  CHECK(!engines_.empty(), "there is no engine to compute with");
}

nn::Sums ParallelEngine::train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                               const FinalRange& on_final) {
  for (auto& own : gradients_) {
    if (!own) own = std::make_unique<FloatBuffer>(gradient.size());
  }
  Call call(engines_.size(), [&](std::size_t engine, Samples& its, const FinalRange& final) {
    const std::span<float> sum = engine == 0 ? gradient : gradients_[engine - 1]->span();
    return engines_[engine]->train(parameters, its, sum, final);
  });
  call.deal(samples, sample_);
  return call.listen(gradient.size(), [&](std::uint64_t begin, std::uint64_t end, std::size_t engines) {
    for (std::size_t engine = 1; engine < engines; ++engine) {
      const float* from = gradients_[engine - 1]->data();
      for (std::uint64_t i = begin; i < end; ++i) gradient[i] += from[i];
    }
    if (on_final) on_final(begin, end);
  });
}

nn::Sums ParallelEngine::evaluate(std::span<const float> parameters, Samples& samples) {
  Call call(engines_.size(), [&](std::size_t engine, Samples& its, const FinalRange&) {
    return engines_[engine]->evaluate(parameters, its);
  });
  call.deal(samples, sample_);
  return call.listen(0, [](std::uint64_t, std::uint64_t, std::size_t) {});
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
