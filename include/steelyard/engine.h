// Engine: computes gradients and evaluations for a worker. Steelyard has an engine for CPUs and one for GPUs;
// a program may add its own, for example one that wraps a framework.
//
// An engine receives one piece at a time: parameters, and a stream of samples. It reads the stream to its end
// and sums over the samples. It chooses its micro-batch sizes, its memory layout and its device.
//
// Threads: an engine is constructed on the worker's thread. One compute thread calls train() and evaluate(),
// which block until done. An engine with several threads may call Samples and `on_final` from any of them,
// but from one at a time. If an engine throws, the worker exits with the message of the exception.
//
// Stability: declarations in the headers of this folder keep their meaning within a minor version. All other
// headers may change with any release.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/micro_batch.h>
#include <steelyard/model.h>
#include <steelyard/parameters.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steelyard {

// The samples of one piece, micro-batch by micro-batch.
class Samples {
 public:
  virtual ~Samples() = default;
  // The next micro-batch, valid until the next call. Null at the end of the piece, or earlier if the piece
  // was cancelled; the result of a cancelled piece is discarded.
  virtual const nn::MicroBatch* next() = 0;
  // Whether the micro-batch returned last is the last one.
  [[nodiscard]] virtual bool at_end() const = 0;
  // False if the piece was cancelled; its result is discarded.
  [[nodiscard]] virtual bool wanted() const { return true; }
};

// Announces that gradient elements [begin, end) are final. Ranges may come in any order, each element at most
// once; elements never announced are final when train() returns. The worker sends a slice as soon as all of
// it is final, while the rest is still being computed.
using FinalRange = std::function<void(std::uint64_t begin, std::uint64_t end)>;

// Where an engine computes. This selects the clock for compute times: a thread that waits for other threads
// or a device uses no processor time. For other_device, the machine's processor counters are ignored.
enum class WorkPlace : std::uint8_t { this_thread, other_threads, other_device };

// What slows a device down: other programs, heat, too little memory.
struct DeviceReading {
  std::optional<double> share{};      // of its full speed that this process can have, 0..1
  std::optional<double> memory_mb{};  // free
};

// Stepper: an engine's own copy of the model, in jobs whose workers take the optimizer steps
// (train.optimizer = "worker"). Servers then only average gradients.
//
// take_step() gets every version once, in order. Version 0 has the initial parameters; version k > 0 has the
// mean gradient of round k - 1, over all samples of the round, and the means of all ranges that are not
// parameters. train() and evaluate() then compute with the model after the latest step; `parameters` is
// meaningless. All functions are called on the compute thread.
class Stepper {
 public:
  virtual ~Stepper() = default;
  virtual void take_step(std::uint64_t version, std::span<const float> values) = 0;
  // Writes the whole state after the latest step to this file, which exists and is empty: model, optimizer,
  // and all else that a worker needs which joins later.
  virtual void write_state(std::uint64_t version, const std::string& path) = 0;
  // Replaces the state by one that another worker has written after `version`.
  virtual void read_state(std::uint64_t version, const std::string& path) = 0;
};

class DeviceTrainer;
class KeptData;
class LocalTrainer;

class Engine {
 public:
  virtual ~Engine() = default;

  // Writes the gradient, a flat buffer like `parameters`: the sum over all samples, not the mean. Returns
  // the sums of the losses and of the correct answers. Equal inputs must give equal bits, since another
  // worker may recompute a lost piece.
  virtual nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                         const FinalRange& on_final) = 0;
  // The same sums, without a gradient.
  virtual nn::Sums evaluate(std::span<const float> parameters, Samples& samples) = 0;

  // Supported micro-batch sizes, largest first; the last is 1. A piece is cut into as many of the largest as
  // fit; the rest goes into one of the smallest size that holds it, padded, or, if micro_batch_seconds()
  // makes this faster, into several that are smaller.
  [[nodiscard]] virtual std::vector<std::uint32_t> micro_batch_sizes() const = 0;
  // How long a micro-batch of each of these sizes takes. Empty: not known.
  [[nodiscard]] virtual std::vector<double> micro_batch_seconds() const { return {}; }

  // The total weight of the piece, if it is not the number of samples (for example tokens of a text). The sum
  // of the losses is then weighted, too. Called when the first range is final, and again after train() or
  // evaluate() has returned.
  [[nodiscard]] virtual std::optional<double> weight() const { return std::nullopt; }

  // Memory that the engine uses on its device, in bytes, without parameters and gradient.
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;

  [[nodiscard]] virtual WorkPlace work_place() const { return WorkPlace::this_thread; }

  // The share of its device that the engine had since the last call, 0..1. If std::nullopt (unknown), the
  // worker measures the CPU share of the machine instead.
  virtual std::optional<double> take_share() { return std::nullopt; }

  // The present state of a device other than the processor; unknown by default.
  virtual DeviceReading read_device() { return {}; }

  // How it computes, in one line for the worker's log and the record of the run: which library computes what,
  // what is missing. Read once, on the worker's thread. Empty: nothing is recorded.
  [[nodiscard]] virtual std::string description() const { return {}; }

  // Null if the engine cannot take optimizer steps. Owned by the engine.
  [[nodiscard]] virtual Stepper* stepper() { return nullptr; }

  // For Steelyard's own engines of devices: makes local steps there. Null for all others: the worker makes
  // them. Owned by the engine.
  [[nodiscard]] virtual LocalTrainer* local_trainer() { return nullptr; }

  // For Steelyard's own engines of devices that can also host a shard: how they train without copies to the
  // host. Null for all others. Owned by the engine.
  [[nodiscard]] virtual DeviceTrainer* device_trainer() { return nullptr; }

  // For Steelyard's own engines of devices that keep the samples of the job's data sets there: what they
  // keep. They also take micro-batches with inputs. Null for all others. Owned by the engine.
  [[nodiscard]] virtual const KeptData* kept_data() const { return nullptr; }
};

// The training task of a job: parameters, the engine that computes with them, and the data.
struct Workload {
  Layout layout{};  // leave slice_size at 0; the job sets it
  // Writes the initial parameters: a pure function of the seed.
  std::function<void(std::span<float> parameters, std::uint64_t seed)> initialize{};
  std::function<std::unique_ptr<Engine>()> make_engine{};
  DataSets data{};
  std::uint32_t grain = 1;  // Job::grain
  // Set if the engine computes a built-in model; used to build a network that returns scores.
  std::optional<nn::Model> model{};
};

// For models that bring their own engine: a row's function makes the workload for this data. If it throws,
// the process exits with a message that names the model.
using EngineTable = Choices<Workload(const DataSets& data, const Options& options)>;

}  // namespace steelyard
