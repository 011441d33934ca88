#include "app/report/compare/comparison.h"

#include <algorithm>

namespace steelyard {

std::string label(const Contender& contender) {
  return contender.alone.empty() ? contender.policy + " " + contender.sync : contender.alone + " alone";
}

std::string plain_label(const Contender& contender) {
  std::string text = label(contender);
  std::ranges::replace_if(
      text, [](char c) { return c == ' ' || c == ':' || c == '/'; }, '-');
  return text;
}

}  // namespace steelyard
