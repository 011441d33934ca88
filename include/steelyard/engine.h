// Engine: computes gradients and evaluations for a worker. The CPU network is one, that
// of a GPU another, and a framework of your own may be a third.
//
// An engine is given one piece at a time: parameters, and a stream of its samples. It reads the stream to
// its end and sums over the samples it gets. It chooses how many samples it computes at once, in which order
// it keeps them, and on which device.
//
// Threads: it is made on the worker's thread; all calls of train() and evaluate() come from one computing
// thread and block until they are done. An engine that computes on several threads asks for samples and calls
// `on_final` from any of them, but one at a time. Whatever it throws ends the worker, with the message.
//
// Promised: the meaning of what the headers in this folder declare stays within a minor version. All other
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
#include <vector>

namespace steelyard {

// The samples of one piece, micro-batch by micro-batch.
class Samples {
 public:
  virtual ~Samples() = default;
  // The next micro-batch, which stays as it is until the next call. Null at the end of the piece, and sooner
  // if the rest is not wanted any more: what is returned then is thrown away.
  virtual const nn::MicroBatch* next() = 0;
  // Whether the micro-batch given last is the last one.
  [[nodiscard]] virtual bool at_end() const = 0;
  // Whether the piece is still wanted. What is returned for one that is not is thrown away.
  [[nodiscard]] virtual bool wanted() const { return true; }
};

// The gradient of floats [begin, end) will not change any more. Ranges come in any order, each float once at
// the most; what is never told is final when train() returns. The sooner a slice is whole, the sooner it is
// sent, while the rest is computed.
using FinalRange = std::function<void(std::uint64_t begin, std::uint64_t end)>;

// Where an engine's work is done. It decides which clock tells how long that took, for a thread that waits
// uses no processor time; and whether the machine's counters of processor time say anything of it: of another
// device they say nothing.
enum class WorkPlace : std::uint8_t { this_thread, other_threads, other_device };

class Engine {
 public:
  virtual ~Engine() = default;

  // Writes the gradient (a flat buffer like `parameters`): the sum over all samples, not the mean. Returns
  // sums over the samples too. Equal pieces must give equal bits: one that is lost is computed again by
  // another worker.
  virtual nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                         const FinalRange& on_final) = 0;
  virtual nn::Sums evaluate(std::span<const float> parameters, Samples& samples) = 0;

  // The sizes of micro-batches that suit it, largest first; the last is 1. A piece is cut into as many of the
  // largest as fit, and one of the smallest that holds the rest, padded.
  [[nodiscard]] virtual std::vector<std::uint32_t> micro_batch_sizes() const = 0;

  // What the gradient of the piece weighs, where samples do not weigh one each (tokens of a text). Asked when
  // its first range is final, and when train() has returned.
  [[nodiscard]] virtual std::optional<double> weight() const { return std::nullopt; }

  // Memory of its device that it needs beside parameters and gradient.
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;

  [[nodiscard]] virtual WorkPlace work_place() const { return WorkPlace::this_thread; }

  // The share of its device that it had since the last call, 0..1, if it knows that; otherwise the worker
  // asks the machine, which knows of processors only.
  virtual std::optional<double> take_share() { return std::nullopt; }
};

// Workload: what a job trains - parameters, the engine that computes with them, and the data.
struct Workload {
  Layout layout{};  // slice_size is the job's and stays 0
  // Writes the first parameters: a pure function of the seed.
  std::function<void(std::span<float> parameters, std::uint64_t seed)> initialize{};
  std::function<std::unique_ptr<Engine>()> make_engine{};
  DataSets data{};
  std::uint32_t grain = 1;  // Job::grain
  // What the engine computes, where it is a model of nn: whoever wants scores makes a network of it.
  std::optional<nn::Model> model{};
};

// A row makes the workload of a model that has an engine of its own, for this data. Whatever it throws is
// told with the model's name.
using EngineTable = Choices<Workload(const DataSets& data, const Options& options)>;

}  // namespace steelyard
