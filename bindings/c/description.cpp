#include "bindings/c/description.h"

#include <limits>

#include "app/processes/process_keys.h"
#include "app/processes/processes.h"
#include "bindings/c/json_object.h"
#include "core/error.h"
#include "core/json.h"
#include "protocol/node.h"

namespace steelyard::c_api {
namespace {

constexpr std::uint64_t most_floats = std::uint64_t{1} << 48;
constexpr double most_factor = 1e6;

// Subtracts the size of the tensor from `left`, the floats still allowed, so that no product overflows.
std::vector<std::uint64_t> shape_of(const JsonObject& tensor, std::uint64_t& left) {
  const Json* json = tensor.find("shape");
  const char* remedy =
      "a list of whole numbers, [] for a single number; all tensors together have less than 2^48";
  if (json == nullptr || !json->is_array()) tensor.refuse("shape", remedy);
  std::vector<std::uint64_t> shape;
  std::uint64_t size = 1;
  for (const Json& side : *json) {
    if (!side.is_number_unsigned()) tensor.refuse("shape", remedy);
    shape.push_back(side.get<std::uint64_t>());
    if (shape.back() > 0 && size > left / shape.back()) tensor.refuse("shape", remedy);
    size *= shape.back();
  }
  if (size > left) tensor.refuse("shape", remedy);
  left -= size;
  return shape;
}

Layout layout_of(const JsonObject& description) {
  const Json* tensors = description.find("tensors");
  if (tensors == nullptr || !tensors->is_array() || tensors->empty())
    description.refuse("tensors", "a list of at least one tensor");
  Layout layout;
  std::uint64_t left = most_floats;
  for (const Json& json : *tensors) {
    const std::string place = "tensor " + std::to_string(layout.tensors.size());
    const JsonObject tensor(json, place, {"name", "shape", "rule", "decay", "rate"});
    const std::string name = tensor.text("name", ""), rule = tensor.text("rule", "step");
    if (name.empty()) tensor.refuse("name", "the name of the tensor");
    if (rule != "step" && rule != "mean") tensor.refuse("rule", "\"step\" or \"mean\"");
    append(layout, name, shape_of(tensor, left), rule == "step" ? Rule::step : Rule::mean,
           tensor.number("decay", 1, 0, most_factor), Range{}.keep, tensor.number("rate", 1, 0, most_factor));
  }
  if (layout.size() == 0) description.refuse("tensors", "at least one tensor that is not empty");
  return layout;
}

ModelDescription model_of(const JsonObject& description) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  ModelDescription model;
  model.layout = layout_of(description);
  model.train_samples = description.count("train_samples", 0, 1);
  model.test_samples = description.count("test_samples", 0, 0);
  const std::uint64_t grain = description.count("grain", 1, 1);
  for (const char* key : {"train_samples", "test_samples", "grain"}) {
    const Json* value = description.find(key);
    if (value != nullptr && value->get<std::uint64_t>() > most)
      description.refuse(key, "no more than " + std::to_string(most));
  }
  if (model.train_samples == 0) description.refuse("train_samples", "the number of training samples");
  model.grain = static_cast<std::uint32_t>(grain);
  model.data = description.text("data", "data of the worker's program");
  model.data_hash = description.text("data_hash", "");
  model.job = description.text("job", "");
  return model;
}

}  // namespace

Description read_description(const char* text) {
  const Json json = parse_object(text, "the description", R"({"scheduler": "host:7070", "tensors": [...]})");
  Description it;
  std::vector<Key> keys = process_keys(it.options);
  std::erase_if(keys, [](const Key& key) { return !key.elsewhere.description; });
  std::vector<std::string> known{"kind",      "job",           "tensors",      "data",
                                 "data_hash", "train_samples", "test_samples", "grain"};
  for (const Key& key : keys) known.push_back(key.name);
  for (const Key& key : keys) known.push_back(key.former);
  const JsonObject description(json, "the description", known);
  for (const Key& key : keys) description.take(key);
  if (it.options.scheduler.empty()) description.refuse("scheduler", "its address, such as \"host:7070\"");
  std::string& name = it.options.spec.name;
  if (name.empty()) name = default_name("worker");
  check_name("\"name\" of the description", name);
  it.hello.name = name;
  it.hello.kind = kind_of(description);
  it.model = model_of(description);
  return it;
}

}  // namespace steelyard::c_api
