// Recordings: the graphs of a network's work, one for each kind of micro-batch. The first time, work runs
// without a graph, because libraries load kernels and allocate memory then. The second time it is captured,
// and from then on it runs as a graph. Work that cannot be captured always runs without a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// The kind of a micro-batch: all that its work depends on.
struct Variant {
  std::uint32_t size;
  bool training, first, last;  // first: waits for the parameters; last: gives the gradient back
  friend bool operator<(const Variant& a, const Variant& b) {
    return std::tie(a.size, a.training, a.first, a.last) < std::tie(b.size, b.training, b.first, b.last);
  }
};

class Recordings {
 public:
  explicit Recordings(Stream& stream) : stream_(stream) {}

  // Runs the work that `issue` adds to the stream for this kind of micro-batch: the same in each call.
  void run(const Variant& variant, const std::function<void()>& issue);

  // Whether too little memory for a graph is an error (OutOfMemory). By default the work then runs without
  // one.
  void require_memory(bool required) { memory_required_ = required; }

  // What could not be captured, and why; each reason once. For people.
  [[nodiscard]] std::vector<std::string>& remarks() { return remarks_; }

 private:
  struct Recorded {
    bool ran = false;  // run before: lazy loading at the first use is done
    std::unique_ptr<Graph> graph;
    bool refused = false;  // cannot be captured
  };

  void record(const Variant& variant, const std::function<void()>& issue, Recorded& recorded);

  Stream& stream_;
  std::map<Variant, Recorded> graphs_;
  bool memory_required_ = false;
  std::vector<std::string> remarks_;
  std::string refusal_;  // the last one
};

}  // namespace steelyard::nn::cuda
