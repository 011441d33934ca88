// OnnxGraph: a graph of ONNX under construction, and its file. Values are named by texts. The messages and
// numbers of fields are those of onnx.proto; the operators those of opset 17 (https://onnx.ai/onnx/operators),
// the first with LayerNormalization.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/export/protobuf.h"

namespace steelyard {

class OnnxGraph {
 public:
  using Integers = std::vector<std::int64_t>;
  using Attribute = std::variant<std::int64_t, float, Integers>;
  using Attributes = std::vector<std::pair<std::string, Attribute>>;
  enum class Type : std::uint8_t { float32 = 1, int64 = 7 };  // TensorProto.DataType

  // The layer whose nodes follow, for their names.
  void begin_layer(const std::string& name) { layer_ = name; }

  // Adds a node, and returns its output, or its outputs.
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {});
  std::vector<std::string> split(const std::string& input, std::int64_t axis, std::int64_t parts);
  void identity(const std::string& from, const std::string& name);  // gives a value a name

  // Add constants, and return their names. Parameters that are added twice are stored once.
  std::string parameter(const std::string& name, const Integers& shape, std::span<const float> values);
  std::string floats(const Integers& shape, std::span<const float> values);
  std::string number(float value) { return floats({}, std::span(&value, 1)); }
  std::string integers(const Integers& values);  // a list
  std::string index(std::int64_t value);         // a single number

  // The samples are the first dimension of each, and not part of `shape`.
  void input(const std::string& name, Type type, const Integers& shape) { value(11, name, type, shape); }
  void output(const std::string& name, const Integers& shape) { value(12, name, Type::float32, shape); }

  // The file. `texts` are its metadata. Throws Failure (configuration) if it would exceed 2 GiB, the limit of
  // the format.
  using Texts = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] std::string file(const std::string& name, const Texts& texts) const;

 private:
  void value(std::uint32_t field, const std::string& name, Type type, const Integers& shape);
  std::string constant(const std::string& name, Type type, const Integers& shape, std::string_view bytes);
  std::string next_name() { return layer_ + "/" + std::to_string(count_++); }

  Protobuf graph_;  // without its name
  std::string layer_;
  std::uint64_t count_ = 0;
  std::vector<std::string> stored_;  // names of parameters
};

}  // namespace steelyard
