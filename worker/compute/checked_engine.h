// CheckedEngine: an engine that periodically compares its gradients with those of the CPU. A device that
// computes wrong results (through faulty memory, an unsuitable driver or a wrong kernel) would silently
// corrupt the training of all workers.
//
// The engine keeps some samples of the first piece, and of one in 1024 after it (check_schedule.h): up to 32,
// fewer if a CPU would need more than a few seconds. When the next piece begins, they are computed three
// times from its parameters: by the engine; by a network on the CPU in float32 (`processor` below); and by
// that network with all parameters moved by the rounding error of the engine's precision (`moved`). The
// difference of the last two shows how much rounding alone changes this model's gradient (much, if many ReLUs
// follow each other). With |.| the norm of the whole gradient, the engine may differ by
//
//   |engine - processor| <= max(floor, 10 |moved - processor| / |processor|) |processor|
//
// where floor is 1e-3 in float32, 1e-2 in tf32, and 5e-2 in bf16. If two checks in a row exceed this limit,
// the worker exits with a Failure that names the difference; the other workers continue.
//
// The CPU computes on a thread of its own while pieces go on, with copies; the engine computes before the
// first micro-batch of the piece is asked for. So the time of a piece includes no part of a check but the
// copy of some samples. (With local steps on the host it includes the engine's part.) Samples that the
// engine keeps on its device are read again for the CPU, so that errors in the memory that keeps them are
// found, too.
#pragma once

#include <steelyard/engine.h>
#include <steelyard/model.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "core/device_name.h"
#include "core/time.h"
#include "worker/compute/check_schedule.h"
#include "worker/compute/device_trainer.h"
#include "worker/compute/local_trainer.h"
#include "worker/compute/wrapped_engine.h"

namespace steelyard {

class CheckedEngine final : public WrappedEngine, public DeviceTrainer {
 public:
  // `name` of the device, for the message. `clock` is read on both threads.
  CheckedEngine(std::unique_ptr<Engine> engine, const nn::Model& model, Precision precision, std::string name,
                std::function<Time()> clock = steady_now);
  ~CheckedEngine() override;  // waits for at most one gradient of the CPU

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override {
    return engine_->evaluate(parameters, samples);
  }
  [[nodiscard]] LocalTrainer* local_trainer() override {
    return engine_->local_trainer() != nullptr ? &steps_ : nullptr;
  }
  [[nodiscard]] DeviceTrainer* device_trainer() override {
    return engine_->device_trainer() != nullptr ? this : nullptr;
  }
  // If the engine is a DeviceTrainer.
  [[nodiscard]] bool has_here(const Blob& parameters) const override {
    return engine_->device_trainer()->has_here(parameters);
  }
  nn::Sums train_there(const Blob& parameters, Samples& samples, const DeviceGradient& gradient) override;
  nn::Sums evaluate_there(const Blob& parameters, Samples& samples) override {
    return engine_->device_trainer()->evaluate_there(parameters, samples);
  }

  // Waits for the comparison that runs, if any, and throws as train() does then at the next piece.
  void settle();

 private:
  // The first samples of a micro-batch, copied.
  struct KeptBatch {
    // `data`: what the engine keeps, if `from` consists of that.
    KeptBatch(const nn::Model& model, const nn::MicroBatch& from, std::uint32_t count, const KeptData* data);
    KeptBatch(const KeptBatch&) = delete;
    KeptBatch& operator=(const KeptBatch&) = delete;
    std::vector<float> inputs, targets;
    std::vector<std::uint32_t> labels;
    std::vector<std::uint64_t> positions;
    std::vector<nn::KeptSample> samples;  // that the engine keeps: the device computes with these
    nn::MicroBatch batch;
  };
  struct Comparison {
    double off = 0, limit = 0;  // as a share of the processor's gradient
    bool comparable = false;
    Duration cost{};  // of device and processor
  };

  // Local steps where the engine makes them: checked as pieces are, by samples of the first step.
  class Steps final : public LocalTrainer {
   public:
    explicit Steps(CheckedEngine& engine) : engine_(engine) {}
    bool begin(std::span<const float> parameters, std::span<float> moved) override;
    nn::Sums train(Samples& samples) override;
    double sum_of_squares(std::span<const Interval> ranges) override { return its().sum_of_squares(ranges); }
    void step(std::span<const nn::LocalRange> ranges, bool first) override { its().step(ranges, first); }
    void finish(std::span<float> moved, const FinalRange& on_final) override {
      its().finish(moved, on_final);
    }
    void end() override { its().end(); }

   private:
    [[nodiscard]] LocalTrainer& its() const { return *engine_.engine_->local_trainer(); }
    CheckedEngine& engine_;
    bool begun_ = false;  // the first step was not yet trained
  };

  // Before the first micro-batch is asked for, which starts the clock of the piece. `parameters` returns
  // those of the piece, on the host.
  void before_piece(const std::function<std::span<const float>()>& parameters);
  // The first micro-batch of a piece, some of which may be kept. Null if it has none.
  const nn::MicroBatch* first_of(Samples& samples);
  // Calls train(samples) with all samples.
  nn::Sums train_checked(const std::function<std::span<const float>()>& parameters, Samples& samples,
                         const std::function<nn::Sums(Samples&)>& train);
  void begin_comparison(std::span<const float> parameters);
  // On its own thread.
  [[nodiscard]] Comparison compare(const std::vector<float>& parameters, const KeptBatch& kept,
                                   const std::vector<float>& ours) const;
  void conclude();

  const nn::Model model_;  // the processor's copy
  const Precision precision_;
  const std::uint32_t samples_;  // per check
  const std::string name_;
  const std::function<Time()> clock_;
  Steps steps_{*this};
  CheckSchedule schedule_;
  std::unique_ptr<KeptBatch> kept_;     // to be compared when the next piece begins
  bool beyond_ = false;                 // the last check exceeded the limit
  std::atomic<bool> leaving_ = false;   // the comparison may end early
  std::future<Comparison> comparison_;  // while it runs; last: uses all of the above
};

}  // namespace steelyard
