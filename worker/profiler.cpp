#include "worker/profiler.h"

#include <algorithm>

#include "core/random.h"
#include "core/text.h"

namespace steelyard {

Profiler::Profiler(std::uint64_t grain, std::uint64_t most)
    : grain_(grain), most_(std::max<std::uint64_t>(1, most / grain) * grain) {}

// Whether a larger batch is measured in `left` seconds. Its time is estimated as proportional.
bool Profiler::may_double(double left) const {
  if (sizes_.empty()) return true;
  const Size& last = sizes_.back();
  return last.samples < most_ && !last.seconds.empty() && 2 * last.seconds.front() <= left / 2;
}

std::optional<std::uint64_t> Profiler::next(Time now) {
  if (!begun_) begun_ = now;
  const double left = seconds(budget - (now - *begun_));
  if (may_double(left)) {
    sizes_.push_back({sizes_.empty() ? grain_ : std::min(2 * sizes_.back().samples, most_), {}});
    at_ = sizes_.size() - 1;
    return sizes_[at_].samples;
  }
  std::optional<std::size_t> least;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const std::size_t times = sizes_[i].seconds.size();
    if (times >= most_repeats || median(sizes_[i].seconds) > left) continue;
    if (!least || times < sizes_[*least].seconds.size()) least = i;
  }
  if (!least) return std::nullopt;
  at_ = *least;
  return sizes_[at_].samples;
}

void Profiler::took(double seconds) { sizes_[at_].seconds.push_back(seconds); }

// The smallest size always fits: otherwise computing ends with an error.
void Profiler::did_not_fit() {
  sizes_.resize(std::max<std::size_t>(1, at_));
  most_ = sizes_.back().samples;
  full_ = true;
}

Ready Profiler::result() const {
  Ready ready;
  for (const Size& it : sizes_) {
    if (!it.seconds.empty()) ready.times.push_back({it.samples, median(it.seconds)});
  }
  ready.most = full_ ? most_ : 0;
  return ready;
}

Blob trial_parameters(const Layout& layout) {
  constexpr double largest = 0.05;
  auto values = std::make_shared<FloatBuffer>(layout.size());
  Random random(1);
  for (const Range& range : layout.ranges) {
    for (float& value : values->span().subspan(range.begin, range.end - range.begin))
      value = range.rule == Rule::step ? static_cast<float>(largest * (2 * random.uniform() - 1)) : 1.0F;
  }
  return Blob::of_floats(values, values->span());
}

}  // namespace steelyard
