#include "nn/cuda/recordings.h"

#include <utility>

namespace steelyard::nn::cuda {

void Recordings::run(const Variant& variant, const std::function<void()>& issue) {
  Recorded& recorded = graphs_[variant];
  if (recorded.ran && !recorded.graph && !recorded.refused) record(variant, issue, recorded);
  if (recorded.graph) {
    stream_.run(*recorded.graph);
  } else {
    issue();
  }
  recorded.ran = true;
}

void Recordings::record(const Variant& variant, const std::function<void()>& issue, Recorded& recorded) {
  std::string refusal;
  try {
    Captured captured = capture(stream_, issue);
    recorded.graph = std::move(captured.graph);
    refusal = captured.refusal;
  } catch (const OutOfMemory& trouble) {
    if (memory_required_) throw;
    refusal = trouble.what();
  }
  if (recorded.graph) return;
  recorded.refused = true;
  if (std::exchange(refusal_, refusal) == refusal) return;
  remarks_.push_back("micro-batches run without a CUDA graph, and slower (first seen with " +
                     std::to_string(variant.size) + " samples): " + refusal);
}

}  // namespace steelyard::nn::cuda
