// Convolutions by cuDNN. Its tensor-core kernels require weights in the pictures' order (channels last),
// while ours are channel by channel as in PyTorch: they are transposed before the call, and their gradient
// after it. Depth-wise convolutions, and those that cuDNN rejects, use our own kernels.
//
// Uses only algorithms that give equal bits for equal inputs.
#include <cudnn.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/device/native.h"

namespace steelyard::nn::cuda {
namespace {

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw Failure(ExitCode::failed, std::string("cuDNN cannot ") + what + ": " + cudnnGetErrorString(status));
}

// One per thread, for all its ops.
class Handle {
 public:
  static std::shared_ptr<Handle> mine() {
    static thread_local std::weak_ptr<Handle> kept;
    std::shared_ptr<Handle> handle = kept.lock();
    if (!handle) kept = handle = std::make_shared<Handle>();
    return handle;
  }
  Handle() { check(cudnnCreate(&handle_), "start"); }
  ~Handle() { cudnnDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator cudnnHandle_t() const { return handle_; }  // NOLINT: a thin wrapper

 private:
  cudnnHandle_t handle_ = nullptr;
};

// Pictures of this many samples.
class Pictures {
 public:
  Pictures(Shape shape, std::uint32_t samples) {
    check(cudnnCreateTensorDescriptor(&tensor_), "describe pictures");
    check(cudnnSetTensor4dDescriptor(tensor_, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, static_cast<int>(samples),
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

// The descriptors and algorithms for one size of micro-batch.
struct Way {
  Way(Shape in, Shape out, std::uint32_t samples) : x(in, samples), y(out, samples) {}
  Pictures x, y;
  cudnnConvolutionFwdAlgo_t forward{};
  cudnnConvolutionBwdDataAlgo_t data{};
  cudnnConvolutionBwdFilterAlgo_t filter{};
};

class CudnnConv2d final : public CudaOp {
 public:
  CudnnConv2d(const Conv2d& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        in_(place.inputs[0]),
        out_(place.output),
        group_inputs_(in_.channels / op.groups),
        pixels_(op.kernel.rows * op.kernel.columns),
        bias_(op.bias),
        weights_(std::uint64_t{op.channels} * group_inputs_ * pixels_),
        d_weights_(weights_.size()) {
    check(cudnnCreateFilterDescriptor(&filter_), "describe weights");
    check(cudnnSetFilter4dDescriptor(filter_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC,
                                     static_cast<int>(op.channels), static_cast<int>(group_inputs_),
                                     static_cast<int>(op.kernel.rows), static_cast<int>(op.kernel.columns)),
          "describe weights");
    check(cudnnCreateConvolutionDescriptor(&convolution_), "describe a convolution");
    const int stride = static_cast<int>(op.stride);
    check(cudnnSetConvolution2dDescriptor(convolution_, static_cast<int>(op.padding.rows),
                                          static_cast<int>(op.padding.columns), stride, stride, 1, 1,
                                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
          "describe a convolution");
    check(cudnnSetConvolutionGroupCount(convolution_, static_cast<int>(op.groups)), "describe a convolution");
    check(cudnnSetConvolutionMathType(convolution_, math(place.precision)), "describe a convolution");
    workspace_ = max_workspace;
    way(place.micro_batch);  // throws now, not later, if there is no algorithm
    workspace_ = needed_;
  }
  ~CudnnConv2d() override {
    cudnnDestroyConvolutionDescriptor(convolution_);
    cudnnDestroyFilterDescriptor(filter_);
  }
  CudnnConv2d(const CudnnConv2d&) = delete;
  CudnnConv2d& operator=(const CudnnConv2d&) = delete;

  void forward(const Pass& pass, const Forward& call) override {
    const Way& way = this->way(pass.size());
    const float one = 1, zero = 0;
    check(cudnnConvolutionForward(on_stream(), &one, way.x, call.inputs[0], filter_,
                                  turned(call.parameters[0]), convolution_, way.forward, call.workspace,
                                  workspace_, &zero, way.y, call.output),
          "convolve");
    if (!bias_) return;
    const std::uint64_t rows = std::uint64_t{pass.size()} * out_.height * out_.width;
    add_bias(context_.stream, call.parameters[1], rows, out_.channels, out_.channels, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const Way& way = this->way(pass.size());
    const float one = 1, zero = 0;
    check(cudnnConvolutionBackwardFilter(on_stream(), &one, way.x, call.inputs[0], way.y, call.d_output,
                                         convolution_, way.filter, call.workspace, workspace_, &zero, filter_,
                                         d_weights_.data()),
          "convolve for the gradient of weights");
    turn(context_.stream, out_.channels, pixels_, group_inputs_, d_weights_.data(), call.d_parameters[0],
         call.add);
    if (bias_) {
      column_sums(context_.stream, call.d_output, std::uint64_t{pass.size()} * out_.height * out_.width,
                  out_.channels, call.add, call.d_parameters[1]);
    }
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    check(cudnnConvolutionBackwardData(on_stream(), &one, filter_, turned(call.parameters[0]), way.y,
                                       call.d_output, convolution_, way.data, call.workspace, workspace_,
                                       add ? &one : &zero, way.x, to),
          "convolve for the gradient of pictures");
  }

  [[nodiscard]] Traits traits() const override {
    return {.adds = true, .workspace = (workspace_ + sizeof(float) - 1) / sizeof(float)};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return 2 * weights_.size() * sizeof(float); }
  [[nodiscard]] std::string implementation() const override { return "cudnn"; }

 private:
  static constexpr std::size_t max_workspace = 256 << 20;

  static cudnnMathType_t math(Precision precision) {
    return precision == Precision::float32 ? CUDNN_FMA_MATH
           : precision == Precision::bf16  ? CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION
                                           : CUDNN_TENSOR_OP_MATH;
  }

  [[nodiscard]] cudnnHandle_t on_stream() const {
    check(cudnnSetStream(*handle_, native(context_.stream)), "take a stream");
    return *handle_;
  }

  const float* turned(const float* weights) {
    turn(context_.stream, out_.channels, group_inputs_, pixels_, weights, weights_.data());
    return weights_.data();
  }

  // The fastest, by cuDNN's own estimate, that fits into the workspace.
  template <class Found>
  auto best(const Found& found, int count) {
    for (int i = 0; i < count; ++i) {
      if (found[i].status == CUDNN_STATUS_SUCCESS && found[i].determinism == CUDNN_DETERMINISTIC &&
          found[i].memory <= workspace_) {
        needed_ = std::max(needed_, found[i].memory);
        return found[i].algo;
      }
    }
    throw Failure(
        ExitCode::configuration,
        "cuDNN has no algorithm for a convolution: train on --device cpu, or install another cuDNN");
  }

  Way& way(std::uint32_t samples) {
    std::unique_ptr<Way>& known = ways_[samples];
    if (known) return *known;
    auto way = std::make_unique<Way>(in_, out_, samples);
    int count = 0;
    std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> forward;
    check(cudnnGetConvolutionForwardAlgorithm_v7(*handle_, way->x, filter_, convolution_, way->y,
                                                 static_cast<int>(forward.size()), &count, forward.data()),
          "choose an algorithm");
    way->forward = best(forward, count);
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> data;
    check(cudnnGetConvolutionBackwardDataAlgorithm_v7(*handle_, filter_, way->y, convolution_, way->x,
                                                      static_cast<int>(data.size()), &count, data.data()),
          "choose an algorithm");
    way->data = best(data, count);
    std::array<cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT> filter;
    check(
        cudnnGetConvolutionBackwardFilterAlgorithm_v7(*handle_, way->x, way->y, convolution_, filter_,
                                                      static_cast<int>(filter.size()), &count, filter.data()),
        "choose an algorithm");
    way->filter = best(filter, count);
    known = std::move(way);
    return *known;
  }

  Shape in_, out_;
  std::uint32_t group_inputs_, pixels_;  // per kernel
  bool bias_;
  std::shared_ptr<Handle> handle_ = Handle::mine();
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  std::size_t workspace_ = 0, needed_ = 0;              // bytes
  std::map<std::uint32_t, std::unique_ptr<Way>> ways_;  // by samples
  DeviceArray<float> weights_, d_weights_;              // in cuDNN's order
};

}  // namespace

std::unique_ptr<Op> make(const Conv2d& op, const OpPlace& place, const Context& context) {
  const bool depthwise = op.groups > 1 && op.groups == place.inputs[0].channels;
  if (!depthwise) {
    try {
      return std::make_unique<CudnnConv2d>(op, place, context);
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Failure&) {  // cuDNN rejects this shape
    }
  }
  return make_direct_conv2d(op, place, context);
}

}  // namespace steelyard::nn::cuda
