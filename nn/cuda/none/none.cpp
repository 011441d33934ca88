// For programs without CUDA: reports no devices and refuses requests.
#include "core/error.h"
#include "nn/cuda/cuda_network.h"
#include "nn/cuda/device_arithmetic.h"
#include "nn/cuda/kept_samples.h"
#include "nn/cuda/micro_batch_choice.h"
#include "nn/cuda/peer_values.h"
#include "nn/cuda_devices.h"

namespace steelyard::nn {

std::vector<CudaDevice> cuda_devices() { return {}; }
std::unique_ptr<GpuMonitor> monitor_of(unsigned) { return nullptr; }
bool built_with_cuda() { return false; }
bool built_with_host_cuda() { return false; }
std::optional<DeviceSpeed> measure_cuda(unsigned) { return std::nullopt; }

}  // namespace steelyard::nn

namespace steelyard::nn::cuda {
namespace {

[[noreturn]] void refuse() {
  throw Failure(ExitCode::configuration,
                "this program was built without CUDA: build it with the cuda preset, or "
                "use --device cpu");
}

}  // namespace

DeviceMemory::DeviceMemory(std::uint64_t) { refuse(); }
DeviceMemory::~DeviceMemory() = default;

KeptSamples::KeptSamples(unsigned, Shape, std::uint64_t) : samples_(0), codes_(0), table_(0), fill_(0) {}
void KeptSamples::bring(std::uint64_t, std::span<const std::uint8_t>) { refuse(); }
void KeptSamples::set_numbers(std::span<const float>, std::span<const float>) { refuse(); }
std::uint64_t KeptSamples::room_on(unsigned, std::uint64_t) { refuse(); }

class Network::Impl {};

Network::Network(const Model&, unsigned, std::uint32_t, bool, std::uint64_t) { refuse(); }
Network::~Network() = default;

std::vector<std::uint32_t> Network::micro_batch_sizes() const { refuse(); }
void Network::keep(std::shared_ptr<const KeptSamples>) { refuse(); }
void Network::begin(std::span<const float>, std::span<float>) { refuse(); }
void Network::begin_steps(std::span<const float>, std::span<float>) { refuse(); }
Sums Network::finish_gradient() { refuse(); }
double Network::sum_of_squares(std::span<const Interval>) { refuse(); }
void Network::step(std::span<const LocalRange>, bool) { refuse(); }
void Network::finish_steps(std::span<float>, const FinalRange&) { refuse(); }
void Network::abandon() {}
std::vector<MicroBatchTime> Network::measure() { refuse(); }
void Network::train(const MicroBatch&, bool) { refuse(); }
void Network::evaluate(const MicroBatch&) { refuse(); }
Sums Network::finish(std::span<float>, const FinalRange&) { refuse(); }
bool Network::has_here(std::span<const Placed>) const { refuse(); }
void Network::begin_there(std::span<const Placed>) { refuse(); }
Sums Network::finish_there(const DeviceGradient&) { refuse(); }
std::uint64_t Network::bytes() const { refuse(); }
std::vector<std::string> Network::implementations() const { refuse(); }
std::vector<std::string> Network::take_remarks() { refuse(); }
std::string Network::description() const { refuse(); }

ChosenNetwork choose_network(const Model&, unsigned, std::uint64_t) { refuse(); }

std::function<std::shared_ptr<SliceArithmetic>(const Slice&, Interval)> arithmetic_on(unsigned, Memory) {
  refuse();
}

std::shared_ptr<DeviceExchange> exchange_on(unsigned) { refuse(); }

}  // namespace steelyard::nn::cuda
