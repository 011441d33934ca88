#include "app/config/machine_request.h"

#include <algorithm>

#include "core/text.h"  // trimmed

namespace steelyard {
namespace {

bool is_small(char c) { return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9'); }
bool is_alphanumeric(char c) { return is_small(c) || ('A' <= c && c <= 'Z'); }

bool is_image(std::string_view text) {
  return text.size() <= 255 && is_alphanumeric(text[0]) && std::ranges::all_of(text, [](char c) {
           return is_alphanumeric(c) || std::string_view("._/:@-").find(c) != std::string_view::npos;
         });
}

// Name or value of a label of Kubernetes, without the prefix of a name.
bool is_label_part(std::string_view text) {
  return !text.empty() && text.size() <= 63 && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::ranges::all_of(text, [](char c) {
           return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_dns_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && is_small(text.front()) && is_small(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_small(c) || c == '-' || c == '.'; });
}

bool is_label(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_label_part(text);
  return is_dns_name(text.substr(0, slash)) && is_label_part(text.substr(slash + 1));
}

bool is_selector(std::string_view text) {
  return std::ranges::all_of(pairs_in(text, '='), [](const auto& label) {
    return is_label(label.first) && is_label_part(label.second);
  });
}

bool is_volume_list(std::string_view text) {
  return std::ranges::all_of(pairs_in(text, ':'), [](const auto& volume) {
    const auto& [claim, path] = volume;
    return is_dns_label(claim, 63) && path.size() > 1 && path[0] == '/' &&
           path.find_first_of(":\n") == std::string::npos && path.find("..") == std::string::npos;
  });
}

}  // namespace

// Slurm has the same units, of one letter.
bool is_memory_size(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || digits > 9 || text[0] == '0') return false;
  const std::string_view unit = text.substr(digits);
  return unit == "Mi" || unit == "Gi" || unit == "Ti";
}

std::vector<std::pair<std::string, std::string>> pairs_in(std::string_view text, char separator) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = trimmed(text.substr(0, comma));
    const std::size_t middle = std::min(one.find(separator), one.size());
    pairs.emplace_back(one.substr(0, middle), one.substr(std::min(middle + 1, one.size())));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return pairs;
}

bool is_dns_label(std::string_view name, std::size_t longest) {
  return !name.empty() && name.size() <= longest && 'a' <= name[0] && name[0] <= 'z' && name.back() != '-' &&
         std::ranges::all_of(name, [](char c) { return is_small(c) || c == '-'; });
}

std::vector<Key> machine_keys(MachineRequest& request) {
  return {
      {"count", &request.count, Limits::at_least(1, 10'000), "equal machines, each with these processes", "",
       "for steelyard render: what Slurm or Kubernetes is asked for"},
      {"cpus", &request.cpus, Limits::at_least(0, 10'000), "processors of each; 0: not requested"},
      {"memory", &request.memory,
       Limits::text(is_memory_size, R"(as in "8Gi": a whole number of Mi, Gi or Ti)", false),
       "memory of each; default: not requested", "\"8Gi\""},
      {"gpus", &request.gpus, Limits::at_least(0, 64), "NVIDIA GPUs of each"},
      {"partition", &request.partition, Limits::plain_name(), "partition of Slurm; default: that of the site",
       "\"fast\""},
      {"image", &request.image, Limits::text(is_image, "the name of a container image", false),
       "image of the container, with the program; default: steelyard:RELEASE", "\"registry.lab/train:3\""},
      {"node_selector", &request.node_selector,
       Limits::text(is_selector, R"(labels of nodes, as in "pool=fast, gpu.model=a100")", false),
       "labels that a node of Kubernetes must have", "\"pool=fast\""},
      {"volumes", &request.volumes,
       Limits::text(is_volume_list, R"(claims and where they are mounted, as in "pictures:/data")", false),
       "persistent volume claims with data, mounted read-only", "\"pictures:/data\""},
  };
}

}  // namespace steelyard
