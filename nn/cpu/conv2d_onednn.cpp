#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include "core/processor.h"
#include "nn/cpu/onednn.h"
#include "nn/cpu/onednn_versions.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Forwards = dnnl::convolution_forward;
using BackwardWeights = dnnl::convolution_backward_weights;
using BackwardData = dnnl::convolution_backward_data;

using Type = memory::data_type;

memory::desc describe(const memory::dims& dims, Tag tag, Type type = Type::f32) { return {dims, type, tag}; }

std::uint64_t floats(const memory::desc& desc) { return (desc.get_size() + 63) / 64 * 16; }

// The begin of `size` floats in `room` at a multiple of 64 bytes; the same for the same size.
float* aligned(std::vector<float>& room, std::uint64_t size) {
  room.resize(size + 16);
  return room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64 / sizeof(float);
}

// A primitive of oneDNN and the order that it chose for the weights: an operand, or the result.
template <class Kind>
struct Primitive {
  typename Kind::primitive_desc desc;
  Kind run;
  memory::desc weights;
  std::uint64_t converted = 0;  // floats for pictures that it takes in another type than they are stored in
  // The weights as an operand in bf16, in this order, of some version; empty unless they are kept.
  std::vector<float> kept{};
  std::uint64_t version = 0;

  Primitive(const typename Kind::primitive_desc& d, const memory::desc& w, Type storage,
            std::initializer_list<memory::desc> pictures)
      : desc(d), run(d), weights(w) {
    for (const memory::desc& it : pictures) converted += onednn::type_of(it) != storage ? floats(it) : 0;
  }
  // In the caller's memory: the weights, then scratch memory (the library's own is shared by threads, which
  // silently gives wrong results), then the converted pictures.
  [[nodiscard]] std::uint64_t workspace() const {
    return floats(weights) + floats(desc.scratchpad_desc()) + converted;
  }
};

// The primitives for one size of micro-batch. Pictures are channels last (prescribed, since with few channels
// oneDNN would choose its slow reference); oneDNN chooses the order of the weights, so they are reordered in
// every call; in bf16, where they need less memory, once for each version of the parameters.
struct Primitives {
  Primitive<Forwards> forward;
  Primitive<BackwardWeights> weights;
  Primitive<BackwardData> data;

  [[nodiscard]] std::uint64_t workspace() const {
    return std::max({forward.workspace(), weights.workspace(), data.workspace()});
  }
};

// Primitives are kept for this many sizes; shares may have any size.
constexpr std::size_t most_sizes = 16;

class OnednnConv2d final : public Op {
 public:
  OnednnConv2d(const Conv2d& options, const OpPlace& place)
      : in_(place.inputs[0]),
        out_(place.output),
        options_(options),
        largest_(place.micro_batch),
        storage_(place.storage == Storage::bf16 ? Type::bf16 : Type::f32),
        factors_(in_bf16(options, place) ? Type::bf16 : Type::f32),
        results_(factors_ == storage_ ? storage_ : Type::f32),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_) {
    workspace_ = primitives(largest_).workspace();
  }

  void forward(const Pass& pass, const Forward& call) override {
    if (pass.renewed) ++version_;
    Primitives& all = primitives(pass.size());
    auto& p = all.forward;
    float* room = workspace(all, call.workspace);
    const memory weights = arranged(call.parameters[0], p, pass.size(), room);
    float* pictures = room_for_pictures(p, room);
    const memory source = factor(p.desc.src_desc(), call.inputs[0], pictures);
    const memory result = view(p.desc.dst_desc(), in_storage(p.desc.dst_desc()) ? call.output : pictures);
    std::vector<std::pair<int, memory>> arguments{{DNNL_ARG_SRC, source},
                                                  {DNNL_ARG_WEIGHTS, weights},
                                                  {DNNL_ARG_DST, result},
                                                  {DNNL_ARG_SCRATCHPAD, scratch(p, room)}};
    if (options_.bias) arguments.emplace_back(DNNL_ARG_BIAS, view(p.desc.bias_desc(), call.parameters[1]));
    p.run.execute(stream_, {arguments.begin(), arguments.end()});
    store(result, call.output);
    stream_.wait();
  }

  void backward(const Pass& pass, const Backward& call) override {
    Primitives& all = primitives(pass.size());
    float* room = workspace(all, call.workspace);
    backward_weights(all.weights, call, room);
    if (call.d_inputs[0].to == nullptr) return;
    auto& p = all.data;
    const memory weights = arranged(call.parameters[0], p, pass.size(), room);
    float* pictures = room_for_pictures(p, room);
    const memory d_result = factor(p.desc.diff_dst_desc(), call.d_output, pictures);
    const memory::desc source = p.desc.diff_src_desc();
    const memory d_source = view(source, in_storage(source) ? call.d_inputs[0].to : pictures);
    p.run.execute(stream_, {{DNNL_ARG_DIFF_DST, d_result},
                            {DNNL_ARG_WEIGHTS, weights},
                            {DNNL_ARG_DIFF_SRC, d_source},
                            {DNNL_ARG_SCRATCHPAD, scratch(p, room)}});
    store(d_source, call.d_inputs[0].to);
    stream_.wait();
  }

  [[nodiscard]] Traits traits() const override { return {.workspace = workspace_}; }
  [[nodiscard]] std::uint64_t bytes() const override {
    return factors_ == Type::bf16 ? 2 * weights_bytes() : 0;
  }
  [[nodiscard]] std::string implementation() const override {
    const Primitives& p = primitives_.at(largest_);
    return "onednn " + std::string(p.forward.desc.impl_info_str()) + ", " + p.weights.desc.impl_info_str() +
           ", " + p.data.desc.impl_info_str();
  }

 private:
  // Uses float32 if the product is so small that converting its factors would cost more, or if oneDNN has
  // only slow code.
  [[nodiscard]] static bool in_bf16(const Conv2d& options, const OpPlace& place) {
    constexpr std::uint32_t enough = 16;
    return place.precision == Precision::bf16 && cpu_has_bf16() && options.groups == 1 &&
           std::min(place.inputs[0].channels, place.output.channels) >= enough;
  }

  // oneDNN names dimensions in the order (group,) out, in, row, column, independent of the memory layout.
  [[nodiscard]] memory::desc our_weights(Tag plain, Tag grouped, Type type = Type::f32) const {
    const memory::dim groups = options_.groups, out = out_.channels, in = in_.channels;
    const memory::dim rows = options_.kernel.rows, columns = options_.kernel.columns;
    if (groups == 1) return describe({out, in, rows, columns}, plain, type);
    return describe({groups, out / groups, in / groups, rows, columns}, grouped, type);
  }

  Primitives& primitives(std::uint32_t size) {
    const auto found = primitives_.find(size);
    if (found != primitives_.end()) return found->second;
    if (primitives_.size() >= most_sizes)
      std::erase_if(primitives_, [&](auto& it) { return it.first != largest_; });
    onednn::use_this_thread_only();  // a primitive keeps the number of threads at its creation
    return primitives_.emplace(size, make(size)).first->second;
  }

  [[nodiscard]] Primitives make(std::uint32_t size) const {
    const auto pictures = [&](Shape s, Type type) {
      return describe({size, s.channels, s.height, s.width}, Tag::nhwc, type);
    };
    const memory::desc source = pictures(in_, factors_), d_source = pictures(in_, results_);
    const memory::desc result = pictures(out_, results_), d_result = pictures(out_, factors_);
    const memory::desc weights = our_weights(Tag::any, Tag::any, factors_);
    const memory::desc d_weights = our_weights(Tag::any, Tag::any);
    const memory::desc biases = options_.bias ? describe({out_.channels}, Tag::x) : memory::desc();
    const memory::dims strides{options_.stride, options_.stride};
    const memory::dims padding{options_.padding.rows, options_.padding.columns};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const onednn::Attributes attributes = onednn::attributes_of(false);
    const auto forward =
        onednn::described<Forwards>(engine_, attributes, dnnl::prop_kind::forward_training, algorithm, source,
                                    weights, biases, result, strides, padding, padding);
    const auto backward_weights =
        onednn::described_after<BackwardWeights>(forward, engine_, attributes, algorithm, source, d_weights,
                                                 biases, d_result, strides, padding, padding);
    const auto backward_data = onednn::described_after<BackwardData>(
        forward, engine_, attributes, algorithm, d_source, weights, d_result, strides, padding, padding);
    return {{forward, forward.weights_desc(), storage_, {source, result}},
            {backward_weights, backward_weights.diff_weights_desc(), storage_, {source, d_result}},
            {backward_data, backward_data.weights_desc(), storage_, {d_result, d_source}}};
  }

  // The caller's memory is for the largest micro-batch; if oneDNN needs more for a smaller one, uses our own.
  float* workspace(const Primitives& all, float* callers) {
    if (all.workspace() <= workspace_) return callers;
    return aligned(own_, all.workspace());
  }

  // A oneDNN view of our memory. oneDNN takes no pointers to const, but never writes to inputs.
  [[nodiscard]] memory view(const memory::desc& desc, const float* data) const {
    return {desc, engine_, const_cast<float*>(data)};
  }
  template <class P>
  [[nodiscard]] memory scratch(const P& p, float* room) const {
    return view(p.desc.scratchpad_desc(), room + floats(p.weights));
  }

  template <class P>
  [[nodiscard]] static float* room_for_pictures(const P& p, float* room) {
    return room + floats(p.weights) + floats(p.desc.scratchpad_desc());
  }
  [[nodiscard]] bool in_storage(const memory::desc& desc) const { return onednn::type_of(desc) == storage_; }
  // Pictures as the primitive takes them: in place, or converted into `room`, which is advanced.
  [[nodiscard]] memory factor(const memory::desc& desc, const float* data, float*& room) {
    if (in_storage(desc)) return view(desc, data);
    memory from = view({onednn::dims_of(desc), storage_, Tag::nhwc}, data), to = view(desc, room);
    dnnl::reorder(from, to).execute(stream_, from, to);
    room += floats(desc);
    return to;
  }
  // Pictures as they are stored.
  void store(memory result, float* to) {
    if (in_storage(result.get_desc())) return;
    memory ours = view({onednn::dims_of(result.get_desc()), storage_, Tag::nhwc}, to);
    dnnl::reorder(result, ours).execute(stream_, result, ours);
  }

  [[nodiscard]] std::uint64_t weights_bytes() const {
    return our_weights(Tag::oihw, Tag::goihw, factors_).get_size();
  }

  // The weights in the primitive's order: kept for the largest micro-batch, else in `room`.
  template <class P>
  [[nodiscard]] memory arranged(const float* parameters, P& p, std::uint32_t size, float* room) {
    const bool keep = factors_ == Type::bf16 && size == largest_;
    memory theirs = view(p.weights, keep ? aligned(p.kept, floats(p.weights)) : room);
    if (keep && std::exchange(p.version, version_) == version_) return theirs;
    memory ours = view(our_weights(Tag::oihw, Tag::goihw), parameters);
    dnnl::reorder(ours, theirs).execute(stream_, ours, theirs);
    return theirs;
  }

  void backward_weights(Primitive<BackwardWeights>& p, const Backward& call, float* room) {
    const bool own_bias = options_.bias && call.add;
    if (own_bias) d_bias_.resize(out_.channels);
    float* d_bias = !options_.bias ? nullptr : own_bias ? d_bias_.data() : call.d_parameters[1];
    float* pictures = room_for_pictures(p, room);
    std::vector<std::pair<int, memory>> arguments{
        {DNNL_ARG_SRC, factor(p.desc.src_desc(), call.inputs[0], pictures)},
        {DNNL_ARG_DIFF_DST, factor(p.desc.diff_dst_desc(), call.d_output, pictures)},
        {DNNL_ARG_DIFF_WEIGHTS, view(p.weights, room)},
        {DNNL_ARG_SCRATCHPAD, scratch(p, room)}};
    if (options_.bias) arguments.emplace_back(DNNL_ARG_DIFF_BIAS, view(p.desc.diff_bias_desc(), d_bias));
    p.run.execute(stream_, {arguments.begin(), arguments.end()});
    memory theirs = view(p.weights, room),
           ours = view(our_weights(Tag::oihw, Tag::goihw), call.d_parameters[0]);
    dnnl::primitive_attr attributes;
    if (call.add) {
      dnnl::post_ops sum;
      sum.append_sum(1.0F);
      attributes.set_post_ops(sum);
    }
    dnnl::reorder(theirs, ours, attributes).execute(stream_, theirs, ours);
    stream_.wait();
    for (std::size_t o = 0; own_bias && o < out_.channels; ++o) call.d_parameters[1][o] += d_bias_[o];
  }

  Shape in_, out_;
  Conv2d options_;
  std::uint32_t largest_;
  Type storage_, factors_, results_;  // of activations, as operands, and as results of primitives
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<std::uint32_t, Primitives> primitives_;  // by micro-batch size
  std::uint64_t workspace_ = 0;                     // floats, for the largest micro-batch
  std::uint64_t version_ = 1;                       // of the parameters
  std::vector<float> own_, d_bias_;
};

}  // namespace

std::unique_ptr<Op> make_onednn_conv2d(const Conv2d& op, const OpPlace& place) {
  return std::make_unique<OnednnConv2d>(op, place);
}

}  // namespace steelyard::nn::cpu
