#include "nn/cuda/cuda_network.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.h"
#include "nn/cuda/algorithm_choice.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/cuda_loss.h"
#include "nn/cuda/implementation_list.h"
#include "nn/cuda/runtime.h"
#include "nn/cuda/staging.h"
#include "nn/network_plan.h"
#include "nn/step_calls.h"

namespace steelyard::nn::cuda {
namespace {

// The key of a graph.
struct Variant {
  std::uint32_t size;
  bool training, first, last;  // first: brings the parameters; last: takes the gradient back
  friend bool operator<(const Variant& a, const Variant& b) {
    return std::tie(a.size, a.training, a.first, a.last) < std::tie(b.size, b.training, b.first, b.last);
  }
};

struct Recorded {
  bool ran = false;  // run before: lazy loading at the first use is done
  std::unique_ptr<Graph> graph;
  bool refused = false;  // cannot be captured: its work is added anew each time
};

// A full micro-batch of zeros.
struct Zeros {
  Zeros(const Model& model, std::uint32_t samples)
      : inputs(model.input().size() * samples),
        targets(takes_targets(model.loss()) ? std::size_t{model.classes()} * samples : 0),
        labels(std::size_t{model.labels()} * samples),
        positions(samples) {
    batch.inputs = inputs.data();
    batch.labels = labels.data();
    batch.targets = targets.empty() ? nullptr : targets.data();
    batch.positions = positions.data();
    batch.size = batch.count = samples;
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;

  std::vector<float> inputs, targets;
  std::vector<std::uint32_t> labels;
  std::vector<std::uint64_t> positions;
  MicroBatch batch;
};

// The ranges of the gradient in the order in which they become final.
std::vector<Interval> finals_of(const Plan& plan) {
  std::vector<Interval> all;
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    if (step->learns) all.insert(all.end(), step->final.begin(), step->final.end());
  }
  return all;
}

}  // namespace

class Network::Impl {
 public:
  // `refused`: why the library's convolutions did not run; empty: they may be used.
  Impl(const Model& model, unsigned index, std::uint32_t micro_batch, const std::string& refused)
      : model_(model),
        index_(index),
        micro_batch_(micro_batch),
        products_(compute_, model.precision()),
        staging_(model.input().size(), model.labels(), takes_targets(model.loss()) ? model.classes() : 0,
                 micro_batch),
        context_{compute_,           products_,
                 staging_.numbers(), staging_.positions(),
                 staging_.labels(),  model.normalizes_shares() ? 0 : model.grain(),
                 staging_.targets(), !refused.empty()},
        plan_(make_plan(model, column(), micro_batch)),
        arena_(plan_.arena),
        parameters_(model.parameters()),
        gradient_(model.parameters()),
        pinned_parameters_(model.parameters()),
        pinned_gradient_(model.parameters()),
        loss_workspace_(std::max<std::uint64_t>(loss_workspace(loss_options(), micro_batch), 1)),
        sums_(1),
        pinned_sums_(1),
        one_(1),
        finals_(finals_of(plan_)),
        marks_(finals_.size()),
        brought_(plan_.steps.size()),
        given_(plan_.steps.size()) {
    if (!refused.empty())
      remarks_.push_back("all convolutions are computed by our own kernels, and slower: " + refused);
    *pinned_one_.data() = 1;
    compute_.copy_array(one_.data(), pinned_one_.data(), 1);
    compute_.synchronize();
  }

  // No work may be running when memory is freed.
  ~Impl() {
    try {
      staging_.synchronize();
      for (Stream* stream : {&compute_, &copies_}) stream->synchronize();
    } catch (const std::exception&) {  // the device is lost, and its work with it
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] std::uint32_t micro_batch() const { return micro_batch_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
  [[nodiscard]] std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }
  [[nodiscard]] std::uint64_t bytes() const {
    return plan_.bytes() + 2 * parameters_.size() * sizeof(float) + staging_.bytes();
  }

  // Trains on zeros, in all sizes, as it is and as a graph: what libraries allocate, load or refuse shows.
  void try_out() {
    Zeros zeros(model_, micro_batch_);
    std::fill_n(pinned_parameters_.data(), pinned_parameters_.size(), 0.0F);
    trying_out_ = true;
    for (MicroBatch& batch = zeros.batch; batch.size > 0; batch.size = batch.count = batch.size / 2) {
      for (int run = 0; run < 2; ++run) {
        first_ = true;
        add(batch, true, true);
        compute_.synchronize();
      }
    }
    trying_out_ = false;
  }

  void begin(std::span<const float> parameters) {
    CHECK(parameters.size() == parameters_.size(), "the parameters do not have the size of the model");
    use_device(index_);      // in every call: another thread may have made the network
    compute_.synchronize();  // of a call that was aborted
    std::copy(parameters.begin(), parameters.end(), pinned_parameters_.data());
    first_ = true;
    last_ = false;
  }

  void add(const MicroBatch& batch, bool training, bool last) {
    CHECK(batch.size <= micro_batch_ && batch.count <= batch.size, "a micro-batch is too large");
    staging_.bring(batch, compute_);
    if (last) std::fill_n(marks_.data(), marks_.size(), 0U);
    run({batch.size, training, first_, last});
    first_ = false;
    last_ = last_ || last;
  }

  Sums finish(std::span<float> gradient, const FinalRange& on_final) {
    if (first_) return {};  // no micro-batch
    compute_.copy_array(pinned_sums_.data(), sums_.data(), 1);
    std::size_t told = 0;
    const auto tell = [&] {
      for (; last_ && told < finals_.size() && arrived(told); ++told) {
        const auto [begin, end] = finals_[told];
        std::copy(pinned_gradient_.data() + begin, pinned_gradient_.data() + end,
                  gradient.begin() + static_cast<std::ptrdiff_t>(begin));
        if (on_final) on_final(begin, end);
      }
    };
    while (!compute_.idle()) tell();
    compute_.synchronize();
    tell();
    CHECK(!last_ || told == finals_.size(), "a part of the gradient did not come back");
    const LossSums& sums = *pinned_sums_.data();
    if (sums.no_class > 0) {
      throw Failure(ExitCode::configuration,
                    std::to_string(sums.no_class) + " labels are not classes of the model, which has " +
                        std::to_string(model_.classes()) + ": make the model for this data set");
    }
    return {sums.loss, counts_answers(model_.loss()) ? sums.correct : Sums::uncounted};
  }

 private:
  [[nodiscard]] Column column() const {
    return {[this](const OpKind& kind, const OpPlace& place) {
              return std::visit([&](const auto& op) { return cuda::make(op, place, context_); }, kind);
            },
            [this](const BatchNorm& op, const OpPlace& place, FusedTail tail) {
              return make_batch_norm(op, place, tail, context_);
            },
            storage_of(model_.precision()),
            [this](const OpPlace& place) { return make_cast(place, context_); }};
  }
  [[nodiscard]] LossOptions loss_options() const {
    return {model_.loss(), model_.classes(), model_.labels(), model_.smoothing()};
  }

  [[nodiscard]] bool arrived(std::size_t range) const {
    return std::atomic_ref(marks_.data()[range]).load(std::memory_order_acquire) == 1;
  }

  void run(const Variant& variant) {
    Recorded& recorded = graphs_[variant];
    if (recorded.ran && !recorded.graph && !recorded.refused) record(variant, recorded);
    if (recorded.graph) {
      compute_.run(*recorded.graph);
    } else {
      issue(variant);
    }
    recorded.ran = true;
  }

  // Once training has begun, memory that lacks for a graph does not end it.
  void record(const Variant& variant, Recorded& recorded) {
    std::string refusal;
    try {
      Captured captured = capture(compute_, [&] { issue(variant); });
      recorded.graph = std::move(captured.graph);
      refusal = captured.refusal;
    } catch (const OutOfMemory& trouble) {
      if (trying_out_) throw;
      refusal = trouble.what();
    }
    if (recorded.graph) return;
    recorded.refused = true;
    if (std::exchange(refusal_, refusal) == refusal) return;
    remarks_.push_back("micro-batches run without a CUDA graph, and slower (first seen with " +
                       std::to_string(variant.size) + " samples): " + refusal);
  }

  // Adds all work of a micro-batch of this kind.
  void issue(const Variant& variant) {
    const MicroBatch constants{.size = variant.size, .count = UINT32_MAX};
    const Pass pass{constants, variant.training};
    if (variant.first) compute_.fill_zero(sums_.data(), sizeof(LossSums));
    forward(pass, variant);
    const PlannedValue& scores = plan_.values[plan_.steps.back().output];
    add_loss(context_, loss_options(), variant.size, arena_.data() + scores.place,
             variant.training ? arena_.data() + scores.gradient : nullptr, sums_.data(),
             loss_workspace_.data());
    if (variant.training) backward(pass, variant);
  }

  void forward(const Pass& pass, const Variant& variant) {
    if (variant.first) bring_parameters();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (variant.first && !step.tensors.empty()) compute_.wait(brought_[i]);
      calls_.forward(buffers(), pass, step);
    }
  }

  // Copies the parameters on a separate stream, step by step.
  void bring_parameters() {
    begun_.record(compute_);
    copies_.wait(begun_);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].tensors.empty()) continue;
      for (const Interval& range : plan_.steps[i].final) {
        copies_.copy_array(parameters_.data() + range.begin, pinned_parameters_.data() + range.begin,
                           range.end - range.begin);
      }
      brought_[i].record(copies_);
    }
  }

  void backward(const Pass& pass, const Variant& variant) {
    std::size_t range = 0;
    for (std::size_t i = plan_.steps.size(); i-- > 0;) {
      const Step& step = plan_.steps[i];
      if (!step.learns) continue;
      calls_.backward(buffers(), pass, step, !variant.first,
                      [&](std::uint64_t size, Storage storage, const float* from, float* to) {
                        if (storage == Storage::float32) return add_up(compute_, size, from, to);
                        add_up(compute_, size, reinterpret_cast<const Bf16*>(from),
                               reinterpret_cast<Bf16*>(to));
                      });
      if (variant.last && !step.final.empty()) take_back(i, step.final, range);
    }
    if (!variant.last) return;
    begun_.record(copies_);
    compute_.wait(begun_);
  }

  // Copies ranges of a step back while the backward runs, each followed by a mark.
  void take_back(std::size_t step, const std::vector<Interval>& ranges, std::size_t& next) {
    given_[step].record(compute_);
    copies_.wait(given_[step]);
    for (const Interval& range : ranges) {
      copies_.copy_array(pinned_gradient_.data() + range.begin, gradient_.data() + range.begin,
                         range.end - range.begin);
      copies_.copy_array(marks_.data() + next++, one_.data(), 1);
    }
  }

  [[nodiscard]] PlanBuffers buffers() const {
    return {model_, plan_, arena_.data(), staging_.inputs(), parameters_.data(), gradient_.data()};
  }

  const Model model_;
  const unsigned index_;
  const std::uint32_t micro_batch_;
  Stream compute_, copies_;  // copies_: of parameters and gradient
  Products products_;
  Staging staging_;
  const Context context_;
  const Plan plan_;
  DeviceArray<float> arena_, parameters_, gradient_;
  PinnedArray<float> pinned_parameters_, pinned_gradient_;
  DeviceArray<float> loss_workspace_;
  DeviceArray<LossSums> sums_;
  PinnedArray<LossSums> pinned_sums_;
  DeviceArray<std::uint32_t> one_;
  PinnedArray<std::uint32_t> pinned_one_{1};
  const std::vector<Interval> finals_;
  PinnedArray<std::uint32_t> marks_;  // 1: this range of finals_ has arrived in pinned_gradient_
  std::map<Variant, Recorded> graphs_;
  Event begun_;
  std::vector<Event> brought_, given_;  // per step
  bool first_ = true, last_ = false;    // of the micro-batches since begin()
  bool trying_out_ = false;
  std::vector<std::string> remarks_;
  std::string refusal_;  // the last one
  StepCalls calls_;
};

// Errors keep their codes.
std::unique_ptr<Network::Impl> Network::tried_out(std::unique_ptr<Impl> made) {
  try {
    made->try_out();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const NoAlgorithm&) {
    throw;
  } catch (const Failure& failure) {
    throw Failure(failure.code(),
                  std::string("a first micro-batch, of zeros, fails on the device: ") + failure.what());
  }
  return made;
}

Network::Network(const Model& model, unsigned index, std::uint32_t max_samples, bool try_out) {
  use_device(index);
  const bool shares = model.normalizes_shares();
  const std::uint32_t min_samples = shares ? std::bit_ceil(model.micro_batch()) : model.grain();
  std::uint32_t size = std::max(std::bit_floor(max_samples), min_samples);
  std::string refused;
  while (!impl_) {
    try {
      auto made = std::make_unique<Impl>(model, index, size, refused);
      impl_ = try_out ? tried_out(std::move(made)) : std::move(made);
    } catch (const NoAlgorithm& trouble) {  // offered, but then refused
      if (!refused.empty()) throw;
      refused = trouble.what();
    } catch (const OutOfMemory& trouble) {
      if (size / 2 < min_samples) {
        throw Failure(ExitCode::configuration, "the model does not fit on the device, even at " +
                                                   std::to_string(size) +
                                                   " samples at once: " + trouble.what() +
                                                   (shares ? "; give the worker a smaller max_batch" : ""));
      }
      size /= 2;
    }
  }
}
Network::~Network() = default;

std::vector<std::uint32_t> Network::micro_batch_sizes() const {
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t size = impl_->micro_batch(); size > 0; size /= 2) sizes.push_back(size);
  return sizes;
}

void Network::begin(std::span<const float> parameters) { impl_->begin(parameters); }
void Network::train(const MicroBatch& batch, bool last) { impl_->add(batch, true, last); }
void Network::evaluate(const MicroBatch& batch) { impl_->add(batch, false, false); }
Sums Network::finish(std::span<float> gradient, const FinalRange& on_final) {
  return impl_->finish(gradient, on_final);
}

std::uint64_t Network::bytes() const { return impl_->bytes(); }

std::vector<std::string> Network::implementations() const { return impl_->plan().implementations(); }

std::vector<std::string> Network::take_remarks() { return impl_->take_remarks(); }

std::string Network::description() const {
  std::string text = "micro-batches of up to " + std::to_string(impl_->micro_batch()) + " samples; " +
                     by_implementation(implementations());
  for (const std::string& remark : impl_->remarks()) text += "; " + remark;
  return text;
}

}  // namespace steelyard::nn::cuda
