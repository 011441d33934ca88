#include "core/text.h"

#include <algorithm>

namespace steelyard {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

}  // namespace steelyard
