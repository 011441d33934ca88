// Recordings: the graphs of a network's work, one for each kind of micro-batch. Work is run as it is the
// first time, because libraries load kernels and allocate memory then, captured the second time, and from
// then on run as a graph. Work that cannot be captured is run as it is every time.
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

  // Whether memory that lacks for a graph is an error (OutOfMemory). By default the work then runs as it is.
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
