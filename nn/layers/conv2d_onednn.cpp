#include <map>
#include <vector>

#include <dnnl.hpp>

#include "nn/layers/conv2d.h"

namespace steelyard::nn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc describe(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

// One micro-batch size's primitives. Pictures are channels last (given, not chosen by oneDNN: with few
// channels it would choose its own slow reference); the order of the weights is oneDNN's choice, so they are
// reordered in each call. Scratchpads are ours: the library's own is shared by threads and then silently
// wrong.
struct Primitives {
  using Forward = dnnl::convolution_forward;
  using Weights = dnnl::convolution_backward_weights;
  using Data = dnnl::convolution_backward_data;

  Forward::primitive_desc forward_desc;
  Weights::primitive_desc weights_desc;
  Data::primitive_desc data_desc;
  Forward forward;
  Weights weights;
  Data data;
};

class OnednnConv2d final : public Op {
 public:
  OnednnConv2d(Shape input, Shape output, Conv2d options)
      : in_(input), out_(output), options_(options), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    primitives(largest_micro_batch);
  }

  void forward(const Pass& pass, const float* parameters, const float* input, float* output) override {
    Primitives& p = primitives(pass.size());
    memory source = view(p.forward_desc.src_desc(), input), result = view(p.forward_desc.dst_desc(), output);
    memory weights = arranged(p.forward_desc.weights_desc(), parameters);
    memory biases = view(p.forward_desc.bias_desc(), parameters + weight_count());
    memory scratch(p.forward_desc.scratchpad_desc(), engine_);
    p.forward.execute(stream_, {{DNNL_ARG_SRC, source},
                                {DNNL_ARG_WEIGHTS, weights},
                                {DNNL_ARG_BIAS, biases},
                                {DNNL_ARG_DST, result},
                                {DNNL_ARG_SCRATCHPAD, scratch}});
    stream_.wait();
  }

  void backward(const Pass& pass, const float* parameters, const Gradients& g) override {
    Primitives& p = primitives(pass.size());
    memory d_result = view(p.forward_desc.dst_desc(), g.d_output);
    backward_weights(p, d_result, g);
    if (g.d_input == nullptr) return;
    memory d_source = view(p.data_desc.diff_src_desc(), g.d_input);
    memory weights = arranged(p.data_desc.weights_desc(), parameters);
    memory scratch(p.data_desc.scratchpad_desc(), engine_);
    p.data.execute(stream_, {{DNNL_ARG_DIFF_DST, d_result},
                             {DNNL_ARG_WEIGHTS, weights},
                             {DNNL_ARG_DIFF_SRC, d_source},
                             {DNNL_ARG_SCRATCHPAD, scratch}});
    stream_.wait();
  }

  [[nodiscard]] std::string implementation() const override {
    const Primitives& p = primitives_.at(largest_micro_batch);
    return "onednn " + std::string(p.forward_desc.impl_info_str()) + ", " + p.weights_desc.impl_info_str() +
           ", " + p.data_desc.impl_info_str();
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
    const Primitives::Forward::primitive_desc forward({dnnl::prop_kind::forward_training, algorithm, source,
                                                       weights, biases, result, strides, padding, padding},
                                                      attributes, engine_);
    const Primitives::Weights::primitive_desc weights_desc(
        {algorithm, source, weights, biases, result, strides, padding, padding}, attributes, engine_,
        forward);
    const Primitives::Data::primitive_desc data(
        {algorithm, source, weights, result, strides, padding, padding}, attributes, engine_, forward);
    return {forward,
            weights_desc,
            data,
            Primitives::Forward(forward),
            Primitives::Weights(weights_desc),
            Primitives::Data(data)};
  }

  // A oneDNN name for memory of ours. oneDNN takes no pointers to const, but writes to no input.
  [[nodiscard]] memory view(const memory::desc& desc, const float* data) const {
    return {desc, engine_, const_cast<float*>(data)};
  }

  [[nodiscard]] memory arranged(const memory::desc& wanted, const float* parameters) {
    memory ours = view(describe(weight_dims(), Tag::ohwi), parameters);
    if (ours.get_desc() == wanted) return ours;
    memory theirs(wanted, engine_);
    dnnl::reorder(ours, theirs).execute(stream_, ours, theirs);
    return theirs;
  }

  void backward_weights(Primitives& p, memory& d_result, const Gradients& g) {
    memory source = view(p.weights_desc.src_desc(), g.input);
    memory theirs(p.weights_desc.diff_weights_desc(), engine_);
    std::vector<float> sums(weight_count() + out_.channels);
    memory biases = view(p.weights_desc.diff_bias_desc(), sums.data() + weight_count());
    memory scratch(p.weights_desc.scratchpad_desc(), engine_);
    p.weights.execute(stream_, {{DNNL_ARG_SRC, source},
                                {DNNL_ARG_DIFF_DST, d_result},
                                {DNNL_ARG_DIFF_WEIGHTS, theirs},
                                {DNNL_ARG_DIFF_BIAS, biases},
                                {DNNL_ARG_SCRATCHPAD, scratch}});
    memory ours = view(describe(weight_dims(), Tag::ohwi), sums.data());
    dnnl::reorder(theirs, ours).execute(stream_, theirs, ours);
    stream_.wait();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      g.d_parameters[i] = g.add ? g.d_parameters[i] + sums[i] : sums[i];
    }
  }

  Shape in_, out_;
  Conv2d options_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<std::uint32_t, Primitives> primitives_;  // by micro-batch size
};

}  // namespace

std::unique_ptr<Op> make_onednn_conv2d(Shape input, Shape output, Conv2d options) {
  return std::make_unique<OnednnConv2d>(input, output, options);
}

}  // namespace steelyard::nn
