// The Python code of one node of a model (torch_source.h).
#pragma once

#include <steelyard/model.h>

#include <string>
#include <vector>

#include "app/export/forms.h"

namespace steelyard {

std::string python_text(const std::string& text);  // in double quotes

// The expression that computes the node from `inputs`, which are names of variables in this form. Appends to
// `places` the lines of the constructor that make its layer or parameters, unless another node has made them.
std::string torch_expression(const nn::Model& model, const nn::Node& node, Form form,
                             const std::vector<std::string>& inputs, std::vector<std::string>& places);

// The variable `x`, of this shape, in another form.
std::string python_form(const std::string& x, nn::Shape shape, Form from, Form to);

}  // namespace steelyard
