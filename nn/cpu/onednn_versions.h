// What differs between oneDNN 2 (Debian 12) and oneDNN 3 (Debian 13).
#pragma once

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

}  // namespace steelyard::nn::onednn
