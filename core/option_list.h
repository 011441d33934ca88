// Options of a model, data set or policy (include/steelyard/choice.h) whose value is a list of texts, as in
// columns = ["height", "weight"]. OptionTexts hold one text for each option: a list is a JSON array there.
#pragma once

#include <steelyard/choice.h>

#include <string>
#include <vector>

namespace steelyard {

// Accepts a list that is not empty; one text is a list, too.
Option list_option(std::string name, std::string help);

// The value of such an option; empty if it was not given.
std::vector<std::string> list_of(const Options& options, const std::string& name);

std::string option_list_text(const std::vector<std::string>& values);
// Whether the text is one of option_list_text().
bool is_option_list(const std::string& text);

}  // namespace steelyard
