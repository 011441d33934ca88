// FloatBuffer: a flat buffer of floats that holds all parameters of a model, or all gradients of a piece.
//
// Aligned to 64 bytes, of fixed size, not initialised. Shared by pointer; holders of a shared_ptr<const
// FloatBuffer> may read it from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "core/segment.h"

namespace steelyard {

// Shared: an immutable value copied by pointer, for members of messages that are large and rarely sent.
template <class T>
class Shared {
 public:
  Shared() : value_(none()) {}
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}  // NOLINT: behaves like a T

  operator const T&() const { return *value_; }  // NOLINT: behaves like a T
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

 private:
  static const std::shared_ptr<const T>& none() {
    static const auto value = std::make_shared<const T>();
    return value;
  }
  std::shared_ptr<const T> value_;  // never null
};

// Where values are stored: in private memory, or, if the system supports it, in a segment that other
// processes can read.
enum class Memory { own, shared };

class FloatBuffer {
 public:
  static constexpr std::size_t alignment = Segment::head_size;

  explicit FloatBuffer(std::size_t size, Memory memory = Memory::own)
      : size_(size),
        segment_(memory == Memory::shared ? Segment::make(size * sizeof(float)) : nullptr),
        data_(segment_
                  ? reinterpret_cast<float*>(segment_->data())
                  : static_cast<float*>(::operator new (size * sizeof(float), std::align_val_t{alignment}))) {
  }
  ~FloatBuffer() {
    if (!segment_) ::operator delete (data_, std::align_val_t{alignment});
  }
  FloatBuffer(const FloatBuffer&) = delete;
  FloatBuffer& operator=(const FloatBuffer&) = delete;

  [[nodiscard]] float* data() { return data_; }
  [[nodiscard]] const float* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<float> span() { return {data_, size_}; }
  [[nodiscard]] std::span<const float> span() const { return {data_, size_}; }
  [[nodiscard]] const Segment* segment() const { return segment_.get(); }  // null: private memory

  // Allocates the memory behind these floats (Segment::reserve). Throws std::bad_alloc.
  void reserve(std::size_t begin, std::size_t floats) const {
    if (segment_ && !segment_->reserve(begin * sizeof(float), floats * sizeof(float))) throw std::bad_alloc();
  }

 private:
  std::size_t size_;
  std::unique_ptr<Segment> segment_;
  float* data_;
};

}  // namespace steelyard
