#include "nn/cpu/onednn.h"

#include <dnnl.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include "core/check.h"
#include "core/processor.h"
#include "nn/cpu/onednn_versions.h"

// From libgomp, on which oneDNN runs; its header comes only with gcc.
extern "C" void omp_set_num_threads(int threads);

namespace steelyard::nn::onednn {
namespace {

using dnnl::memory;

dnnl_dim_t size(std::uint64_t value) { return static_cast<dnnl_dim_t>(value); }

void multiply_floats(Extent extent, Operand a, Operand b, bool add, float* c, std::uint64_t stride) {
  const auto letter = [](Turn turn) { return turn == Turn::yes ? 'T' : 'N'; };
  const dnnl_status_t status =
      dnnl_sgemm(letter(a.turn), letter(b.turn), size(extent.rows), size(extent.columns), size(extent.depth),
                 1.0F, a.data, size(a.stride), b.data, size(b.stride), add ? 1.0F : 0.0F, c, size(stride));
  CHECK(status == dnnl_success, "oneDNN refused a matrix product");
}

}  // namespace

void use_this_thread_only() { omp_set_num_threads(1); }

bool has_amx() {
  constexpr auto tiles = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  return cpu_has_bf16() && (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & tiles) == tiles;
}

// Keeps a primitive for each form of product used so far.
class Products::Bf16 {
 public:
  void multiply(Extent extent, Operand a, Operand b, bool add, float* c, std::uint64_t stride) {
    const Form form{extent.rows, extent.columns, extent.depth, a.turn, a.stride, a.weights,
                    b.turn,      b.stride,       b.weights,    add,    stride};
    auto found = made_.find(form);
    if (found == made_.end()) found = made_.emplace(form, make(extent, a, b, add, stride)).first;
    Made& it = found->second;
    const memory first = factor_of(it.a, a, a_), second = factor_of(it.b, b, b_);
    it.run.execute(stream_, {{DNNL_ARG_SRC, first},
                             {DNNL_ARG_WEIGHTS, second},
                             {DNNL_ARG_DST, {it.desc.dst_desc(), engine_, c}},
                             {DNNL_ARG_SCRATCHPAD, {it.desc.scratchpad_desc(), engine_, scratch_.data()}}});
    stream_.wait();
  }

  [[nodiscard]] std::uint64_t bytes() const {
    return (a_.size() + b_.size() + weights_.size()) * sizeof(std::uint16_t) + scratch_.bytes();
  }

  void renew() { current_ = false; }

 private:
  using Form = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, Turn, std::uint64_t, bool, Turn,
                          std::uint64_t, bool, bool, std::uint64_t>;
  using Halves = std::vector<std::uint16_t>;
  struct Factor {
    memory::desc floats, halves;  // the same order, without gaps
    dnnl::reorder convert;
  };
  struct Made {
    Factor a, b;
    dnnl::matmul::primitive_desc desc;
    dnnl::matmul run;
  };

  // Rows and columns are those after turning.
  [[nodiscard]] Factor factor(std::uint64_t rows, std::uint64_t columns, const Operand& it) const {
    const memory::dims dims{size(rows), size(columns)};
    const auto strides = [&](std::uint64_t apart) {
      return it.turn == Turn::yes ? memory::dims{1, size(apart)} : memory::dims{size(apart), 1};
    };
    const memory::desc floats(dims, memory::data_type::f32, strides(it.stride));
    const memory::desc halves(dims, memory::data_type::bf16, strides(it.turn == Turn::yes ? rows : columns));
    return {floats, halves, dnnl::reorder({engine_, floats, engine_, halves})};
  }

  [[nodiscard]] Made make(Extent extent, const Operand& a, const Operand& b, bool add, std::uint64_t stride) {
    use_this_thread_only();  // a primitive keeps the number of threads at its creation
    const Factor first = factor(extent.rows, extent.depth, a),
                 second = factor(extent.depth, extent.columns, b);
    const memory::desc product({size(extent.rows), size(extent.columns)}, memory::data_type::f32,
                               memory::dims{size(stride), 1});
    const auto desc =
        described<dnnl::matmul>(engine_, attributes_of(add), first.halves, second.halves, product);
    const auto grow = [](auto& room, std::uint64_t wanted) { room.resize(std::max(room.size(), wanted)); };
    if (!a.weights) grow(a_, extent.rows * extent.depth);
    if (!b.weights) grow(b_, extent.depth * extent.columns);
    if (a.weights) grow(weights_, extent.rows * extent.depth);
    if (b.weights) grow(weights_, extent.depth * extent.columns);
    scratch_.grow(desc.scratchpad_desc().get_size());
    return {first, second, desc, dnnl::matmul(desc)};
  }

  // A turned factor keeps its order in memory, so one copy of the weights serves all products.
  memory factor_of(const Factor& factor, const Operand& operand, Halves& into) {
    if (!operand.weights) return converted(factor, operand, into);
    if (std::exchange(current_, true)) return {factor.halves, engine_, weights_.data()};
    return converted(factor, operand, weights_);
  }

  memory converted(const Factor& factor, const Operand& operand, Halves& into) {
    memory from(factor.floats, engine_, const_cast<float*>(operand.data));  // only read
    memory to(factor.halves, engine_, into.data());
    factor.convert.execute(stream_, from, to);
    return to;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Form, Made> made_;
  Halves a_, b_, weights_;
  bool current_ = false;  // the weights are converted
  Lines scratch_;
};

Products::Products(Precision precision)
    : bf16_(precision == Precision::bf16 && cpu_has_bf16() ? std::make_unique<Bf16>() : nullptr) {}

Products::~Products() = default;

void Products::multiply(Extent extent, Operand a, Operand b, bool add, float* c, std::uint64_t stride) {
  if (extent.rows == 0 || extent.columns == 0) return;
  if (extent.depth == 0) {  // oneDNN would leave C as it was, or divide by 0
    for (std::uint64_t r = 0; r < extent.rows && !add; ++r) std::fill_n(c + r * stride, extent.columns, 0.0F);
    return;
  }
  if (bf16_) return bf16_->multiply(extent, a, b, add, c, stride);
  multiply_floats(extent, a, b, add, c, stride);
}

void Products::renew() {
  if (bf16_) bf16_->renew();
}

std::uint64_t Products::bytes() const { return bf16_ ? bf16_->bytes() : 0; }

std::string Products::implementation() const { return bf16_ ? "onednn matmul bf16" : "onednn sgemm"; }

}  // namespace steelyard::nn::onednn
