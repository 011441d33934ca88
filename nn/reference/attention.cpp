#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/op_table.h"

namespace steelyard::nn::reference {
namespace {

class AttentionOp final : public ReferenceOp {
 public:
  AttentionOp(const Attention& op, const OpPlace& place)
      : tokens_(place.output.width),
        features_(place.output.channels),
        length_(features_ / op.heads),
        causal_(op.causal),
        probabilities_(tokens_) {}

  void forward(const Pass& pass, const Forward& call) override {
    each_row(pass, [&](std::uint64_t sample, std::uint64_t head, std::uint64_t i) {
      attend(call.inputs[0], sample, head, i);
      for (std::uint64_t f = head; f < head + length_; ++f) {
        double sum = 0;
        for (std::uint64_t j = 0; j < tokens_; ++j) {
          sum += probabilities_[j] * call.inputs[0][place(sample, j, value, f)];
        }
        call.output[(sample * tokens_ + i) * features_ + f] = static_cast<float>(sum);
      }
    });
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    const float* x = call.inputs[0];
    std::vector<double> sums(pass.size() * tokens_ * 3 * features_), d_probabilities(tokens_);
    each_row(pass, [&](std::uint64_t sample, std::uint64_t head, std::uint64_t i) {
      attend(x, sample, head, i);
      const float* d_output = call.d_output + (sample * tokens_ + i) * features_;
      double mean = 0;
      for (std::uint64_t j = 0; j < tokens_; ++j) {
        d_probabilities[j] = 0;
        for (std::uint64_t f = head; f < head + length_; ++f) {
          d_probabilities[j] += double{d_output[f]} * x[place(sample, j, value, f)];
          sums[place(sample, j, value, f)] += probabilities_[j] * d_output[f];
        }
        mean += probabilities_[j] * d_probabilities[j];
      }
      for (std::uint64_t j = 0; j < tokens_; ++j) {
        const double d_score = probabilities_[j] * (d_probabilities[j] - mean) / root();
        for (std::uint64_t f = head; f < head + length_; ++f) {
          sums[place(sample, i, query, f)] += d_score * x[place(sample, j, key, f)];
          sums[place(sample, j, key, f)] += d_score * x[place(sample, i, query, f)];
        }
      }
    });
    for (std::size_t i = 0; i < sums.size(); ++i) call.d_inputs[0].to[i] = static_cast<float>(sums[i]);
  }

 private:
  enum Part : std::uint8_t { query, key, value };

  [[nodiscard]] std::uint64_t place(std::uint64_t sample, std::uint64_t token, Part part,
                                    std::uint64_t feature) const {
    return ((sample * tokens_ + token) * 3 + part) * features_ + feature;
  }
  [[nodiscard]] double root() const { return std::sqrt(static_cast<double>(length_)); }

  // visit(sample, first feature of the head, query)
  template <class Visit>
  void each_row(const Pass& pass, Visit visit) const {
    for (std::uint64_t sample = 0; sample < pass.size(); ++sample) {
      for (std::uint64_t head = 0; head < features_; head += length_) {
        for (std::uint64_t i = 0; i < tokens_; ++i) visit(sample, head, i);
      }
    }
  }

  // Writes row `i` of the softmax to probabilities_.
  void attend(const float* x, std::uint64_t sample, std::uint64_t head, std::uint64_t i) {
    const std::uint64_t seen = causal_ ? i + 1 : tokens_;
    std::fill(probabilities_.begin(), probabilities_.end(), 0.0);
    for (std::uint64_t j = 0; j < seen; ++j) {
      for (std::uint64_t f = head; f < head + length_; ++f) {
        probabilities_[j] += double{x[place(sample, i, query, f)]} * x[place(sample, j, key, f)] / root();
      }
    }
    const auto end = probabilities_.begin() + static_cast<std::ptrdiff_t>(seen);
    const double top = *std::max_element(probabilities_.begin(), end);
    double sum = 0;
    for (auto at = probabilities_.begin(); at != end; ++at) sum += * at = std::exp(*at - top);
    for (double& probability : probabilities_) probability /= sum;
  }

  std::uint64_t tokens_, features_, length_;  // features of all heads, and of one
  bool causal_;
  std::vector<double> probabilities_;
};

}  // namespace

STEELYARD_OP(Attention, AttentionOp)

}  // namespace steelyard::nn::reference
