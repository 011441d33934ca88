// Convolutions by cuDNN. Its tensor-core kernels require weights in the pictures' order (channels last),
// while ours are channel by channel as in PyTorch: they are transposed before the call, and their gradient
// after it. Depth-wise convolutions, and those that cuDNN rejects, use our own kernels.
//
// In bf16 pictures, weights and their gradient are bfloat16 and sums float32: the gradient of weights, a sum
// over the micro-batch, is rounded once before it is added to the others in float32.
//
// Uses only algorithms that give equal bits for equal inputs. An algorithm belongs to a math type, which the
// descriptor must have in every call.
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/cuda/algorithm_choice.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/device/cudnn_handle.h"
#include "nn/cuda/in_float32.h"

namespace steelyard::nn::cuda {
namespace {

template <class T>
constexpr cudnnDataType_t type_of = CUDNN_DATA_FLOAT;
template <>
constexpr cudnnDataType_t type_of<Bf16> = CUDNN_DATA_BFLOAT16;

// Pictures of this many samples.
class Pictures {
 public:
  Pictures(Shape shape, std::uint32_t samples, cudnnDataType_t type) {
    check_cudnn(cudnnCreateTensorDescriptor(&tensor_), "describe pictures");
    check_cudnn(cudnnSetTensor4dDescriptor(tensor_, CUDNN_TENSOR_NHWC, type, static_cast<int>(samples),
                                           static_cast<int>(shape.channels), static_cast<int>(shape.height),
                                           static_cast<int>(shape.width)),
                "describe pictures");
  }
  ~Pictures() { cudnnDestroyTensorDescriptor(tensor_); }
  Pictures(const Pictures&) = delete;
  Pictures& operator=(const Pictures&) = delete;
  operator cudnnTensorDescriptor_t() const { return tensor_; }  // NOLINT: a thin wrapper

 private:
  cudnnTensorDescriptor_t tensor_ = nullptr;
};

class Weights {
 public:
  Weights(const Conv2d& op, std::uint32_t inputs, cudnnDataType_t type) {
    check_cudnn(cudnnCreateFilterDescriptor(&filter_), "describe weights");
    check_cudnn(cudnnSetFilter4dDescriptor(filter_, type, CUDNN_TENSOR_NHWC, static_cast<int>(op.channels),
                                           static_cast<int>(inputs), static_cast<int>(op.kernel.rows),
                                           static_cast<int>(op.kernel.columns)),
                "describe weights");
  }
  ~Weights() { cudnnDestroyFilterDescriptor(filter_); }
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;
  operator cudnnFilterDescriptor_t() const { return filter_; }  // NOLINT: a thin wrapper

 private:
  cudnnFilterDescriptor_t filter_ = nullptr;
};

class Convolution {
 public:
  explicit Convolution(const Conv2d& op) {
    const int stride = static_cast<int>(op.stride);
    check_cudnn(cudnnCreateConvolutionDescriptor(&convolution_), "describe a convolution");
    check_cudnn(cudnnSetConvolution2dDescriptor(convolution_, static_cast<int>(op.padding.rows),
                                                static_cast<int>(op.padding.columns), stride, stride, 1, 1,
                                                CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                "describe a convolution");
    check_cudnn(cudnnSetConvolutionGroupCount(convolution_, static_cast<int>(op.groups)),
                "describe a convolution");
  }
  ~Convolution() { cudnnDestroyConvolutionDescriptor(convolution_); }
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  [[nodiscard]] cudnnConvolutionDescriptor_t with(int math) const {
    check_cudnn(cudnnSetConvolutionMathType(convolution_, static_cast<cudnnMathType_t>(math)),
                "set a math type");
    return convolution_;
  }

 private:
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
};

// The descriptors and algorithms for one size of micro-batch.
struct Way {
  Way(Shape in, Shape out, std::uint32_t samples, cudnnDataType_t type)
      : x(in, samples, type), y(out, samples, type) {}
  Pictures x, y;
  Offer forward, data, filter;
};

// By default cuDNN rounds to tf32.
Factors factors_of(cudnnMathType_t math) {
  return math == CUDNN_FMA_MATH                          ? Factors::float32
         : math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION ? Factors::half
                                                         : Factors::tf32;
}

template <class Found>
std::vector<Offer> offers(const Found& found, int count) {
  std::vector<Offer> all;
  for (int i = 0; i < count; ++i) {
    all.push_back({.algorithm = found[i].algo,
                   .math = found[i].mathType,
                   .works = found[i].status == CUDNN_STATUS_SUCCESS,
                   .repeats = found[i].determinism == CUDNN_DETERMINISTIC,
                   .factors = factors_of(found[i].mathType)});
  }
  return all;
}

template <class T>
class CudnnConv2d final : public CudaOp {
 public:
  CudnnConv2d(const Conv2d& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        in_(place.inputs[0]),
        out_(place.output),
        group_inputs_(in_.channels / op.groups),
        pixels_(op.kernel.rows * op.kernel.columns),
        bias_(op.bias),
        sums_(op.bias ? column_sums_workspace(places(place.micro_batch), op.channels) : 0),
        precision_(place.precision),
        filter_(op, group_inputs_, type_of<T>),
        convolution_(op),
        weights_(std::uint64_t{op.channels} * group_inputs_ * pixels_),
        d_weights_(weights_.size()) {
    // Throws now, not later, if there is no algorithm. Smaller sizes may need more memory than larger ones.
    for (std::uint32_t size = place.micro_batch; size > 0; size /= 2) way(size);
    workspace_ = needed_;
  }
  CudnnConv2d(const CudnnConv2d&) = delete;
  CudnnConv2d& operator=(const CudnnConv2d&) = delete;

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const Way& way = this->way(pass.size());
    const float one = 1, zero = 0;
    check_cudnn(cudnnConvolutionForward(handle_->on(context_.stream), &one, way.x, call.inputs[0], filter_,
                                        turned(call.parameters[0]), convolution_.with(way.forward.math),
                                        algorithm<Ahead>(way.forward), call.workspace, workspace_, &zero,
                                        way.y, call.output),
                "convolve");
    if (!bias_) return;
    add_bias(context_.stream, call.parameters[1], places(pass.size()), out_.channels, out_.channels,
             call.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const Way& way = this->way(pass.size());
    const float one = 1, zero = 0;
    check_cudnn(cudnnConvolutionBackwardFilter(handle_->on(context_.stream), &one, way.x, call.inputs[0],
                                               way.y, call.d_output, convolution_.with(way.filter.math),
                                               algorithm<OfWeights>(way.filter), call.workspace, workspace_,
                                               &zero, filter_, d_weights_.data()),
                "convolve for the gradient of weights");
    turn(context_.stream, out_.channels, pixels_, group_inputs_, d_weights_.data(), call.d_parameters[0],
         call.add);
    if (bias_) {
      column_sums(context_.stream, call.d_output, places(pass.size()), out_.channels, call.add,
                  call.d_parameters[1], call.workspace);
    }
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    check_cudnn(cudnnConvolutionBackwardData(handle_->on(context_.stream), &one, filter_, weights_.data(),
                                             way.y, call.d_output, convolution_.with(way.data.math),
                                             algorithm<OfPictures>(way.data), call.workspace, workspace_,
                                             add ? &one : &zero, way.x, to),
                "convolve for the gradient of pictures");
  }

  [[nodiscard]] Traits traits() const override {
    return {.adds = true, .workspace = std::max((workspace_ + sizeof(float) - 1) / sizeof(float), sums_)};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return 2 * weights_.size() * sizeof(T); }
  [[nodiscard]] std::string implementation() const override { return "cudnn"; }

 private:
  static constexpr std::size_t max_workspace = 256 << 20;
  using Ahead = cudnnConvolutionFwdAlgo_t;
  using OfPictures = cudnnConvolutionBwdDataAlgo_t;
  using OfWeights = cudnnConvolutionBwdFilterAlgo_t;

  template <class Algorithm>
  static Algorithm algorithm(const Offer& offer) {
    return static_cast<Algorithm>(offer.algorithm);
  }
  static cudnnMathType_t math(Precision precision) {
    return precision == Precision::float32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
  }

  [[nodiscard]] std::uint64_t places(std::uint32_t samples) const {
    return std::uint64_t{samples} * out_.height * out_.width;
  }

  // Also for the backward that follows.
  const T* turned(const float* weights) {
    turn(context_.stream, out_.channels, group_inputs_, pixels_, weights, weights_.data());
    return weights_.data();
  }

  // The fastest, by cuDNN's own estimate, that fits into the workspace. ask(offer, convolution, bytes) asks
  // for the workspace of an offer.
  template <class Found, class Ask>
  Offer best(const Found& found, int count, Ask ask) {
    const auto choice =
        choose(offers(found, count), precision_, workspace_,
               [&](const Offer& offer) -> std::optional<std::uint64_t> {
                 std::size_t bytes = 0;
                 const Trouble trouble = trouble_of(ask(offer, convolution_.with(offer.math), &bytes));
                 if (trouble == Trouble::memory) raise(trouble, "cuDNN has no memory for a convolution");
                 return trouble == Trouble::none ? std::optional<std::uint64_t>(bytes) : std::nullopt;
               });
    if (!choice) throw NoAlgorithm(ExitCode::failed, "cuDNN has no algorithm for a convolution");
    needed_ = std::max<std::size_t>(needed_, choice->workspace);
    return choice->offer;
  }

  Way& way(std::uint32_t samples) {
    std::unique_ptr<Way>& known = ways_[samples];
    if (known) return *known;
    auto way = std::make_unique<Way>(in_, out_, samples, type_of<T>);
    choose_forward(*way);
    choose_data(*way);
    choose_filter(*way);
    known = std::move(way);
    return *known;
  }

  void choose_forward(Way& way) {
    int count = 0;
    std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> found;
    check_cudnn(
        cudnnGetConvolutionForwardAlgorithm_v7(*handle_, way.x, filter_, convolution_.with(math(precision_)),
                                               way.y, static_cast<int>(found.size()), &count, found.data()),
        "choose an algorithm");
    way.forward = best(found, count, [&](const Offer& offer, auto convolution, std::size_t* bytes) {
      return cudnnGetConvolutionForwardWorkspaceSize(*handle_, way.x, filter_, convolution, way.y,
                                                     algorithm<Ahead>(offer), bytes);
    });
  }

  void choose_data(Way& way) {
    int count = 0;
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> found;
    check_cudnn(cudnnGetConvolutionBackwardDataAlgorithm_v7(
                    *handle_, filter_, way.y, convolution_.with(math(precision_)), way.x,
                    static_cast<int>(found.size()), &count, found.data()),
                "choose an algorithm");
    way.data = best(found, count, [&](const Offer& offer, auto convolution, std::size_t* bytes) {
      return cudnnGetConvolutionBackwardDataWorkspaceSize(*handle_, filter_, way.y, convolution, way.x,
                                                          algorithm<OfPictures>(offer), bytes);
    });
  }

  void choose_filter(Way& way) {
    int count = 0;
    std::array<cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT> found;
    check_cudnn(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                    *handle_, way.x, way.y, convolution_.with(math(precision_)), filter_,
                    static_cast<int>(found.size()), &count, found.data()),
                "choose an algorithm");
    way.filter = best(found, count, [&](const Offer& offer, auto convolution, std::size_t* bytes) {
      return cudnnGetConvolutionBackwardFilterWorkspaceSize(*handle_, way.x, way.y, convolution, filter_,
                                                            algorithm<OfWeights>(offer), bytes);
    });
  }

  Shape in_, out_;
  std::uint32_t group_inputs_, pixels_;  // per kernel
  bool bias_;
  std::uint64_t sums_;  // floats of workspace for the gradient of the bias
  const Precision precision_;
  std::shared_ptr<Handle> handle_ = Handle::mine();
  const Weights filter_;
  const Convolution convolution_;
  std::size_t workspace_ = max_workspace, needed_ = 0;  // bytes: the limit of a choice, and the most chosen
  std::map<std::uint32_t, std::unique_ptr<Way>> ways_;  // by samples
  DeviceArray<T> weights_, d_weights_;                  // in cuDNN's order
};

}  // namespace

namespace {

std::unique_ptr<Op> by_cudnn(const Conv2d& op, const OpPlace& place, const Context& context) {
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    return std::make_unique<CudnnConv2d<decltype(number)>>(op, place, context);
  });
}

}  // namespace

// cuDNN may reject a shape in one storage or in both; implementation() shows what computes it.
std::unique_ptr<Op> make(const Conv2d& op, const OpPlace& place, const Context& context) {
  const bool depthwise = op.groups > 1 && op.groups == place.inputs[0].channels;
  if (depthwise || context.own_kernels) return make_direct_conv2d(op, place, context);
  try {
    return by_cudnn(op, place, context);
  } catch (const NoAlgorithm&) {
  }
  try {
    if (place.storage == Storage::bf16) {
      return in_float32(place, context, [&](const OpPlace& inner) { return by_cudnn(op, inner, context); });
    }
  } catch (const NoAlgorithm&) {
  }
  return make_direct_conv2d(op, place, context);
}

}  // namespace steelyard::nn::cuda
