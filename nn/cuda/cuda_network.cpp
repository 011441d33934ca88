#include "nn/cuda/cuda_network.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/time.h"
#include "nn/cuda/algorithm_choice.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/buckets.h"
#include "nn/cuda/column.h"
#include "nn/cuda/context.h"
#include "nn/cuda/device_values.h"
#include "nn/cuda/exchange.h"
#include "nn/cuda/implementation_list.h"
#include "nn/cuda/kept_gradient.h"
#include "nn/cuda/local_step.h"
#include "nn/cuda/loss_total.h"
#include "nn/cuda/recordings.h"
#include "nn/cuda/runtime.h"
#include "nn/cuda/staging.h"
#include "nn/cuda/unless_lost.h"
#include "nn/cuda/zero_batch.h"
#include "nn/network_plan.h"
#include "nn/step_calls.h"

namespace steelyard::nn::cuda {
namespace {

// Left free for what libraries allocate later, and for other programs on the device.
constexpr std::uint64_t spare_bytes = 512 << 20;

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
        plan_(make_plan(model, column_of(context_, storage_of(model.precision())), micro_batch)),
        arena_(plan_.arena),
        exchange_(model, plan_, compute_, bucket_floats(model.parameters())),
        loss_(model, micro_batch),
        recordings_(compute_) {
    if (!refused.empty()) {
      recordings_.remarks().push_back("our own kernels compute all convolutions and attention, and slower: " +
                                      refused);
    }
  }

  // No work may be running when memory is freed.
  ~Impl() { synchronize_unless_lost(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] std::uint32_t micro_batch() const { return micro_batch_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] std::vector<std::string>& remarks() { return recordings_.remarks(); }
  [[nodiscard]] std::uint64_t bytes() const { return plan_.bytes() + exchange_.bytes() + staging_.bytes(); }

  void keep(std::shared_ptr<const KeptSamples> samples) { staging_.keep(std::move(samples)); }

  // Trains on zeros, in all sizes, without and with a graph, so that libraries allocate, load and refuse now.
  void try_out() {
    ZeroBatch zeros(model_, micro_batch_);
    exchange_.bring_zeros();
    recordings_.require_memory(true);
    for (MicroBatch& batch = zeros.batch; batch.size > 0; batch.size = batch.count = batch.size / 2) {
      for (int run = 0; run < 2; ++run) {
        first_ = true;
        add(batch, true, true);
        synchronize();
      }
    }
    recordings_.require_memory(false);
  }

  std::vector<MicroBatchTime> measure() {
    ZeroBatch zeros(model_, micro_batch_);
    exchange_.bring_zeros();
    exchange_.synchronize();
    std::vector<MicroBatchTime> times;
    for (MicroBatch& batch = zeros.batch; batch.size > 0; batch.size = batch.count = batch.size / 2) {
      first_ = false;         // as most micro-batches
      seconds_of_two(batch);  // without a graph, and captured
      double least = seconds_of_two(batch);
      for (int again = 0; again < 2; ++again) least = std::min(least, seconds_of_two(batch));
      times.push_back({batch.size, least / 2});
    }
    return times;
  }

  void begin(std::span<const float> parameters, std::span<float> gradient) {
    use_device(index_);  // in every call: another thread may have made the network
    synchronize();       // of a call that was aborted
    begun_ = first_ = true;
    trained_ = last_ = stepping_ = there_ = false;
    exchange_.bring(parameters, gradient);
  }

  void begin_steps(std::span<const float> parameters, std::span<float> moved) {
    use_device(index_);
    if (!steps_) steps_.emplace(compute_, exchange_.size());
    begin(parameters, moved);
    stepping_ = true;
  }

  void begin_there(std::span<const Placed> parameters) {
    use_device(index_);
    synchronize();
    begun_ = first_ = there_ = true;
    trained_ = last_ = stepping_ = false;
    for (const auto& [begin, values] : parameters) exchange_.bring_part(begin, values, index_);
    exchange_.all_brought();
  }
  [[nodiscard]] bool has_here(std::span<const Placed> parameters) const {
    return std::ranges::any_of(parameters,
                               [&](const Placed& it) { return values_on(index_, it.values) != nullptr; });
  }

  void abandon() {
    if (std::exchange(begun_, false)) synchronize_unless_lost();
  }

  void add(const MicroBatch& batch, bool training, bool last) {
    CHECK(batch.size <= micro_batch_ && batch.count <= batch.size, "a micro-batch is too large");
    staging_.bring(batch, compute_);
    const Variant variant{batch.size, training, first_, last};
    recordings_.run(variant, [&] { issue(variant); });
    if (last && !stepping_ && !there_) exchange_.take_back();
    first_ = false;
    trained_ = trained_ || training;
    last_ = last_ || last;
  }

  Sums finish(std::span<float> gradient, const FinalRange& on_final) {
    if (first_) abandon();  // no micro-batch
    if (first_) return {};
    loss_.bring_back(compute_);
    if (trained_ && !last_) exchange_.take_back(exchange_.gradient());  // cut behind its last micro-batch
    if (trained_) exchange_.collect(gradient, on_final);
    compute_.synchronize();
    begun_ = false;
    return loss_.sums();
  }

  Sums finish_gradient() {
    if (first_) return {};
    loss_.bring_back(compute_);
    compute_.synchronize();
    first_ = true;
    return loss_.sums();
  }

  double sum_of_squares(std::span<const Interval> ranges) {
    CHECK(stepping_ && last_, "the norm of a gradient that was not computed");
    return steps_->sum_of_squares(ranges, exchange_.gradient());
  }

  void step(std::span<const LocalRange> ranges, bool first) {
    CHECK(stepping_ && last_, "a local step without a gradient");
    steps_->step(ranges, first, exchange_.gradient(), exchange_.parameters());
    last_ = false;
  }

  void finish_steps(std::span<float> moved, const FinalRange& on_final) {
    exchange_.take_back(steps_->moved());
    exchange_.collect(moved, on_final);
    synchronize();
    begun_ = false;
  }

  Sums finish_there(const DeviceGradient& gradient) {
    if (first_) abandon();
    if (first_) return {};
    loss_.bring_back(compute_);
    std::vector<std::shared_ptr<const DeviceValues>> values;
    if (trained_) {
      if (!kept_) kept_.emplace(index_, exchange_.size(), compute_);
      values = kept_->keep(exchange_.gradient(), gradient.slices, gradient.host);
    }
    synchronize();
    begun_ = false;
    if (trained_) gradient.on_final(std::move(values));
    return loss_.sums();
  }

 private:
  void synchronize_unless_lost() {
    unless_lost([this] {
      staging_.synchronize();
      synchronize();
    });
  }
  void synchronize() {
    compute_.synchronize();
    exchange_.synchronize();
  }
  // The samples of the second are copied while the first is computed.
  double seconds_of_two(const MicroBatch& batch) {
    const Time begin = steady_now();
    for (int i = 0; i < 2; ++i) add(batch, true, false);
    compute_.synchronize();
    return seconds(steady_now() - begin);
  }

  // Adds all work of a micro-batch of this kind.
  void issue(const Variant& variant) {
    const MicroBatch constants{.size = variant.size, .count = UINT32_MAX};
    const Pass pass{constants, variant.training};
    if (variant.first) loss_.clear(compute_);
    forward(pass, variant);
    const PlannedValue& scores = plan_.values[plan_.steps.back().output];
    loss_.add(context_, variant.size, arena_.data() + scores.place,
              variant.training ? arena_.data() + scores.gradient : nullptr);
    if (variant.training) backward(pass, variant);
  }

  void forward(const Pass& pass, const Variant& variant) {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (variant.first) exchange_.wait_for(i);
      calls_.forward(buffers(), pass, i);
    }
  }

  void backward(const Pass& pass, const Variant& variant) {
    const auto add = [&](std::uint64_t size, Storage storage, const float* from, float* to) {
      if (storage == Storage::float32) return add_up(compute_, size, from, to);
      add_up(compute_, size, reinterpret_cast<const Bf16*>(from), reinterpret_cast<Bf16*>(to));
    };
    calls_.backward(buffers(), pass, !variant.first, add, [&](std::uint32_t i) {
      if (variant.last) exchange_.give(i);
    });
  }

  [[nodiscard]] PlanBuffers buffers() const {
    return {model_, plan_, arena_.data(), staging_.inputs(), exchange_.parameters(), exchange_.gradient()};
  }

  const Model model_;
  const unsigned index_;
  const std::uint32_t micro_batch_;
  Stream compute_;
  Products products_;
  Staging staging_;
  const Context context_;
  const Plan plan_;
  DeviceArray<float> arena_;
  Exchange exchange_;
  LossTotal loss_;
  Recordings recordings_;
  std::optional<KeptGradient> kept_;  // since the first gradient that stayed here
  std::optional<LocalSteps> steps_;   // since the first ones
  bool begun_ = false;                // and not finished
  bool stepping_ = false;             // since begin_steps()
  bool first_ = true, last_ = false;  // of the micro-batches since begin()
  bool trained_ = false;              // one of them left a gradient
  bool there_ = false;                // since begin_there()
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

Network::Network(const Model& model, unsigned index, std::uint32_t max_samples, bool try_out,
                 std::uint64_t reserved) {
  use_device(index);
  const bool shares = model.normalizes_shares();
  const std::uint32_t min_samples = shares ? std::bit_ceil(model.micro_batch()) : model.grain();
  std::uint32_t size = std::max(std::bit_floor(max_samples), min_samples);
  std::string refused;
  while (!impl_) {
    try {
      auto made = std::make_unique<Impl>(model, index, size, refused);
      if (try_out) {
        made = tried_out(std::move(made));
        if (free_bytes() < spare_bytes + reserved && size / 2 >= min_samples)
          throw OutOfMemory(spare_bytes + reserved, free_bytes());
      }
      impl_ = std::move(made);
    } catch (const NoAlgorithm& trouble) {  // offered, but then refused
      if (!refused.empty()) throw;
      if (size / 2 >= std::max(min_samples, usual_samples)) {
        size /= 2;  // fewer samples may be computed
      } else {
        refused = trouble.what();
      }
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

void Network::keep(std::shared_ptr<const KeptSamples> samples) { impl_->keep(std::move(samples)); }

void Network::begin(std::span<const float> parameters, std::span<float> gradient) {
  impl_->begin(parameters, gradient);
}
void Network::begin_steps(std::span<const float> parameters, std::span<float> moved) {
  impl_->begin_steps(parameters, moved);
}
Sums Network::finish_gradient() { return impl_->finish_gradient(); }
double Network::sum_of_squares(std::span<const Interval> ranges) { return impl_->sum_of_squares(ranges); }
void Network::step(std::span<const LocalRange> ranges, bool first) { impl_->step(ranges, first); }
void Network::finish_steps(std::span<float> moved, const FinalRange& on_final) {
  impl_->finish_steps(moved, on_final);
}
void Network::abandon() { impl_->abandon(); }
std::vector<MicroBatchTime> Network::measure() { return impl_->measure(); }
void Network::train(const MicroBatch& batch, bool last) { impl_->add(batch, true, last); }
void Network::evaluate(const MicroBatch& batch) { impl_->add(batch, false, false); }
Sums Network::finish(std::span<float> gradient, const FinalRange& on_final) {
  return impl_->finish(gradient, on_final);
}

bool Network::has_here(std::span<const Placed> parameters) const { return impl_->has_here(parameters); }
void Network::begin_there(std::span<const Placed> parameters) { impl_->begin_there(parameters); }
Sums Network::finish_there(const DeviceGradient& gradient) { return impl_->finish_there(gradient); }

std::uint64_t Network::bytes() const { return impl_->bytes(); }

std::vector<std::string> Network::implementations() const { return impl_->plan().implementations(); }

std::vector<std::string> Network::take_remarks() { return std::exchange(impl_->remarks(), {}); }

std::string Network::description() const {
  std::string text = "micro-batches of up to " + std::to_string(impl_->micro_batch()) + " samples; " +
                     by_implementation(implementations());
  for (const std::string& remark : impl_->remarks()) text += "; " + remark;
  return text;
}

}  // namespace steelyard::nn::cuda
