// Helpers for Failure (include/steelyard/failure.h), and suggestions for its messages.
#pragma once

#include <steelyard/failure.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// Throw Failure: refuse_setup() for an invalid configuration, refuse_usage() for an invalid command line.
[[noreturn]] void refuse_setup(const std::string& what);
[[noreturn]] void refuse_usage(const std::string& what);

// "Did you mean ...?": the known word nearest to a misspelt one.

// Minimum number of edits that turn one word into the other. An edit inserts, deletes or replaces a letter,
// or swaps two neighbours (Damerau 1964, restricted: no letter is edited twice). Case is ignored, and '-'
// equals '_'.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest candidate, the first one if several are equally near. Empty if more than a third of the longer
// word would have to change.
std::string near_match(std::string_view word, const std::vector<std::string>& candidates);

// `; did you mean "lr"?`, or an empty text if no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// did_you_mean(), followed by all valid names.
std::string among(std::string_view word, const std::vector<std::string>& known);

// "a, b, c"
std::string joined(const std::vector<std::string>& words);

}  // namespace steelyard
