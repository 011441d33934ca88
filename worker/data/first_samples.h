// FirstSamples: the first samples of a data set, which it shares.
#pragma once

#include <steelyard/data_set.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace steelyard {

class FirstSamples final : public DataSet {
 public:
  // `size`: at most that of `all`.
  FirstSamples(std::shared_ptr<const DataSet> all, std::uint64_t size) : all_(std::move(all)), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] nn::Shape shape() const override { return all_->shape(); }
  [[nodiscard]] std::uint32_t classes() const override { return all_->classes(); }
  [[nodiscard]] std::uint32_t labels() const override { return all_->labels(); }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    all_->read(index, into, labels);
  }
  void prepare(std::span<const std::uint64_t> indices) const override { all_->prepare(indices); }
  [[nodiscard]] std::string name(std::uint64_t index) const override { return all_->name(index); }
  [[nodiscard]] std::uint32_t targets() const override { return all_->targets(); }
  void read_targets(std::uint64_t index, float* into) const override { all_->read_targets(index, into); }

 private:
  const std::shared_ptr<const DataSet> all_;
  const std::uint64_t size_;
};

}  // namespace steelyard
