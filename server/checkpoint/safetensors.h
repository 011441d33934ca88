// safetensors, the exchange format of model weights: names, shapes, float32 values, and some texts.
//
//   u64 length of the header | header: JSON, padded with spaces | values, little-endian, row-major
//
// In written files, values begin at a multiple of 64 bytes and follow in the given order without gaps, so
// they equal the model's flat buffer. Files to read may have other writers: they must satisfy the
// specification (no duplicate name, no hole, no overlap, values to the last byte, sizes that do not overflow,
// a header of at most 100 MB) and contain only float32 values. NaN and infinity are accepted. Specification:
// github.com/huggingface/safetensors, "Format".
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
  std::string name;  // unique in a file, not "__metadata__"; UTF-8
  std::vector<std::uint64_t> shape;
};

// All bytes before the values. Write them, then the values of all tensors in this order.
std::string safetensors_header(const std::vector<TensorName>& tensors, const TensorTexts& texts);

// A tensor within a file's bytes (not owned). The bytes may be unaligned: copy them.
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

  [[nodiscard]] const StoredTensor* find(const std::string& name) const;  // null if missing
};

// `file` must outlive the result. Throws Failure (io) that names `path` and the problem.
TensorFile parse_safetensors(std::span<const std::byte> file, const std::string& path);

}  // namespace steelyard
