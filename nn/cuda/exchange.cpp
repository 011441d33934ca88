#include "nn/cuda/exchange.h"

#include <algorithm>

#include "core/check.h"
#include "nn/cuda/device_values.h"
#include "nn/cuda/reachable.h"

namespace steelyard::nn::cuda {
namespace {

// Events cannot be moved.
void make_events(std::deque<Event>& events, std::size_t count) {
  while (events.size() < count) events.emplace_back(Event::Reach::outside);
}

float* pinned(std::optional<PinnedArray<float>>& memory, std::uint64_t size) {
  if (!memory) memory.emplace(size);
  return memory->data();
}

}  // namespace

Exchange::Exchange(const Model& model, const Plan& plan, Stream& compute, std::uint64_t least)
    : compute_(compute),
      parameters_(model.parameters()),
      gradient_(model.parameters()),
      to_device_(forward_buckets(plan, least)),
      to_host_(backward_buckets(plan, least)),
      first_used_(plan.steps.size()),
      completed_(plan.steps.size()) {
  for (std::size_t i = 0; i < to_device_.size(); ++i) first_used_[to_device_[i].first_step] = i;
  for (std::size_t i = 0; i < to_host_.size(); ++i) completed_[to_host_[i].last_step] = i;
  make_events(brought_, to_device_.size());
  make_events(given_, to_host_.size());
  make_events(arrived_, to_host_.size());
}

// ---- one piece

void Exchange::bring(std::span<const float> parameters, std::span<float> gradient) {
  CHECK(parameters.size() == size(), "the parameters do not have the size of the model");
  const float* const given = parameters.data();
  float* const copy = device_reads(parameters) ? nullptr : pinned(pinned_parameters_, size());
  for (std::size_t i = 0; i < to_device_.size(); ++i) {
    for (const auto [begin, end] : to_device_[i].parts) {
      if (copy != nullptr) std::copy(given + begin, given + end, copy + begin);
      copies_.copy_array(parameters_.data() + begin, (copy != nullptr ? copy : given) + begin, end - begin);
    }
    brought_[i].record(copies_);
  }
  const bool direct = gradient.size() == size() && device_writes(gradient);
  destination_ = direct ? gradient.data() : nullptr;
}

void Exchange::bring_zeros() {
  copies_.fill_zero(parameters_.data(), size() * sizeof(float));
  all_brought();
}

void Exchange::bring_part(std::uint64_t begin, const SliceValues& part, unsigned index) {
  if (const CudaValues* const here = values_on(index, part)) {
    CHECK(begin + here->size() <= size(), "a slice lies inside of the model");
    const std::span<const float> values = here->begin_to_read(copies_);
    copies_.copy_array(parameters_.data() + begin, values.data(), values.size());
    return here->read(copies_);
  }
  std::span<const float> host = part.on_host();
  CHECK(begin + host.size() <= size(), "a slice lies inside of the model");
  if (!device_reads(host)) {
    float* const copy = pinned(pinned_parameters_, size()) + begin;
    std::ranges::copy(host, copy);
    host = {copy, host.size()};
  }
  copies_.copy_array(parameters_.data() + begin, host.data(), host.size());
}

void Exchange::all_brought() {
  for (Event& event : brought_) event.record(copies_);
}

void Exchange::take_back() {
  for (std::size_t i = 0; i < to_host_.size(); ++i) {
    copies_.wait(given_[i]);
    take_back(i, gradient_.data());
  }
}

void Exchange::take_back(const float* values) {
  done_.record(compute_);
  copies_.wait(done_);
  for (std::size_t i = 0; i < to_host_.size(); ++i) take_back(i, values);
}

void Exchange::take_back(std::size_t bucket, const float* values) {
  if (destination_ == nullptr) destination_ = pinned(pinned_gradient_, size());
  for (const auto [begin, end] : to_host_[bucket].parts) {
    copies_.copy_array(destination_ + begin, values + begin, end - begin);
  }
  arrived_[bucket].record(copies_);
}

void Exchange::collect(std::span<float> gradient, const FinalRange& on_final) {
  CHECK(gradient.size() == size(), "the gradient does not have the size of the model");
  float* const to = gradient.data();
  CHECK(to == destination_ || (pinned_gradient_ && destination_ == pinned_gradient_->data()),
        "the gradient is not written to the memory that was given at the beginning");
  for (std::size_t i = 0; i < to_host_.size(); ++i) {
    arrived_[i].synchronize();
    for (const auto [begin, end] : to_host_[i].parts) {
      if (to != destination_) std::copy(destination_ + begin, destination_ + end, to + begin);
      if (on_final) on_final(begin, end);
    }
  }
}

// ---- among the kernels

void Exchange::wait_for(std::size_t step) {
  if (first_used_[step]) compute_.wait(brought_[*first_used_[step]]);
}

void Exchange::give(std::size_t step) {
  if (completed_[step]) given_[*completed_[step]].record(compute_);
}

}  // namespace steelyard::nn::cuda
