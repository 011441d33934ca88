// WrappedEngine: base of engines that change how another one computes, but not what it is.
//
// local_trainer() and device_trainer() are not forwarded, since their work does not pass through train().
#pragma once

#include <steelyard/engine.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steelyard {

class WrappedEngine : public Engine {
 public:
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override {
    return engine_->micro_batch_sizes();
  }
  [[nodiscard]] std::vector<double> micro_batch_seconds() const override {
    return engine_->micro_batch_seconds();
  }
  [[nodiscard]] std::optional<double> weight() const override { return engine_->weight(); }
  [[nodiscard]] std::uint64_t bytes() const override { return engine_->bytes(); }
  [[nodiscard]] WorkPlace work_place() const override { return engine_->work_place(); }
  std::optional<double> take_share() override { return engine_->take_share(); }
  DeviceReading read_device() override { return engine_->read_device(); }
  [[nodiscard]] std::string description() const override { return engine_->description(); }
  [[nodiscard]] Stepper* stepper() override { return engine_->stepper(); }
  [[nodiscard]] const KeptData* kept_data() const override { return engine_->kept_data(); }

 protected:
  explicit WrappedEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  const std::unique_ptr<Engine> engine_;
};

}  // namespace steelyard
