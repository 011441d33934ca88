// CheckedEngine: an engine that periodically compares its gradients with those of the CPU. A device that
// computes wrong results (through faulty memory, an unsuitable driver or a wrong kernel) would silently
// corrupt the training of all workers.
//
// In the first piece, and in every 1024th after it, some samples (up to 32, fewer if a CPU would need more
// than a few seconds) are computed three times: by the engine; by a network on the CPU in float32
// (`processor` below); and by that network with all parameters moved by the rounding error of the engine's
// precision (`moved`). The difference of the last two shows how much rounding alone changes this model's
// gradient (much, if many ReLUs follow each other). With |.| the norm of the whole gradient, the engine may
// differ by
//
//   |engine - processor| <= max(floor, 10 |moved - processor| / |processor|) |processor|
//
// where floor is 1e-3 in float32, 1e-2 in tf32, and 5e-2 in bf16. If two checks in a row exceed this limit,
// the worker exits with a Failure that names the difference; the other workers continue.
#pragma once

#include <steelyard/engine.h>
#include <steelyard/model.h>

#include <memory>
#include <string>

#include "core/device_name.h"

namespace steelyard {

class CheckedEngine final : public Engine {
 public:
  // `name` of the device, for the message.
  CheckedEngine(std::unique_ptr<Engine> engine, const nn::Model& model, Precision precision,
                std::string name);

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override {
    return engine_->evaluate(parameters, samples);
  }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override {
    return engine_->micro_batch_sizes();
  }
  [[nodiscard]] std::uint64_t bytes() const override { return engine_->bytes(); }
  [[nodiscard]] WorkPlace work_place() const override { return engine_->work_place(); }
  std::optional<double> take_share() override { return engine_->take_share(); }
  DeviceReading read_device() override { return engine_->read_device(); }
  [[nodiscard]] Stepper* stepper() override { return engine_->stepper(); }

 private:
  void check(std::span<const float> parameters, const nn::MicroBatch& batch);

  const std::unique_ptr<Engine> engine_;
  const nn::Model model_;  // the processor's copy
  const Precision precision_;
  const std::uint32_t samples_;  // per check
  const std::string name_;
  std::uint64_t pieces_to_next_ = 0;
  bool beyond_ = false;  // the last check exceeded the limit
};

}  // namespace steelyard
