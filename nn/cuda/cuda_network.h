// Network: one model on one CUDA device, for one thread at a time. It owns its device memory: parameters,
// gradient, activations, and staging memory. The constructor allocates it. Only memory for local steps, for
// gradients that stay on the device, and pinned memory that takes the place of registered memory
// (nn/cuda/exchange.h) are allocated at their first use.
//
//   Network network(model, 0);
//   network.begin(parameters);
//   for (...) network.train(batch, is_last);            // returns before the work is done
//   const Sums sums = network.finish(gradient, on_final);  // waits
//
// The kernels of a micro-batch are captured as a graph, once for each kind of micro-batch
// (nn/cuda/recordings.h), and run as one. Parameters are copied to the device in the order in which the
// forward needs them, while it runs; gradients are copied back as they become final, while the backward of
// the last micro-batch runs.
//
// Micro-batches may be larger than the grain of a batch norm: statistics are per grain. If the model
// normalises shares, statistics are over the whole micro-batch, which holds a whole share.
#pragma once

#include <steelyard/micro_batch.h>
#include <steelyard/model.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device_gradient.h"
#include "nn/cuda_devices.h"
#include "nn/loss.h"
#include "nn/network.h"
#include "nn/optimizer/local_step.h"
#include "nn/optimizer/slice_arithmetic.h"

namespace steelyard::nn::cuda {

class KeptSamples;

inline constexpr std::uint32_t usual_samples = 256;  // in a micro-batch

struct MicroBatchTime {
  std::uint32_t size = 0;
  double seconds = 0;
};

class Network {
 public:
  // On device `index`. Computes up to `max_samples` samples at once; if the device has too little memory,
  // halves this until it fits. Throws Failure (configuration) if the device does not exist, or if it cannot
  // hold a single sample (or grain, or share).
  //
  // `try_out`: first trains zeros in each size, once without a graph and once as a graph. Libraries allocate
  // memory and load kernels at their first use, and most errors of a device occur then, that is here. If less
  // than 512 MB and `reserved` bytes are free afterwards, the size is halved too, unless it is the smallest.
  // (The host executor has none of this and is slow.)
  Network(const Model& model, unsigned index, std::uint32_t max_samples = usual_samples,
          bool try_out = built_with_cuda(), std::uint64_t reserved = 0);
  ~Network();

  // Powers of two, largest first, down to 1.
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const;

  // Samples for micro-batches with MicroBatch::kept.
  void keep(std::shared_ptr<const KeptSamples> samples);

  // Trains on zeros, between two pieces, to measure the times of all sizes, largest first.
  std::vector<MicroBatchTime> measure();

  // Sets the parameters for all calls up to finish(). They are copied to the device meanwhile, and must stay
  // until finish() or abandon() has returned. So must `gradient`, the memory to which finish() will write: if
  // it is given here, the device may write to it itself (nn/cuda/reachable.h). Unspecified contents until
  // finish().
  void begin(std::span<const float> parameters, std::span<float> gradient = {});
  // The batch is copied before the call returns.
  void train(const MicroBatch& batch, bool last);
  void evaluate(const MicroBatch& batch);
  // Waits for all work since begin(). After train() writes the gradient, and calls `on_final` for ranges of
  // it as they arrive: while the backward runs, if the last micro-batch was announced as such. Throws Failure
  // (configuration) for a label outside the classes.
  Sums finish(std::span<float> gradient, const FinalRange& on_final);

  // ---- local steps: in place of begin() and finish()
  //
  //   network.begin_steps(parameters, moved);
  //   for (each step) {
  //     for (...) network.train(batch, is_last);
  //     sums += network.finish_gradient();  // waits; then sum_of_squares(), if it is needed
  //     network.step(ranges, first);        // returns before the work is done
  //   }
  //   network.finish_steps(moved, on_final);  // waits

  // As begin(), for all steps up to finish_steps(), which change the device's copy of the parameters. The
  // first call allocates device memory of twice the parameters; throws OutOfMemory if it has less.
  void begin_steps(std::span<const float> parameters, std::span<float> moved);
  // The gradient stays on the device.
  Sums finish_gradient();
  // Computes sum_of_squares_in() of the gradient, with the same bits (nn/optimizer/clipping.h). Waits.
  double sum_of_squares(std::span<const Interval> ranges);
  // nn/optimizer/local_step.h, with the gradient.
  void step(std::span<const LocalRange> ranges, bool first);
  // As finish(), for the distance moved.
  void finish_steps(std::span<float> moved, const FinalRange& on_final);

  // In place of finish(): the results of the work since begin() are not needed. Waits until no memory of the
  // caller is in use; no effect after finish().
  void abandon();

  // ---- parameters and gradient on this device: in place of begin() and finish()

  // Parameters that begin at this place, in floats. Together they are all parameters.
  struct Placed {
    std::uint64_t begin = 0;
    SliceValues values;
  };
  // Whether any of them is on this device.
  [[nodiscard]] bool has_here(std::span<const Placed> parameters) const;
  // Those on other devices and on the host are copied, for all calls up to finish_there().
  void begin_there(std::span<const Placed> parameters);
  // As finish(). The whole gradient is handed over, once the work is done. Empty after evaluate().
  Sums finish_there(const DeviceGradient& gradient);

  [[nodiscard]] std::uint64_t bytes() const;  // device memory
  // The implementation of each step, as "conv1: cudnn".
  [[nodiscard]] std::vector<std::string> implementations() const;
  // What did not go as usual since the last call: work that cannot be captured, and why; each reason once.
  [[nodiscard]] std::vector<std::string> take_remarks();
  // For people, in one line: micro-batch, implementations, and what did not go as usual so far.
  [[nodiscard]] std::string description() const;

 private:
  class Impl;
  static std::unique_ptr<Impl> tried_out(std::unique_ptr<Impl> made);
  std::unique_ptr<Impl> impl_;
};

}  // namespace steelyard::nn::cuda
