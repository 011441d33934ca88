// Failure (include/steelyard/failure.h), and the words that its messages propose.
#pragma once

#include <steelyard/failure.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// Throw Failure: what a person has written cannot work (configuration), or a command line is wrong (usage).
[[noreturn]] void refuse_setup(const std::string& what);
[[noreturn]] void refuse_usage(const std::string& what);

// "Did you mean ...?": the known word that is nearest to a wrong one.

// Edits that turn one into the other, where an edit inserts, removes or replaces a letter or swaps two
// neighbours (Damerau 1964, in its restricted form: no letter is edited twice). Capitals and small letters
// are the same, and so are '-' and '_'.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest candidate, the first of equally near ones; empty if none is near enough to be meant: more than
// a third of the longer word would have to change.
std::string near_match(std::string_view word, const std::vector<std::string>& candidates);

// `; did you mean "lr"?`, or nothing if nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// The same, and all that there are.
std::string among(std::string_view word, const std::vector<std::string>& known);

// "a, b, c"
std::string joined(const std::vector<std::string>& words);

}  // namespace steelyard
