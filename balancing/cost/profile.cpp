#include "balancing/cost/profile.h"

#include "core/check.h"

namespace steelyard::balancing {

Profile::Profile(const std::vector<Line>& lines) {
  for (const auto& [name, curve] : lines) {
    for (std::size_t k = 0; k < mean_.terms.size(); ++k) {
      mean_.terms[k] += curve.terms[k] / static_cast<double>(lines.size());
    }
    if (name.empty()) {
      by_slot_.push_back(curve);
    } else {
      by_name_[name] = curve;
    }
  }
}

const Cubic& Profile::of(const std::string& name, std::uint32_t slot) const {
  CHECK(!empty(), "a profile of nobody");
  const auto named = by_name_.find(name);
  if (named != by_name_.end()) return named->second;
  return slot < by_slot_.size() ? by_slot_[slot] : mean_;
}

}  // namespace steelyard::balancing
