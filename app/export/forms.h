// The order of axes in which other programs hold the values of a graph. Ours have one order, row x column x
// channel; theirs depends on the op that reads the value.
#pragma once

#include <steelyard/model.h>

#include <cstdint>
#include <vector>

namespace steelyard {

// The first axis is always the samples.
enum class Form : std::uint8_t {
  picture,   // [channel][row][column]
  sequence,  // [token][feature]; the pixels of a picture are tokens, row by row
  vector,    // [feature]
  indices,   // [token], whole numbers: the rows of an embedding
};

// All inputs of a node are converted to `input`.
struct NodeForms {
  Form input = Form::vector, output = Form::vector;
};

// By node. For node 0, both are the form of the model's input.
std::vector<NodeForms> forms_of(const nn::Model& model);

// The form in which the scores are delivered: a vector, or a sequence if every token has scores.
Form form_of_scores(const nn::Model& model);

}  // namespace steelyard
