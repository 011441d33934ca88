#include "app/report/compare/comparison.h"

#include <algorithm>

namespace steelyard {

std::string label(const Entrant& entrant) {
  return entrant.alone.empty() ? entrant.policy + " " + entrant.sync : entrant.alone + " alone";
}

std::string plain_label(const Entrant& entrant) {
  std::string text = label(entrant);
  std::ranges::replace_if(
      text, [](char c) { return c == ' ' || c == ':' || c == '/'; }, '-');
  return text;
}

}  // namespace steelyard
