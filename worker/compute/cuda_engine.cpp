#include "worker/compute/cuda_engine.h"

#include "nn/cuda/cuda_network.h"
#include "worker/compute/checked_engine.h"

namespace steelyard {
namespace {

class CudaEngine final : public Engine {
 public:
  CudaEngine(const nn::Model& model, unsigned index) : network_(model, index) {}

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override {
    network_.begin(parameters);
    while (const nn::MicroBatch* batch = samples.next()) network_.train(*batch, samples.at_end());
    return network_.finish(gradient, on_final);
  }

  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override {
    network_.begin(parameters);
    while (const nn::MicroBatch* batch = samples.next()) network_.evaluate(*batch);
    return network_.finish({}, {});
  }

  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override {
    return network_.micro_batch_sizes();
  }
  [[nodiscard]] std::uint64_t bytes() const override { return network_.bytes(); }
  [[nodiscard]] WorkPlace work_place() const override { return WorkPlace::other_device; }

 private:
  nn::cuda::Network network_;
};

}  // namespace

// There is one device in the host executor, with the number 0.
std::unique_ptr<Engine> make_cuda_engine(const nn::Model& model, const Device& device, Precision precision) {
  nn::Model own = model;
  own.multiply_in(precision);
  return std::make_unique<CheckedEngine>(std::make_unique<CudaEngine>(own, device.number), model, precision,
                                         name(device));
}

}  // namespace steelyard
