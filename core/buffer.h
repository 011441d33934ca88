// A flat buffer of floats: all parameters of a model, or all gradients of a piece, in one block.
//
// Aligned to 64 bytes, fixed in size, not initialised. Shared by pointer; a holder of
// a shared_ptr<const FloatBuffer> may read it from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace steelyard {

class FloatBuffer {
 public:
  static constexpr std::size_t alignment = 64;

  explicit FloatBuffer(std::size_t size)
      : size_(size),
        data_(static_cast<float*>(::operator new (size * sizeof(float), std::align_val_t{alignment}))) {}
  ~FloatBuffer() { ::operator delete (data_, std::align_val_t{alignment}); }
  FloatBuffer(const FloatBuffer&) = delete;
  FloatBuffer& operator=(const FloatBuffer&) = delete;

  [[nodiscard]] float* data() { return data_; }
  [[nodiscard]] const float* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<float> span() { return {data_, size_}; }
  [[nodiscard]] std::span<const float> span() const { return {data_, size_}; }

 private:
  std::size_t size_;
  float* data_;
};

}  // namespace steelyard
