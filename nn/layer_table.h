// The layers that a job file may name ([[model.layer]]), with the options of each: the ops of
// steelyard/layers.h, by the names of their methods. `steelyard help layers` lists them.
#pragma once

#include <steelyard/choice.h>
#include <steelyard/model.h>

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard::nn {

// A row's function makes the op. Layers with `outputs` have as many as there are classes, unless the job
// gives a number.
using LayerTable = Choices<OpKind(std::uint32_t classes, const Options& options)>;

const LayerTable& layer_table();

// The name of the model that has the layers of the job file.
inline constexpr const char* model_of_layers = "layers";

// One layer, as in the job file.
struct LayerText {
  std::string kind;                   // a row of the table
  std::string name{};                 // prefix of its tensors; empty: kind and number, "linear3"
  std::vector<std::string> inputs{};  // names of layers before it, or "input"; empty: the layer before it
  OptionTexts options{};
  std::string place{};  // where it stands, for messages: "job.toml:7:1"
};

// Adds the layers to a model without any. Throws Failure (configuration), with the place of the layer, if a
// kind, an option or an input does not exist, a name is used twice, or a layer does not fit its inputs.
void add_layers(Model& model, const std::vector<LayerText>& layers);

}  // namespace steelyard::nn
