// Attention in bf16 by cuDNN: one graph for each direction and power of two of samples, used by all ops of
// equal sizes. Other numbers of samples take several graphs, and so do more samples than a workspace of
// limited size allows: without sums in an undefined order, backward keeps a matrix of tokens x tokens for
// each head on some architectures.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nn/cuda/attention.h"
#include "nn/cuda/device/attention_graph.h"
#include "nn/cuda/device/cudnn_handle.h"
#include "nn/cuda/device/native.h"

namespace steelyard::nn::cuda {
namespace {

constexpr std::uint64_t most_workspace = 256 << 20, workspace_alignment = 256;  // bytes
constexpr std::int64_t longest_head = 128;                                      // of every architecture
// Older ones copy from the host in each call, for numbers of tokens that are no multiple of 128.
constexpr std::size_t oldest_version = 91600;

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

// What this thread knows of its devices. It outlives ops: a network that needs too much memory is made again,
// with smaller micro-batches.
struct Known {
  static constexpr std::size_t most_graphs = 64;
  using Place = std::pair<int, AttentionSizes>;  // of a device

  static Known& mine() {
    static thread_local Known known;
    return known;
  }
  static Place here(const AttentionSizes& sizes) {
    int device = 0;
    check(cudaGetDevice(&device), "be asked for its number");
    return {device, sizes};
  }

  std::map<Place, std::shared_ptr<const Graphs>> graphs;
  std::map<Place, std::optional<std::string>> comparisons;  // of sizes of one sample
};

// Compiled once.
std::shared_ptr<const Graphs> graphs_of(const AttentionSizes& sizes) {
  auto& kept = Known::mine().graphs;
  const Known::Place place = Known::here(sizes);
  if (const auto known = kept.find(place); known != kept.end()) return known->second;
  if (kept.size() >= Known::most_graphs) kept.clear();
  return kept[place] = std::make_shared<const Graphs>(sizes);
}

AttentionSizes sizes_of_one(const Attention& op, const OpPlace& place) {
  return {.samples = 1,
          .heads = op.heads,
          .tokens = place.output.width,
          .length = place.output.channels / op.heads,
          .causal = op.causal};
}

class CudnnAttention final : public CudaOp {
 public:
  CudnnAttention(const Attention& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        sizes_(sizes_of_one(op, place)),
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
  const AttentionSizes sizes = sizes_of_one(op, place);
  if (sizes.length > longest_head) return {nullptr, "cudnn: heads of more than 128 features"};
  // The front end gives the logarithms this place in the workspace, and cuDNN what follows: 16 bytes at
  // least.
  if (sizes.heads * sizes.tokens % 4 != 0) return {nullptr, "cudnn: heads times tokens is no multiple of 4"};
  if (cudnnGetVersion() < oldest_version)
    return {nullptr, "cudnn: version " + std::to_string(cudnnGetVersion()) + " is older than 9.16"};
  try {
    auto library = std::make_unique<CudnnAttention>(op, place, context);
    return {std::move(library), {}, &Known::mine().comparisons[Known::here(sizes)]};
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Failure& failure) {
    return {nullptr, std::string("cudnn: ") + failure.what()};
  }
}

}  // namespace steelyard::nn::cuda
