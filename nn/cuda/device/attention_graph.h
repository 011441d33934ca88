// cuDNN's scaled dot-product attention: one direction, for one number of samples, in bf16. A graph is also
// made for a device that is not there, from its properties: so tests need no GPU.
//
// Queries, keys and values lie as in the inputs of Attention, [sample][token][query, key, value][head]
// [feature], results as [sample][token][head][feature], and the logarithms of the sums of exponentials, in
// float32, as [sample][head][token].
#pragma once

#include <cudnn.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace steelyard::nn::cuda {

struct AttentionSizes {
  std::int64_t samples, heads, tokens, length;  // length: features of a head
  bool causal;
  auto operator<=>(const AttentionSizes&) const = default;
};

// A device that is here, by cuDNN's handle of it; or another one by its compute capability (90) and cuDNN's
// JSON of its properties.
struct AttentionDevice {
  cudnnHandle_t handle = nullptr;
  std::int32_t capability = 0;
  std::string properties{};
};

enum class Direction : std::uint8_t { forward, backward };

class AttentionGraph {
 public:
  // Compiles its kernel. Uses only plans that give equal bits for equal inputs. Throws NoAlgorithm with
  // cuDNN's reason, in one line, or OutOfMemory.
  AttentionGraph(const AttentionSizes& sizes, Direction direction, const AttentionDevice& device);
  ~AttentionGraph();
  AttentionGraph(const AttentionGraph&) = delete;
  AttentionGraph& operator=(const AttentionGraph&) = delete;

  [[nodiscard]] std::uint64_t workspace() const;  // bytes
  [[nodiscard]] std::string plan() const;         // cuDNN's name of its kernel

  // Adds its work to the handle's stream. Arrays, aligned to 16 bytes:
  //   forward   queries, keys, values -> result, logarithms
  //   backward  queries, keys, values, result, gradient of the result, logarithms -> gradients of queries,
  //             keys, values
  void run(cudnnHandle_t handle, std::span<void* const> arrays, void* workspace) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace steelyard::nn::cuda
