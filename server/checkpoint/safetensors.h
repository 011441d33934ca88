// safetensors, the exchange format of model weights: names, shapes and float32 values, and a few texts.
//
//   u64 length of the header | header: JSON, padded with spaces | values, little-endian, row-major
//
// What this writes begins its values at a multiple of 64 bytes, in the order given and without gaps, so a
// model's flat buffer is the file's second half as it stands. What this reads may come from anywhere: of
// every file it demands what the format's specification demands (no name twice, no hole, no overlap, values
// to the last byte, sizes that do not overflow, a header of at most 100 MB), and float32 values. The
// specification: github.com/huggingface/safetensors, "Format". NaN and infinity are values like any other
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace steelyard {

using TensorTexts = std::map<std::string, std::string>;  // "__metadata__"

struct TensorName {
  std::string name;  // of one file: all different, none "__metadata__"; UTF-8
  std::vector<std::uint64_t> shape;
};

// All bytes before the values: write them, then the values of all tensors in this order.
std::string safetensors_header(const std::vector<TensorName>& tensors, const TensorTexts& texts);

// A tensor in a file's bytes, which it does not own. The bytes may lie at any address: copy them.
struct StoredTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;

  [[nodiscard]] std::size_t size() const { return bytes.size() / sizeof(float); }  // floats
  void copy_to(std::span<float> values) const;                                     // size() of them
};

struct TensorFile {
  std::vector<StoredTensor> tensors;  // in the order of their values
  TensorTexts texts;

  [[nodiscard]] const StoredTensor* find(const std::string& name) const;  // or null
};

// `file` must outlive the result. Throws Failure (io) that names `path` and what is wrong.
TensorFile parse_safetensors(std::span<const std::byte> file, const std::string& path);

}  // namespace steelyard
