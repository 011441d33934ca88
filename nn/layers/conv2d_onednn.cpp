#include <map>
#include <vector>

#include <dnnl.hpp>

#include "nn/cpu/onednn.h"
#include "nn/layers/conv2d.h"

namespace steelyard::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc describe(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

// One primitive of oneDNN with what it needs beside its operands. Scratchpads are ours: the library's own is
// shared by threads, and then silently wrong.
template <class Kind>
struct Primitive {
  typename Kind::primitive_desc desc;
  Kind run;
  memory weights;  // in the order that oneDNN chose: the operand, or the result
  memory scratch;

  Primitive(const typename Kind::primitive_desc& d, const memory::desc& weights_desc,
            const dnnl::engine& engine)
      : desc(d), run(d), weights(weights_desc, engine), scratch(d.scratchpad_desc(), engine) {}
};

// The primitives for one size of micro-batch. Pictures are channels last (given, not chosen by oneDNN: with
// few channels it would choose its own slow reference); the order of the weights is its choice, so they are
// reordered in every call.
struct Primitives {
  Primitive<dnnl::convolution_forward> forward;
  Primitive<dnnl::convolution_backward_weights> weights;
  Primitive<dnnl::convolution_backward_data> data;
};

class OnednnConv2d final : public Op {
 public:
  OnednnConv2d(Shape input, Shape output, Conv2d options)
      : in_(input),
        out_(output),
        options_(options),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        sums_(weight_count() + out_.channels) {
    primitives(largest_micro_batch);
  }

  void forward(const Pass& pass, const float* parameters, const float* input, float* output) override {
    auto& p = primitives(pass.size()).forward;
    arrange(parameters, p.weights);
    p.run.execute(stream_, {{DNNL_ARG_SRC, view(p.desc.src_desc(), input)},
                            {DNNL_ARG_WEIGHTS, p.weights},
                            {DNNL_ARG_BIAS, view(p.desc.bias_desc(), parameters + weight_count())},
                            {DNNL_ARG_DST, view(p.desc.dst_desc(), output)},
                            {DNNL_ARG_SCRATCHPAD, p.scratch}});
    stream_.wait();
  }

  void backward(const Pass& pass, const float* parameters, const Gradients& g) override {
    Primitives& all = primitives(pass.size());
    backward_weights(all.weights, g);
    if (g.d_input == nullptr) return;
    auto& p = all.data;
    arrange(parameters, p.weights);
    p.run.execute(stream_, {{DNNL_ARG_DIFF_DST, view(p.desc.diff_dst_desc(), g.d_output)},
                            {DNNL_ARG_WEIGHTS, p.weights},
                            {DNNL_ARG_DIFF_SRC, view(p.desc.diff_src_desc(), g.d_input)},
                            {DNNL_ARG_SCRATCHPAD, p.scratch}});
    stream_.wait();
  }

  [[nodiscard]] std::string implementation() const override {
    const Primitives& p = primitives_.at(largest_micro_batch);
    return "onednn " + std::string(p.forward.desc.impl_info_str()) + ", " + p.weights.desc.impl_info_str() +
           ", " + p.data.desc.impl_info_str();
  }

 private:
  [[nodiscard]] std::uint64_t weight_count() const {
    return std::uint64_t{out_.channels} * options_.kernel * options_.kernel * in_.channels;
  }

  // oneDNN names dimensions in the order out, in, row, column, whatever lies where.
  [[nodiscard]] memory::dims weight_dims() const {
    return {out_.channels, in_.channels, options_.kernel, options_.kernel};
  }

  Primitives& primitives(std::uint32_t size) {
    const auto found = primitives_.find(size);
    // A primitive keeps the number of threads that it was made for.
    if (found == primitives_.end()) onednn::use_this_thread_only();
    return found != primitives_.end() ? found->second : primitives_.emplace(size, make(size)).first->second;
  }

  [[nodiscard]] Primitives make(std::uint32_t size) const {
    const auto pictures = [&](Shape s) { return describe({size, s.channels, s.height, s.width}, Tag::nhwc); };
    const memory::desc source = pictures(in_), result = pictures(out_);
    const memory::desc weights = describe(weight_dims(), Tag::any),
                       biases = describe({out_.channels}, Tag::x);
    const memory::dims strides{options_.stride, options_.stride}, padding{options_.padding, options_.padding};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, algorithm, source, weights, biases, result, strides, padding,
         padding},
        attributes, engine_);
    const dnnl::convolution_backward_weights::primitive_desc backward_weights(
        {algorithm, source, weights, biases, result, strides, padding, padding}, attributes, engine_,
        forward);
    const dnnl::convolution_backward_data::primitive_desc backward_data(
        {algorithm, source, weights, result, strides, padding, padding}, attributes, engine_, forward);
    return {{forward, forward.weights_desc(), engine_},
            {backward_weights, backward_weights.diff_weights_desc(), engine_},
            {backward_data, backward_data.weights_desc(), engine_}};
  }

  // A oneDNN name for memory of ours. oneDNN takes no pointers to const, but writes to no input.
  [[nodiscard]] memory view(const memory::desc& desc, const float* data) const {
    return {desc, engine_, const_cast<float*>(data)};
  }

  void arrange(const float* parameters, memory& theirs) {
    memory ours = view(describe(weight_dims(), Tag::ohwi), parameters);
    dnnl::reorder(ours, theirs).execute(stream_, ours, theirs);
  }

  void backward_weights(Primitive<dnnl::convolution_backward_weights>& p, const Gradients& g) {
    p.run.execute(stream_,
                  {{DNNL_ARG_SRC, view(p.desc.src_desc(), g.input)},
                   {DNNL_ARG_DIFF_DST, view(p.desc.diff_dst_desc(), g.d_output)},
                   {DNNL_ARG_DIFF_WEIGHTS, p.weights},
                   {DNNL_ARG_DIFF_BIAS, view(p.desc.diff_bias_desc(), sums_.data() + weight_count())},
                   {DNNL_ARG_SCRATCHPAD, p.scratch}});
    memory ours = view(describe(weight_dims(), Tag::ohwi), sums_.data());
    dnnl::reorder(p.weights, ours).execute(stream_, p.weights, ours);
    stream_.wait();
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      g.d_parameters[i] = g.add ? g.d_parameters[i] + sums_[i] : sums_[i];
    }
  }

  Shape in_, out_;
  Conv2d options_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<float> sums_;  // gradient of the parameters, before it is written or added
  std::map<std::uint32_t, Primitives> primitives_;  // by micro-batch size
};

}  // namespace

std::unique_ptr<Op> make_onednn_conv2d(Shape input, Shape output, Conv2d options) {
  return std::make_unique<OnednnConv2d>(input, output, options);
}

}  // namespace steelyard::nn
