// One token of each sample: a sweep of copies in each direction.
#include "nn/cuda/by_columns.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

struct Tokens {
  std::uint32_t length, selected, features;

  // Where the selected token of this sample begins.
  __device__ std::uint64_t place(std::uint64_t sample) const {
    return (sample * length + selected) * features;
  }
};

// Rows are samples.
struct Select : PlainColumns {
  const float* x;
  float* output;
  Tokens tokens;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t sample, std::uint64_t at) const {
    store(output + at, load<n>(x + tokens.place(sample) + column.number));
  }
};
struct AddSelected : PlainColumns {
  const float* d_output;
  float* d_x;
  Tokens tokens;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t sample, std::uint64_t at) const {
    store(d_x + tokens.place(sample) + column.number, load<n>(d_output + at), true);
  }
};

// Rows are tokens.
struct Spread : PlainColumns {
  const float* d_output;
  float* d_x;
  Tokens tokens;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t row, std::uint64_t at) const {
    const std::uint64_t sample = static_cast<std::uint32_t>(row) / tokens.length;
    const bool is_selected = row == sample * tokens.length + tokens.selected;
    store(d_x + at, is_selected ? load<n>(d_output + sample * tokens.features + column.number) : Pack<n>{});
  }
};

class SelectTokenOp final : public Op {
 public:
  SelectTokenOp(const SelectToken& op, const OpPlace& place, const Context& context)
      : tokens_{place.inputs[0].width, op.token, place.output.channels}, context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    const Select f{{}, call.inputs[0], call.output, tokens_};
    sweep_columns(context_.stream, rows(pass.size()), f, f.x, f.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    if (add) {
      const AddSelected f{{}, call.d_output, to, tokens_};
      sweep_columns(context_.stream, rows(pass.size()), f, f.d_output, f.d_x);
    } else {
      const Spread f{{}, call.d_output, to, tokens_};
      sweep_columns(context_.stream, rows(std::uint64_t{pass.size()} * tokens_.length), f, f.d_output, f.d_x);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  [[nodiscard]] Runs rows(std::uint64_t number) const { return {number, number, tokens_.features}; }

  Tokens tokens_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const SelectToken& op, const OpPlace& place, const Context& context) {
  return std::make_unique<SelectTokenOp>(op, place, context);
}

}  // namespace steelyard::nn::cuda
