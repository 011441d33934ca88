// Token linear layers on activations in bfloat16. oneDNN chooses the order of the weights for each of the two
// products that read them; they are converted to it once for each version of the parameters.
#include <algorithm>
#include <list>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include "core/processor.h"
#include "nn/cpu/onednn.h"
#include "nn/cpu/onednn_versions.h"
#include "nn/cpu/storage.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

using Memory = dnnl::memory;
using Type = Memory::data_type;

class StoredTokenLinear final : public Op {
 public:
  StoredTokenLinear(const TokenLinear& op, const OpPlace& place)
      : tokens_(pixels_of(place.output)),
        inputs_(place.inputs[0].channels),
        outputs_(op.outputs),
        bias_(op.bias) {}

  void forward(const Pass& pass, const Forward& call) override {
    const std::uint64_t rows = pass.batch.count * tokens_, all = pass.size() * tokens_;
    if (pass.renewed) {
      for (Form& form : forms_) form.current = false;
    }
    if (rows > 0) multiply(rows, call);
    std::fill_n(stored<Bf16Bits>(call.output) + rows * outputs_, (all - rows) * outputs_, Bf16Bits{});
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t rows = pass.batch.count * tokens_, all = pass.size() * tokens_;
    const InputGradient d_input = call.d_inputs[0];
    if (rows > 0) {
      multiply(rows, call);
    } else if (!call.add) {
      std::fill_n(call.d_parameters[0], std::uint64_t{outputs_} * inputs_, 0.0F);
    }
    if (bias_) {
      storage_kernels().sum_rows(rows, outputs_, stored<Bf16Bits>(call.d_output), call.add,
                                 call.d_parameters[1]);
    }
    if (d_input.to != nullptr && !d_input.add)
      std::fill_n(stored<Bf16Bits>(d_input.to) + rows * inputs_, (all - rows) * inputs_, Bf16Bits{});
  }

  [[nodiscard]] Traits traits() const override { return {.adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override {
    std::uint64_t all = scratch_.bytes();
    for (const Form& form : forms_) all += form.memory.bytes();
    return all;
  }
  [[nodiscard]] std::string implementation() const override { return "onednn matmul bf16"; }

 private:
  // oneDNN makes no product without rows.
  void multiply(std::uint64_t rows, const Forward& call) {
    Product& product = made(Use::forward, rows, false);
    Arguments arguments = arguments_of(product, call.inputs[0], call.output);
    arguments.emplace_back(DNNL_ARG_WEIGHTS, arranged(Use::forward, product, call.parameters[0]));
    if (bias_) arguments.emplace_back(DNNL_ARG_BIAS, view(bias_desc(), call.parameters[1]));
    product.run.execute(stream_, {arguments.begin(), arguments.end()});
    stream_.wait();
  }
  void multiply(std::uint64_t rows, const Backward& call) {
    Product& weights = made(Use::weights, rows, call.add);
    Arguments arguments = arguments_of(weights, call.d_output, call.d_parameters[0]);
    arguments.emplace_back(DNNL_ARG_WEIGHTS, view(weights.desc.weights_desc(), call.inputs[0]));
    weights.run.execute(stream_, {arguments.begin(), arguments.end()});
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to != nullptr) {
      Product& data = made(Use::data, rows, d_input.add);
      arguments = arguments_of(data, call.d_output, d_input.to);
      arguments.emplace_back(DNNL_ARG_WEIGHTS, arranged(Use::data, data, call.parameters[0]));
      data.run.execute(stream_, {arguments.begin(), arguments.end()});
    }
    stream_.wait();
  }

  using Arguments = std::vector<std::pair<int, Memory>>;

  // y = x w^T, dw = dy^T x, and dx = dy w.
  enum class Use : std::uint8_t { forward, weights, data };
  struct Product {
    dnnl::matmul::primitive_desc desc;
    dnnl::matmul run;
  };
  // The weights for a use, in an order of oneDNN's.
  struct Form {
    Use use;
    Memory::desc desc;
    onednn::Lines memory{};
    bool current = false;
  };

  static Memory::dim dim(std::uint64_t size) { return static_cast<Memory::dim>(size); }
  // Rows that lie one after the other, or their transpose.
  static Memory::desc matrix(std::uint64_t rows, std::uint64_t columns, Type type, bool turned = false) {
    return {
        {dim(rows), dim(columns)}, type, turned ? Memory::dims{1, dim(rows)} : Memory::dims{dim(columns), 1}};
  }
  [[nodiscard]] Memory::desc bias_desc() const { return matrix(1, outputs_, Type::f32); }

  // Kept for each number of rows: at most one for each size and padding of a micro-batch.
  Product& made(Use use, std::uint64_t rows, bool add) {
    const auto found = products_.find({use, rows, add});
    if (found != products_.end()) return found->second;
    if (products_.size() >= most_products) products_.clear();
    onednn::use_this_thread_only();  // a primitive keeps the number of threads at its creation
    const dnnl::matmul::primitive_desc desc = described_for(use, rows, add);
    scratch_.grow(desc.scratchpad_desc().get_size());
    return products_.emplace(Key{use, rows, add}, Product{desc, dnnl::matmul(desc)}).first->second;
  }

  [[nodiscard]] dnnl::matmul::primitive_desc described_for(Use use, std::uint64_t rows, bool add) const {
    const onednn::Attributes attributes = onednn::attributes_of(add);
    const auto any = [](std::uint64_t depth, std::uint64_t columns) {
      return Memory::desc({dim(depth), dim(columns)}, Type::bf16, Memory::format_tag::any);
    };
    const auto made_of = [&](const auto&... operands) {
      return onednn::described<dnnl::matmul>(engine_, attributes, operands...);
    };
    const Memory::desc y = matrix(rows, outputs_, Type::bf16), x = matrix(rows, inputs_, Type::bf16);
    if (use == Use::weights)
      return made_of(matrix(outputs_, rows, Type::bf16, true), x, matrix(outputs_, inputs_, Type::f32));
    if (use == Use::data) return made_of(y, any(outputs_, inputs_), x);
    return bias_ ? made_of(x, any(inputs_, outputs_), bias_desc(), y) : made_of(x, any(inputs_, outputs_), y);
  }

  // A oneDNN view of our memory. oneDNN takes no pointers to const, but never writes to inputs.
  [[nodiscard]] Memory view(const Memory::desc& desc, const void* data) const {
    return {desc, engine_, const_cast<void*>(data)};
  }

  Arguments arguments_of(const Product& product, const float* from, float* to) {
    return {{DNNL_ARG_SRC, view(product.desc.src_desc(), from)},
            {DNNL_ARG_DST, view(product.desc.dst_desc(), to)},
            {DNNL_ARG_SCRATCHPAD, view(product.desc.scratchpad_desc(), scratch_.data())}};
  }

  // The weights as the product takes them: out x in parameters, turned for the forward product.
  Memory arranged(Use use, const Product& product, const float* parameters) {
    const Memory::desc wanted = product.desc.weights_desc();
    auto form =
        std::ranges::find_if(forms_, [&](const Form& it) { return it.use == use && it.desc == wanted; });
    if (form == forms_.end()) {
      form = forms_.insert(form, Form{use, wanted});
      form->memory.grow(wanted.get_size());
    }
    Memory theirs = view(wanted, form->memory.data());
    if (std::exchange(form->current, true)) return theirs;
    const bool turned = use == Use::forward;
    Memory ours =
        view(turned ? matrix(inputs_, outputs_, Type::f32, true) : matrix(outputs_, inputs_, Type::f32),
             parameters);
    dnnl::reorder(ours, theirs).execute(stream_, ours, theirs);
    return theirs;
  }

  using Key = std::tuple<Use, std::uint64_t, bool>;
  static constexpr std::size_t most_products = 64;

  std::uint64_t tokens_, inputs_, outputs_;
  bool bias_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Key, Product> products_;
  std::list<Form> forms_;
  onednn::Lines scratch_;
};

}  // namespace

bool stores_bf16() { return cpu_has_bf16(); }

std::unique_ptr<Op> make_stored_token_linear(const TokenLinear& op, const OpPlace& place) {
  return std::make_unique<StoredTokenLinear>(op, place);
}

}  // namespace steelyard::nn::cpu
