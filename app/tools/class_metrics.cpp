#include "app/tools/class_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"

namespace steelyard {
namespace {

// The logarithm of p / (1 - p) for the softmax p of each score. Unlike p, it does not become 1 for every
// confident prediction.
void add_log_odds(std::span<const float> scores, std::vector<float>& into) {
  const double top = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(double{score} - top);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    double others = sum - std::exp(double{scores[i]} - top);
    if (others < 0.5 * sum) {  // the difference has lost digits
      others = 0;
      for (std::size_t j = 0; j < scores.size(); ++j)
        others += j == i ? 0 : std::exp(double{scores[j]} - top);
    }
    into.push_back(static_cast<float>(double{scores[i]} - top - std::log(others)));
  }
}

// Mann and Whitney: from the ranks of the positive ones; equal scores share the mean of their ranks.
double area(std::vector<std::pair<float, bool>> scored, std::uint64_t positives) {
  std::ranges::sort(scored, {}, &std::pair<float, bool>::first);
  double ranks = 0;
  for (std::size_t begin = 0, end = 0; begin < scored.size(); begin = end) {
    std::uint64_t here = 0;
    for (end = begin; end < scored.size() && scored[end].first == scored[begin].first; ++end)
      here += scored[end].second ? 1 : 0;
    ranks += static_cast<double>(here) * (static_cast<double>(begin + end + 1) / 2);
  }
  const auto n = static_cast<double>(positives), m = static_cast<double>(scored.size() - positives);
  return (ranks - n * (n + 1) / 2) / (n * m);
}

}  // namespace

ClassMetrics::ClassMetrics(std::uint32_t classes, bool keep_scores)
    : keep_scores_(keep_scores), counts_(classes) {}

void ClassMetrics::add(std::span<const float> scores, std::uint32_t label) {
  CHECK(scores.size() == counts_.size() && label < scores.size(), "scores of another model");
  const auto best = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
  ++counts_[label].samples;
  ++counts_[best].predicted;
  counts_[label].right += best == label ? 1 : 0;
  const auto before =
      std::ranges::count_if(scores.first(label), [&](float it) { return it >= scores[label]; }) +
      std::ranges::count_if(scores.subspan(label), [&](float it) { return it > scores[label]; });
  in_top_ += before < most_top && !std::isnan(scores[label]) ? 1 : 0;
  if (!keep_scores_) return;
  labels_.push_back(label);
  add_log_odds(scores, odds_);
}

ClassMetrics& ClassMetrics::operator+=(const ClassMetrics& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i].samples += other.counts_[i].samples;
    counts_[i].predicted += other.counts_[i].predicted;
    counts_[i].right += other.counts_[i].right;
  }
  in_top_ += other.in_top_;
  labels_.insert(labels_.end(), other.labels_.begin(), other.labels_.end());
  odds_.insert(odds_.end(), other.odds_.begin(), other.odds_.end());
  return *this;
}

double ClassMetrics::macro_f1() const {
  double sum = 0;
  std::uint64_t classes = 0;
  for (const Counts& it : counts_) {
    if (it.samples + it.predicted == 0) continue;
    sum += it.f1();
    ++classes;
  }
  return classes == 0 ? 0 : sum / static_cast<double>(classes);
}

double ClassMetrics::top_accuracy() const {
  std::uint64_t all = 0;
  for (const Counts& it : counts_) all += it.samples;
  return all == 0 ? 0 : static_cast<double>(in_top_) / static_cast<double>(all);
}

std::optional<double> ClassMetrics::auc() const {
  // NaN has no rank.
  if (std::ranges::any_of(odds_, [](float it) { return std::isnan(it); })) return std::nullopt;
  double sum = 0;
  std::uint64_t classes = 0;
  for (std::size_t c = 0; c < counts_.size(); ++c) {
    const std::uint64_t positives = counts_[c].samples;
    if (positives == 0 || positives >= labels_.size()) continue;
    std::vector<std::pair<float, bool>> scored;
    scored.reserve(labels_.size());
    for (std::size_t i = 0; i < labels_.size(); ++i)
      scored.emplace_back(odds_[i * counts_.size() + c], labels_[i] == c);
    sum += area(std::move(scored), positives);
    ++classes;
  }
  return classes == 0 ? std::nullopt : std::optional(sum / static_cast<double>(classes));
}

}  // namespace steelyard
