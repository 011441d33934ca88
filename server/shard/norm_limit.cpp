#include "server/shard/norm_limit.h"

#include <algorithm>
#include <cmath>

#include "nn/optimizer/vector.h"

namespace steelyard {
namespace {

constexpr std::size_t remembered = 31, enough = 8;

double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::ranges::nth_element(of, middle);
  return *middle;
}

}  // namespace

std::optional<double> NormLimit::refused(std::size_t slice, std::span<const float> values, double weight) {
  if (!nn::all_finite(values)) return 0;
  if (limit_ <= 0) return std::nullopt;
  Recent& recent = recent_.at(slice);
  const double norm = std::sqrt(nn::sum_of_squares(values)) / weight;
  if (recent.norms.size() >= enough) {
    const double usual = median(recent.norms);
    if (usual > 0 && norm > limit_ * usual) return norm / usual;
  }
  if (recent.norms.size() < remembered) {
    recent.norms.push_back(norm);
  } else {
    recent.norms[recent.next] = norm;
    recent.next = (recent.next + 1) % remembered;
  }
  return std::nullopt;
}

bool NormLimit::knows_any() const {
  return std::ranges::any_of(recent_, [](const Recent& it) { return !it.norms.empty(); });
}

}  // namespace steelyard
