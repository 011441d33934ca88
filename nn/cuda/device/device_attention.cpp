// Attention in bf16 by cuDNN: one graph for each direction and power of two of samples, used by all ops of
// equal sizes. Other numbers of samples take several graphs, and so do more samples than a workspace of
// limited size allows: without sums in an undefined order, backward keeps a matrix of tokens x tokens for
// each head on some architectures.
#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <vector>

#include "nn/cuda/attention.h"
#include "nn/cuda/device/attention_graph.h"
#include "nn/cuda/device/cudnn_handle.h"
#include "nn/cuda/device/native.h"

namespace steelyard::nn::cuda {
namespace {

constexpr std::uint64_t most_workspace = 256 << 20, workspace_alignment = 256;  // bytes
constexpr std::int64_t longest_head = 128;                                      // of every architecture

struct Graphs {
  explicit Graphs(const AttentionSizes& sizes)
      : samples(sizes.samples),
        forward(sizes, Direction::forward, {*handle}),
        backward(sizes, Direction::backward, {*handle}) {}
  [[nodiscard]] std::uint64_t workspace() const {
    return std::max(forward.workspace(), backward.workspace());
  }

  const std::int64_t samples;
  const std::shared_ptr<Handle> handle = Handle::mine();
  const AttentionGraph forward, backward;
};

// Those of this thread's device, compiled once while an op uses them.
std::shared_ptr<const Graphs> graphs_of(const AttentionSizes& sizes) {
  static thread_local std::map<std::pair<int, AttentionSizes>, std::weak_ptr<const Graphs>> kept;
  int device = 0;
  check(cudaGetDevice(&device), "be asked for its number");
  std::weak_ptr<const Graphs>& known = kept[{device, sizes}];
  std::shared_ptr<const Graphs> graphs = known.lock();
  if (!graphs) known = graphs = std::make_shared<Graphs>(sizes);
  return graphs;
}

class CudnnAttention final : public CudaOp {
 public:
  CudnnAttention(const Attention& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        sizes_{.samples = 1,
               .heads = op.heads,
               .tokens = place.output.width,
               .length = place.output.channels / op.heads,
               .causal = op.causal},
        logarithms_(sizes_.heads * sizes_.tokens * place.micro_batch) {
    // All now: nothing can be compiled in a capture.
    AttentionSizes sizes = sizes_;
    graphs_.push_back(graphs_of(sizes));
    const std::uint64_t of_one = std::max<std::uint64_t>(graphs_[0]->workspace(), 1);
    const std::uint64_t most = std::max<std::uint64_t>(most_workspace / of_one, 1);
    while (2 * sizes.samples <= std::min<std::int64_t>(place.micro_batch, static_cast<std::int64_t>(most))) {
      sizes.samples *= 2;
      graphs_.push_back(graphs_of(sizes));
    }
    std::ranges::reverse(graphs_);
    for (const auto& graphs : graphs_) workspace_ = std::max(workspace_, graphs->workspace());
  }

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<Bf16> call(untyped);
    const Rows<const Bf16> x{call.inputs[0], 3 * row()};
    const Rows<Bf16> output{call.output, row()};
    each_part(pass, call.workspace, [&](const Graphs& graphs, std::int64_t at, void* workspace) {
      void* const arrays[] = {x.at(at, 0), x.at(at, features()), x.at(at, 2 * features()), output.at(at, 0),
                              logarithms(at)};
      graphs.forward.run(handle_->on(context_.stream), arrays, workspace);
    });
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<Bf16> call(untyped);
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    const Rows<const Bf16> x{call.inputs[0], 3 * row()}, output{call.output, row()};
    const Rows<Bf16> d_output{call.d_output, row()}, d_x{to, 3 * row()};
    each_part(pass, call.workspace, [&](const Graphs& graphs, std::int64_t at, void* workspace) {
      void* const arrays[] = {x.at(at, 0),      x.at(at, features()),   x.at(at, 2 * features()),
                              output.at(at, 0), d_output.at(at, 0),     logarithms(at),
                              d_x.at(at, 0),    d_x.at(at, features()), d_x.at(at, 2 * features())};
      graphs.backward.run(handle_->on(context_.stream), arrays, workspace);
    });
  }

  [[nodiscard]] Traits traits() const override {
    return {.reads_output = true, .workspace = (workspace_ + workspace_alignment) / sizeof(float)};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return logarithms_.size() * sizeof(float); }
  [[nodiscard]] std::string implementation() const override { return "cudnn"; }

 private:
  // Samples of an array. cuDNN takes the addresses of what it only reads as addresses of variables, too.
  template <class T>
  struct Rows {
    T* first;
    std::int64_t sample;  // numbers from one to the next

    [[nodiscard]] void* at(std::int64_t sample_number, std::int64_t number) const {
      return const_cast<Bf16*>(first + sample_number * sample + number);
    }
  };

  [[nodiscard]] std::int64_t features() const { return sizes_.heads * sizes_.length; }
  [[nodiscard]] std::int64_t row() const { return sizes_.tokens * features(); }
  [[nodiscard]] void* logarithms(std::int64_t sample) {
    return logarithms_.data() + sample * sizes_.heads * sizes_.tokens;
  }

  // run(graphs, first sample, workspace) for the fewest graphs that compute all samples.
  template <class Run>
  void each_part(const Pass& pass, float* floats, Run run) const {
    const auto address = reinterpret_cast<std::uintptr_t>(floats);
    const std::uintptr_t aligned =
        (address + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    std::int64_t at = 0;
    for (const auto& graphs : graphs_) {  // the largest first; the last has one sample
      for (; at + graphs->samples <= pass.size(); at += graphs->samples)
        run(*graphs, at, reinterpret_cast<void*>(aligned));
    }
  }

  const std::shared_ptr<Handle> handle_ = Handle::mine();
  const AttentionSizes sizes_;  // of one sample
  std::vector<std::shared_ptr<const Graphs>> graphs_;
  std::uint64_t workspace_ = 0;    // bytes
  DeviceArray<float> logarithms_;  // of the sum of exponentials of each query's scores
};

}  // namespace

LibraryAttention make_library_attention(const Attention& op, const OpPlace& place, const Context& context) {
  const std::int64_t length = place.output.channels / op.heads;
  if (length > longest_head) return {nullptr, "cudnn: heads of more than 128 features"};
  try {
    return {std::make_unique<CudnnAttention>(op, place, context)};
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Failure& failure) {
    return {nullptr, std::string("cudnn: ") + failure.what()};
  }
}

}  // namespace steelyard::nn::cuda
