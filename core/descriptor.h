// Descriptor: owns a file descriptor of this process and closes it on every path.
#pragma once

#include <unistd.h>

#include <utility>

namespace steelyard {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}  // negative: none
  ~Descriptor() {
    if (there()) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool there() const { return number_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }  // the caller closes it

 private:
  int number_;
};

}  // namespace steelyard
