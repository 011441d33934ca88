// Shared: an immutable value that is copied by pointer, for members of messages that are large and rare.
#pragma once

#include <memory>
#include <utility>

namespace steelyard {

template <class T>
class Shared {
 public:
  Shared() : value_(none()) {}
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}  // NOLINT: as if it were a T

  operator const T&() const { return *value_; }  // NOLINT: as if it were a T
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

 private:
  static const std::shared_ptr<const T>& none() {
    static const auto value = std::make_shared<const T>();
    return value;
  }
  std::shared_ptr<const T> value_;  // never null
};

}  // namespace steelyard
