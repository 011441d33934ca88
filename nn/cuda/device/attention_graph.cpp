#include "nn/cuda/device/attention_graph.h"

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <cmath>
#include <exception>
#include <numeric>
#include <vector>

#include "nn/cuda/algorithm_choice.h"

namespace steelyard::nn::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

// Accessors of the front end's errors are not const, so errors are passed by value.

// The first two lines, as one: that there is no plan, and why the first one failed. Others name further
// plans.
std::string reason_of(fe::error_t error) {
  constexpr std::size_t longest = 240;
  const std::string message = error.get_message();
  const std::size_t end = message.find('\n');
  std::string line = message.substr(0, end);
  if (end != std::string::npos) line += ' ' + message.substr(end + 1, message.find('\n', end + 1) - end - 1);
  if (line.size() > longest) line.resize(longest);
  return line.empty() ? "error " + std::to_string(static_cast<int>(error.get_code())) : line;
}

bool contains(fe::error_t error, const char* text) {
  return error.get_message().find(text) != std::string::npos;
}

// cuDNN's status, and the driver's error when it loads a kernel, "... returned error TEXT (2)", are only in
// the message.
bool lacks_memory(fe::error_t error) {
  const std::string message = error.get_message();
  const std::size_t of_driver = message.find("returned error ");
  return contains(error, "ALLOCATION_FAILED") ||
         (of_driver != std::string::npos && message.find(" (2)", of_driver) != std::string::npos);
}

void check_built(fe::error_t error) {
  if (error.is_bad()) raise(lacks_memory(error) ? Trouble::memory : Trouble::unsupported, reason_of(error));
}

void check_run(fe::error_t error) {
  if (error.is_good()) return;
  raise(lacks_memory(error)                ? Trouble::memory
        : contains(error, "NOT_SUPPORTED") ? Trouble::unsupported
                                           : Trouble::other,
        "cuDNN cannot compute attention: " + reason_of(error));
}

// The front end throws some errors instead of returning them.
template <class Call>
void without_its_exceptions(Trouble trouble, Call call) {
  try {
    call();
  } catch (const Failure&) {
    throw;
  } catch (const std::exception& error) {
    raise(trouble, std::string("cuDNN cannot compute attention: ") + error.what());
  }
}

}  // namespace

struct AttentionGraph::Impl {
  explicit Impl(const AttentionSizes& of) : sizes(of) {}

  // The tensors get the numbers 1, 2, ... in the order of run().
  void name(const Tensor& tensor) { tensor->set_uid(++tensors); }

  // `row`: numbers from one token to the next.
  void lay_out(const Tensor& tensor, std::int64_t row) const {
    tensor->set_dim({sizes.samples, sizes.heads, sizes.tokens, sizes.length})
        .set_stride({sizes.tokens * row, sizes.length, row, 1});
  }
  void lay_out_logarithms(const Tensor& tensor) const {
    tensor->set_data_type(fe::DataType_t::FLOAT)
        .set_dim({sizes.samples, sizes.heads, sizes.tokens, 1})
        .set_stride({sizes.heads * sizes.tokens, sizes.tokens, 1, 1});
  }
  Tensor input(std::int64_t row) {
    const Tensor tensor = graph.tensor(fe::graph::Tensor_attributes());
    lay_out(tensor, row);
    name(tensor);
    return tensor;
  }
  void output(const Tensor& tensor, std::int64_t row) {
    lay_out(tensor, row);
    name(tensor);
    tensor->set_output(true);
  }

  template <class Attributes>
  Attributes attributes() const {
    Attributes attributes;
    attributes.set_attn_scale(1 / std::sqrt(static_cast<float>(sizes.length)));
    if (sizes.causal) {
      attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT);
      attributes.set_diagonal_band_right_bound(0);
    }
    return attributes;
  }

  void describe_forward() {
    const std::int64_t features = sizes.heads * sizes.length;
    const Tensor q = input(3 * features), k = input(3 * features), v = input(3 * features);
    auto options = attributes<fe::graph::SDPA_attributes>();
    options.set_name("attention").set_generate_stats(true);
    const auto [result, logarithms] = graph.sdpa(q, k, v, options);
    output(result, features);
    lay_out_logarithms(logarithms);
    name(logarithms);
    logarithms->set_output(true);
  }

  void describe_backward() {
    const std::int64_t features = sizes.heads * sizes.length;
    const Tensor q = input(3 * features), k = input(3 * features), v = input(3 * features);
    const Tensor result = input(features), d_result = input(features);
    const Tensor logarithms = graph.tensor(fe::graph::Tensor_attributes());
    lay_out_logarithms(logarithms);
    name(logarithms);
    auto options = attributes<fe::graph::SDPA_backward_attributes>();
    options.set_name("attention backward").set_deterministic_algorithm(true);
    const auto [d_q, d_k, d_v] = graph.sdpa_backward(q, k, v, result, d_result, logarithms, options);
    for (const Tensor& gradient : {d_q, d_k, d_v}) output(gradient, 3 * features);
  }

  void build(const AttentionDevice& device) {
    check_built(graph.validate());
    check_built(graph.build_operation_graph(device.handle));
    check_built(graph.create_execution_plans({fe::HeurMode_t::A}));
    graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
    check_built(graph.check_support());
    check_built(graph.build_plans());
    check_built(graph.get_workspace_size(workspace));
    std::vector<std::int64_t> expected(static_cast<std::size_t>(tensors));
    std::iota(expected.begin(), expected.end(), 1);
    if (graph.get_variant_pack_uids_sorted() != expected)
      raise(Trouble::unsupported, "its graph has other arrays than ours");
  }

  const AttentionSizes sizes;
  fe::graph::Graph graph;
  std::int64_t tensors = 0, workspace = 0;
};

AttentionGraph::AttentionGraph(const AttentionSizes& sizes, Direction direction,
                               const AttentionDevice& device)
    : impl_(std::make_unique<Impl>(sizes)) {
  without_its_exceptions(Trouble::unsupported, [&] {
    fe::graph::Graph& graph = impl_->graph;
    graph.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (device.handle == nullptr) {
      const auto properties = std::make_shared<fe::DeviceProperties>();
      check_built(properties->deserialize({device.properties.begin(), device.properties.end()}));
      graph.set_device_properties(properties).set_sm_version(device.capability);
    }
    if (direction == Direction::forward) {
      impl_->describe_forward();
    } else {
      impl_->describe_backward();
    }
    impl_->build(device);
  });
}
AttentionGraph::~AttentionGraph() = default;

std::uint64_t AttentionGraph::workspace() const { return static_cast<std::uint64_t>(impl_->workspace); }

std::string AttentionGraph::plan() const {
  std::string name;
  check_built(impl_->graph.get_plan_name(name));
  return name;
}

void AttentionGraph::run(cudnnHandle_t handle, std::span<void* const> arrays, void* workspace) const {
  std::vector<void*> pointers(arrays.begin(), arrays.end());
  without_its_exceptions(Trouble::other, [&] {
    check_run(impl_->graph.execute(handle, pointers.data(), static_cast<int>(pointers.size()), workspace));
  });
}

}  // namespace steelyard::nn::cuda
