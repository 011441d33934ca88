#include "bench/gpu/native_facts.h"

namespace steelyard::bench {

std::vector<std::pair<std::string, std::string>> native_facts() {
  return {{"device", "the host executor; it has no libraries and no driver"}};
}

}  // namespace steelyard::bench
