#include "app/export/onnx_graph.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "core/processor.h"

namespace steelyard {
namespace {

constexpr std::int64_t ir_version = 8, opset = 17;

Protobuf attribute_message(const std::string& name, const OnnxGraph::Attribute& value) {
  enum : std::int64_t { type_float = 1, type_int = 2, type_ints = 7 };
  Protobuf it;
  it.text(1, name);
  if (const auto* real = std::get_if<float>(&value)) it.real(2, *real).number(20, type_float);
  if (const auto* number = std::get_if<std::int64_t>(&value)) it.number(3, *number).number(20, type_int);
  if (const auto* list = std::get_if<OnnxGraph::Integers>(&value)) {
    for (const std::int64_t one : *list) it.number(8, one);
    it.number(20, type_ints);
  }
  return it;
}

// The bytes of numbers as TensorProto.raw_data has them: little-endian.
template <class Number>
std::string_view raw(std::span<const Number> values) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

std::string OnnxGraph::node(const std::string& op, const std::vector<std::string>& inputs,
                            const Attributes& attributes) {
  const std::string name = next_name();
  Protobuf it;
  for (const std::string& input : inputs) it.text(1, input);
  it.text(2, name).text(3, name).text(4, op);
  for (const auto& [key, value] : attributes) it.message(5, attribute_message(key, value));
  graph_.message(1, it);
  return name;
}

std::vector<std::string> OnnxGraph::split(const std::string& input, std::int64_t axis, std::int64_t parts) {
  const std::string name = next_name();
  std::vector<std::string> outputs;
  Protobuf it;
  it.text(1, input);
  for (std::int64_t i = 0; i < parts; ++i) {
    outputs.push_back(name + "." + std::to_string(i));
    it.text(2, outputs.back());
  }
  it.text(3, name).text(4, "Split").message(5, attribute_message("axis", axis));
  graph_.message(1, it);
  return outputs;
}

void OnnxGraph::identity(const std::string& from, const std::string& name) {
  graph_.message(1, Protobuf().text(1, from).text(2, name).text(3, name).text(4, "Identity"));
}

std::string OnnxGraph::parameter(const std::string& name, const Integers& shape,
                                 std::span<const float> values) {
  if (std::ranges::find(stored_, name) != stored_.end()) return name;
  stored_.push_back(name);
  return constant(name, Type::float32, shape, raw(values));
}

std::string OnnxGraph::floats(const Integers& shape, std::span<const float> values) {
  return constant(next_name(), Type::float32, shape, raw(values));
}

std::string OnnxGraph::integers(const Integers& values) {
  return constant(next_name(), Type::int64, {static_cast<std::int64_t>(values.size())},
                  raw(std::span<const std::int64_t>(values)));
}

std::string OnnxGraph::index(std::int64_t value) {
  return constant(next_name(), Type::int64, {}, raw(std::span<const std::int64_t>(&value, 1)));
}

std::string OnnxGraph::constant(const std::string& name, Type type, const Integers& shape,
                                std::string_view bytes) {
  Protobuf it;
  for (const std::int64_t extent : shape) it.number(1, extent);
  it.number(2, static_cast<std::int64_t>(type)).text(8, name).text(9, bytes);
  graph_.message(5, it);
  return name;
}

void OnnxGraph::value(std::uint32_t field, const std::string& name, Type type, const Integers& shape) {
  Protobuf dimensions;
  dimensions.message(1, Protobuf().text(2, "samples"));
  for (const std::int64_t extent : shape) dimensions.message(1, Protobuf().number(1, extent));
  Protobuf tensor;
  tensor.number(1, static_cast<std::int64_t>(type)).message(2, dimensions);
  graph_.message(field, Protobuf().text(1, name).message(2, Protobuf().message(1, tensor)));
}

std::string OnnxGraph::file(const std::string& name, const Texts& texts) const {
  Protobuf graph = graph_;
  graph.text(2, name);
  Protobuf it;
  it.number(1, ir_version).text(2, "steelyard").text(3, release()).message(7, graph);
  it.message(8, Protobuf().text(1, "").number(2, opset));
  for (const auto& [key, value] : texts) it.message(14, Protobuf().text(1, key).text(2, value));
  constexpr std::size_t largest = std::size_t{1} << 31;
  if (it.bytes().size() >= largest) {
    refuse_setup("the model takes " + std::to_string(it.bytes().size() >> 20) +
                 " MiB, and an ONNX file holds less than 2048: give --to FILE.pt, for PyTorch");
  }
  return it.bytes();
}

}  // namespace steelyard
