#pragma once

#include <steelyard/engine.h>
#include <steelyard/model.h>

#include <stdexcept>
#include <vector>

#include "core/random.h"

namespace steelyard {

// Random samples of a model, in micro-batches of `at_once`.
class MadeSamples final : public Samples {
 public:
  MadeSamples(const nn::Model& model, std::uint32_t count, std::uint32_t at_once = 8)
      : size_(model.input().size()), left_(count), at_once_(at_once) {
    Random random(4);
    const bool tokens = std::holds_alternative<nn::Embedding>(model.nodes()[1].kind);
    for (std::uint64_t i = 0; i < size_ * count; ++i) {
      inputs_.push_back(tokens ? static_cast<float>(random.below(3)) : static_cast<float>(random.normal()));
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      labels_.push_back(i % model.classes());
      positions_.push_back(i);
    }
    if (!takes_targets(model.loss())) return;
    targets_each_ = model.classes();
    for (std::uint32_t i = 0; i < count * targets_each_; ++i)
      targets_.push_back(static_cast<float>(random.normal()));
  }
  const nn::MicroBatch* next() override {
    if (left_ == 0) return nullptr;
    if (thrown_at == left_) throw std::runtime_error("no more to be read");
    const std::uint64_t at = positions_.size() - left_;
    batch_ = {
        inputs_.data() + at * size_, labels_.data() + at, positions_.data() + at, at_once_, at_once_, 1, 1};
    if (targets_each_ > 0) batch_.targets = targets_.data() + at * targets_each_;
    left_ -= at_once_;
    return &batch_;
  }
  [[nodiscard]] bool at_end() const override { return left_ == 0; }

  std::uint64_t thrown_at = UINT64_MAX;

 private:
  std::uint64_t size_, left_;
  std::uint32_t at_once_;
  std::uint32_t targets_each_ = 0;
  std::vector<float> inputs_, targets_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::uint64_t> positions_;
  nn::MicroBatch batch_;
};

}  // namespace steelyard
