#include "worker/compute/engines.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/time.h"
#include "nn/cpu/onednn.h"
#include "nn/cuda/cuda_network.h"
#include "nn/cuda/device_arithmetic.h"
#include "nn/cuda/micro_batch_choice.h"
#include "nn/cuda/peer_values.h"
#include "nn/cuda/runtime.h"
#include "nn/cuda_devices.h"
#include "protocol/sliced_values.h"
#include "worker/compute/checked_engine.h"
#include "worker/compute/device_trainer.h"
#include "worker/compute/kept_on_device.h"
#include "worker/compute/local_trainer.h"

namespace steelyard {

// oneDNN plans its primitives for the threads that it detects.
nn::Network& CpuEngine::network() {
  if (!network_) {
    nn::onednn::use_this_thread_only();
    network_.emplace(model_);
  }
  return *network_;
}

// The first micro-batch overwrites the gradient; the last one makes it final, layer by layer.
nn::Sums CpuEngine::train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                          const FinalRange& on_final) {
  nn::Sums sums;
  bool add = false;
  while (const nn::MicroBatch* batch = samples.next()) {
    network().expect_same_parameters(add);
    sums += network().train(parameters, *batch, gradient, add, samples.at_end() ? &on_final : nullptr);
    add = true;
  }
  return sums;
}

nn::Sums CpuEngine::evaluate(std::span<const float> parameters, Samples& samples) {
  nn::Sums sums;
  bool same = false;
  while (const nn::MicroBatch* batch = samples.next()) {
    network().expect_same_parameters(std::exchange(same, true));
    sums += network().evaluate(parameters, *batch);
  }
  return sums;
}

// If shares are normalised, every share is a micro-batch of its own size.
std::vector<std::uint32_t> CpuEngine::micro_batch_sizes() const {
  if (model_.normalizes_shares()) {
    std::vector<std::uint32_t> all(model_.micro_batch());
    std::iota(all.rbegin(), all.rend(), 1U);
    return all;
  }
  std::vector<std::uint32_t> sizes(nn::micro_batch_sizes.begin(), nn::micro_batch_sizes.end());
  std::erase_if(sizes, [&](std::uint32_t size) { return size > model_.micro_batch(); });
  return sizes;
}

// Called when memory is short, so it allocates nothing large.
std::uint64_t CpuEngine::bytes() const {
  const std::uint64_t input = model_.input().size() * model_.micro_batch() * sizeof(float);
  return input + nn::make_plan(model_, nn::Backend::cpu).bytes();
}

namespace {

// The slices of a version, where they are.
std::vector<nn::cuda::Network::Placed> placed(const Blob& parameters) {
  const auto* const sliced = dynamic_cast<const SlicedValues*>(parameters.device().get());
  if (sliced == nullptr) return {{0, parameters.values()}};
  std::vector<nn::cuda::Network::Placed> all;
  for (const auto& [slice, values] : sliced->parts()) all.push_back({slice.begin, values.values()});
  return all;
}

class CudaEngine final : public Engine, public DeviceTrainer {
 public:
  CudaEngine(const nn::Model& model, unsigned index, std::uint64_t reserved, const DataSets& data)
      : kept_(data.train ? keep_on_device(data, index, reserved) : KeptOnDevice()),
        chosen_(nn::cuda::choose_network(model, index, reserved)),
        monitor_(nn::monitor_of(index)) {
    network_.keep(kept_.samples);
  }

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override {
    const AtEnd end(network_);
    network_.begin(parameters, gradient);
    while (const nn::MicroBatch* batch = samples.next()) network_.train(*batch, samples.at_end());
    return network_.finish(gradient, on_final);
  }

  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override {
    const AtEnd end(network_);
    network_.begin(parameters);
    while (const nn::MicroBatch* batch = samples.next()) network_.evaluate(*batch);
    return network_.finish({}, {});
  }

  [[nodiscard]] DeviceTrainer* device_trainer() override { return this; }
  [[nodiscard]] bool has_here(const Blob& parameters) const override {
    return parameters.device() && network_.has_here(placed(parameters));
  }
  nn::Sums train_there(const Blob& parameters, Samples& samples, const DeviceGradient& gradient) override {
    const AtEnd end(network_);
    network_.begin_there(placed(parameters));
    while (const nn::MicroBatch* batch = samples.next()) network_.train(*batch, samples.at_end());
    return network_.finish_there(gradient);
  }
  nn::Sums evaluate_there(const Blob& parameters, Samples& samples) override {
    const AtEnd end(network_);
    network_.begin_there(placed(parameters));
    while (const nn::MicroBatch* batch = samples.next()) network_.evaluate(*batch);
    return network_.finish_there({});
  }
  [[nodiscard]] LocalTrainer* local_trainer() override { return &steps_; }
  [[nodiscard]] const KeptData* kept_data() const override { return kept_.data.get(); }

  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override {
    return network_.micro_batch_sizes();
  }
  [[nodiscard]] std::vector<double> micro_batch_seconds() const override {
    std::vector<double> seconds;
    for (const nn::cuda::MicroBatchTime& it : chosen_.times) seconds.push_back(it.seconds);
    return seconds;
  }
  [[nodiscard]] std::uint64_t bytes() const override {
    return network_.bytes() + (kept_.samples ? kept_.samples->bytes() : 0);
  }
  [[nodiscard]] WorkPlace work_place() const override { return WorkPlace::other_device; }
  [[nodiscard]] std::string description() const override {
    return network_.description() + (kept_.note.empty() ? "" : "; " + kept_.note);
  }

  DeviceReading read_device() override {
    const Time now = steady_now();
    if (!monitor_ || now < next_reading_) return reading_;
    next_reading_ = now + reading_age;
    const nn::GpuCondition it = monitor_->read();
    reading_.share = nn::speed_share(it);
    if (it.memory_free) reading_.memory_mb = static_cast<double>(*it.memory_free) / (1 << 20);
    return reading_;
  }

 private:
  // However a piece ends, the device no longer uses its memory then.
  class AtEnd {
   public:
    explicit AtEnd(nn::cuda::Network& network) : network_(network) {}
    ~AtEnd() { network_.abandon(); }
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;

   private:
    nn::cuda::Network& network_;
  };
  class Steps final : public LocalTrainer {
   public:
    explicit Steps(nn::cuda::Network& network) : network_(network) {}
    bool begin(std::span<const float> parameters, std::span<float> moved) override {
      try {
        network_.begin_steps(parameters, moved);
      } catch (const nn::cuda::OutOfMemory&) {
        return false;
      }
      return true;
    }
    nn::Sums train(Samples& samples) override {
      while (const nn::MicroBatch* batch = samples.next()) network_.train(*batch, samples.at_end());
      return network_.finish_gradient();
    }
    double sum_of_squares(std::span<const Interval> ranges) override {
      return network_.sum_of_squares(ranges);
    }
    void step(std::span<const nn::LocalRange> ranges, bool first) override { network_.step(ranges, first); }
    void finish(std::span<float> moved, const FinalRange& on_final) override {
      network_.finish_steps(moved, on_final);
    }
    void end() override { network_.abandon(); }

   private:
    nn::cuda::Network& network_;
  };

  static constexpr Duration reading_age = std::chrono::milliseconds(100);

  const KeptOnDevice kept_;  // before the network takes the rest of the memory
  const nn::cuda::ChosenNetwork chosen_;
  nn::cuda::Network& network_ = *chosen_.network;
  Steps steps_{network_};
  const std::unique_ptr<nn::GpuMonitor> monitor_;  // may be null
  DeviceReading reading_;
  Time next_reading_{};
};

}  // namespace

std::uint64_t device_memory_for_shards(const Job& job, unsigned shards) {
  if (shards == 0) return 0;
  const std::uint64_t model = job.layout.size() * sizeof(float);
  return 2 * model + model * shards / job.shards * (4 + nn::state_slots(job.optimizer));
}

// The host executor has one device, number 0.
std::unique_ptr<Engine> make_cuda_engine(const nn::Model& model, const Device& device, Precision precision,
                                         std::uint64_t reserved, const DataSets& data) {
  nn::Model own = model;
  own.multiply_in(precision);
  return std::make_unique<CheckedEngine>(std::make_unique<CudaEngine>(own, device.number, reserved, data),
                                         model, precision, name(device));
}

DeviceArithmetic make_device_arithmetic(const Device& device, Memory host) {
  return nn::cuda::arithmetic_on(device.number, host);
}

std::shared_ptr<DeviceExchange> make_device_exchange(const Device& device) {
  return nn::cuda::exchange_on(device.number);
}

}  // namespace steelyard
