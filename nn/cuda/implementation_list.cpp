#include "nn/cuda/implementation_list.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace steelyard::nn::cuda {
namespace {

constexpr std::size_t most_named = 8;

using Group = std::pair<std::string, std::vector<std::string>>;  // implementation, steps

std::string text_of(const Group& group) {
  const auto& [implementation, steps] = group;
  const bool many = steps.size() > most_named;
  std::string text = implementation + (many ? ": " + std::to_string(steps.size()) + " steps, as " : ": ");
  for (std::size_t i = 0; i < (many ? 1 : steps.size()); ++i) text += (i > 0 ? ", " : "") + steps[i];
  return text;
}

}  // namespace

std::string by_implementation(std::span<const std::string> implementations) {
  std::vector<Group> groups;
  for (const std::string& line : implementations) {
    const std::size_t colon = line.find(": ");
    const std::string implementation = line.substr(colon + 2);
    auto group = std::ranges::find(groups, implementation, &Group::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {implementation, {}});
    group->second.push_back(line.substr(0, colon));
  }
  std::ranges::stable_sort(groups, {}, [](const Group& group) { return group.second.size(); });
  std::string text;
  for (const Group& group : groups) text += (text.empty() ? "" : "; ") + text_of(group);
  return text;
}

}  // namespace steelyard::nn::cuda
