// Data sets for tests: samples that contain their index, and reads that can be counted and blocked.
#pragma once

#include <steelyard/data_set.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <vector>

namespace steelyard {

// The micro-batch sizes of the CPU engine.
inline const std::vector<std::uint32_t> cpu_sizes{32, 16, 8, 4, 2, 1};

// Sample i is (i, i + 1/2), with label i mod 3.
class NumberedData : public DataSet {
 public:
  explicit NumberedData(std::uint64_t size) : size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] nn::Shape shape() const override { return {1, 1, 2}; }
  [[nodiscard]] std::uint32_t classes() const override { return 3; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    into[0] = static_cast<float>(index);
    into[1] = static_cast<float>(index) + 0.5F;
    *labels = static_cast<std::uint32_t>(index % 3);
  }

 private:
  std::uint64_t size_;
};

// The same, but one sample has an invalid label, or its read throws.
class SpoiltData : public NumberedData {
 public:
  SpoiltData(std::uint64_t size, std::uint64_t spoilt, bool throws)
      : NumberedData(size), spoilt_(spoilt), throws_(throws) {}
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    NumberedData::read(index, into, labels);
    if (index != spoilt_) return;
    if (throws_) throw std::runtime_error("the file is gone");
    *labels = 7;
  }

 private:
  const std::uint64_t spoilt_;
  const bool throws_;
};

// NumberedData without labels: the targets of sample i are i and -i; those of sample `spoilt` are not finite.
class TargetData : public NumberedData {
 public:
  explicit TargetData(std::uint64_t size, std::uint64_t spoilt = UINT64_MAX)
      : NumberedData(size), spoilt_(spoilt) {}
  [[nodiscard]] std::uint32_t classes() const override { return 2; }
  [[nodiscard]] std::uint32_t targets() const override { return 2; }
  void read_targets(std::uint64_t index, float* into) const override {
    into[0] = static_cast<float>(index) / (index == spoilt_ ? 0.0F : 1.0F);
    into[1] = -into[0];
  }

 private:
  const std::uint64_t spoilt_;
};

// Counts the reads of another data set. hold(n) blocks all reads after the n-th until release().
class WatchedData : public DataSet {
 public:
  explicit WatchedData(std::shared_ptr<const DataSet> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  [[nodiscard]] nn::Shape shape() const override { return inner_->shape(); }
  [[nodiscard]] std::uint32_t classes() const override { return inner_->classes(); }
  [[nodiscard]] std::uint32_t labels() const override { return inner_->labels(); }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    ++begun_;
    begun_.notify_all();
    for (std::uint64_t most = allowed_; read_ >= most; most = allowed_) allowed_.wait(most);
    inner_->read(index, into, labels);
    ++read_;
    read_.notify_all();
  }

  void hold(std::uint64_t reads) { allowed_ = reads; }
  void release() {
    allowed_ = UINT64_MAX;
    allowed_.notify_all();
  }
  void wait_for(std::uint64_t reads) const {
    for (std::uint64_t now = read_; now < reads; now = read_) read_.wait(now);
  }
  // Waits until this many reads have begun, including those that hold() blocks.
  void wait_for_begun(std::uint64_t reads) const {
    for (std::uint64_t now = begun_; now < reads; now = begun_) begun_.wait(now);
  }
  [[nodiscard]] std::uint64_t times_read() const { return read_; }

 private:
  std::shared_ptr<const DataSet> inner_;
  std::atomic<std::uint64_t> allowed_{UINT64_MAX};
  mutable std::atomic<std::uint64_t> begun_{0}, read_{0};
};

}  // namespace steelyard
