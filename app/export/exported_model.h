// A trained model, as the writers of this folder take it: onnx.h, torch_state.h, torch_source.h.
#pragma once

#include <steelyard/model.h>

#include <span>
#include <string>
#include <vector>

namespace steelyard {

// The model and its parameters must outlive it.
struct ExportedModel {
  const nn::Model& model;
  std::span<const float> parameters;   // laid out by Model::layout()
  std::vector<double> mean{0};         // inputs are (raw - mean) / deviation: one number for all values, or
  std::vector<double> deviation{1};    // one for each channel
  std::vector<std::string> classes{};  // names, by number, or of targets; empty: unknown
  // Outputs are scaled targets: a number of the data is output * target_deviation + target_mean. Both empty:
  // the outputs are scores of classes.
  std::vector<double> target_mean{}, target_deviation{};
  std::string title{};  // the model's name and origin, for readers

  [[nodiscard]] std::span<const float> values(const nn::Tensor& tensor) const {
    return parameters.subspan(tensor.offset, tensor.size);
  }
  // Whether raw values differ from the model's inputs.
  [[nodiscard]] bool scales() const {
    return mean != std::vector<double>{0} || deviation != std::vector<double>{1};
  }
  // Whether numbers of the data differ from the model's outputs.
  [[nodiscard]] bool scales_targets() const {
    return target_mean != std::vector<double>(target_mean.size(), 0) ||
           target_deviation != std::vector<double>(target_deviation.size(), 1);
  }
};

}  // namespace steelyard
