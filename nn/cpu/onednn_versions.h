// What our ops share to call oneDNN: what differs between oneDNN 2 (Debian 12) and oneDNN 3 (Debian 13),
// attributes of primitives, and memory for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <dnnl.hpp>

namespace steelyard::nn::onednn {

using Attributes = dnnl::primitive_attr;
using Forward = dnnl::convolution_forward::primitive_desc;

#if DNNL_VERSION_MAJOR >= 3

// The primitive of a kind, such as dnnl::matmul, for these operands.
template <class Kind, class... Operands>
typename Kind::primitive_desc described(const dnnl::engine& engine, const Attributes& attributes,
                                        const Operands&... operands) {
  return {engine, operands..., attributes};
}
// The same for a primitive of the backward pass.
template <class Kind, class... Operands>
typename Kind::primitive_desc described_after(const Forward& forward, const dnnl::engine& engine,
                                              const Attributes& attributes, const Operands&... operands) {
  return {engine, operands..., forward, attributes};
}

inline dnnl::memory::data_type type_of(const dnnl::memory::desc& it) { return it.get_data_type(); }
inline dnnl::memory::dims dims_of(const dnnl::memory::desc& it) { return it.get_dims(); }

#else

template <class Kind, class... Operands>
typename Kind::primitive_desc described(const dnnl::engine& engine, const Attributes& attributes,
                                        const Operands&... operands) {
  return {typename Kind::desc(operands...), attributes, engine};
}
template <class Kind, class... Operands>
typename Kind::primitive_desc described_after(const Forward& forward, const dnnl::engine& engine,
                                              const Attributes& attributes, const Operands&... operands) {
  return {typename Kind::desc(operands...), attributes, engine, forward};
}

inline dnnl::memory::data_type type_of(const dnnl::memory::desc& it) { return it.data_type(); }
inline dnnl::memory::dims dims_of(const dnnl::memory::desc& it) { return it.dims(); }

#endif

// Scratch memory comes with each call: the library's own is shared by threads, which silently gives wrong
// results. `add`: to the result.
inline Attributes attributes_of(bool add) {
  Attributes attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (add) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  return attributes;
}

// Memory aligned as oneDNN expects it: it aligns parts relative to the begin.
class Lines {
 public:
  // To at least this size. Contents are kept.
  void grow(std::uint64_t bytes) {
    lines_.resize(std::max<std::uint64_t>(lines_.size(), (bytes + sizeof(Line) - 1) / sizeof(Line)));
  }
  [[nodiscard]] void* data() { return lines_.data(); }
  [[nodiscard]] std::uint64_t bytes() const { return lines_.size() * sizeof(Line); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

}  // namespace steelyard::nn::onednn
