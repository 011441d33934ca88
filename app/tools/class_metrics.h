// Metrics of a classifier beside accuracy: precision, recall and F1 of each class, macro F1, top-k
// accuracy, AUC.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace steelyard {

class ClassMetrics {
 public:
  // For AUC all scores are kept: `keep_scores` false saves this memory.
  explicit ClassMetrics(std::uint32_t classes, bool keep_scores = true);

  // One label, and the scores ("logits") of all classes. The prediction is the first of the highest scores.
  void add(std::span<const float> scores, std::uint32_t label);
  ClassMetrics& operator+=(const ClassMetrics& other);

  struct Counts {
    std::uint64_t samples = 0;    // with this label
    std::uint64_t predicted = 0;  // as this class
    std::uint64_t right = 0;      // both

    [[nodiscard]] double precision() const { return share(right, predicted); }
    [[nodiscard]] double recall() const { return share(right, samples); }
    [[nodiscard]] double f1() const { return share(2 * right, samples + predicted); }

   private:
    static double share(std::uint64_t part, std::uint64_t whole) {
      return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
    }
  };
  [[nodiscard]] const std::vector<Counts>& counts() const { return counts_; }

  // The mean of f1() over the classes that were labels or predictions.
  [[nodiscard]] double macro_f1() const;
  // The share of labels whose score is among the `most_top` highest.
  static constexpr std::uint32_t most_top = 5;
  [[nodiscard]] double top_accuracy() const;
  // Area under the ROC curve: the probability that a random sample of a class has a higher score for it
  // than a random sample of another class; equal scores count half. The score of a class is its log-odds.
  // The mean over the classes that some samples have and others do not; of two classes both have the same
  // area. std::nullopt if there is no such class, or scores were not kept.
  [[nodiscard]] std::optional<double> auc() const;

 private:
  const bool keep_scores_;
  std::vector<Counts> counts_;
  std::uint64_t in_top_ = 0;
  std::vector<std::uint32_t> labels_;
  std::vector<float> odds_;  // of each label in labels_, for each class
};

}  // namespace steelyard
