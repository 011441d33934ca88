#include "nn/cuda/exchange.h"

#include <algorithm>
#include <atomic>

#include "core/check.h"
#include "nn/cuda/device_values.h"

namespace steelyard::nn::cuda {
namespace {

std::vector<Interval> finals_of(const Plan& plan) {
  std::vector<Interval> all;
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    if (step->learns) all.insert(all.end(), step->final.begin(), step->final.end());
  }
  return all;
}

}  // namespace

Exchange::Exchange(const Model& model, const Plan& plan, Stream& compute)
    : plan_(plan),
      compute_(compute),
      parameters_(model.parameters()),
      gradient_(model.parameters()),
      pinned_parameters_(model.parameters()),
      pinned_gradient_(model.parameters()),
      one_(1),
      pinned_one_(1),
      finals_(finals_of(plan_)),
      marks_(finals_.size()),
      first_(plan_.steps.size()),
      brought_(plan_.steps.size()),
      given_(plan_.steps.size()) {
  std::size_t ranges = 0;
  for (std::size_t i = plan_.steps.size(); i-- > 0;) {
    first_[i] = ranges;
    if (plan_.steps[i].learns) ranges += plan_.steps[i].final.size();
  }
  *pinned_one_.data() = 1;
  copies_.copy_array(one_.data(), pinned_one_.data(), 1);
  copies_.synchronize();
}

// ---- on the host

void Exchange::set(std::span<const float> parameters) {
  CHECK(parameters.size() == size(), "the parameters do not have the size of the model");
  std::copy(parameters.begin(), parameters.end(), pinned_parameters_.data());
}

void Exchange::set_zeros() { std::fill_n(pinned_parameters_.data(), size(), 0.0F); }

void Exchange::set_there(std::uint64_t begin, const SliceValues& part, unsigned index) {
  if (const CudaValues* const here = values_on(index, part)) {
    CHECK(begin + here->size() <= size(), "a slice lies inside of the model");
    const std::span<const float> values = here->begin_to_read(compute_);
    compute_.copy_array(parameters_.data() + begin, values.data(), values.size());
    return here->read(compute_);
  }
  const std::span<const float> host = part.on_host();
  CHECK(begin + host.size() <= size(), "a slice lies inside of the model");
  std::ranges::copy(host, pinned_parameters_.data() + begin);
  compute_.copy_array(parameters_.data() + begin, pinned_parameters_.data() + begin, host.size());
}

void Exchange::expect_gradient() {
  std::fill_n(marks_.data(), marks_.size(), 0U);
  told_ = 0;
}

bool Exchange::arrived(std::size_t range) const {
  return std::atomic_ref(marks_.data()[range]).load(std::memory_order_acquire) == 1;
}

bool Exchange::collect(std::span<float> gradient, const FinalRange& on_final) {
  for (; told_ < finals_.size() && arrived(told_); ++told_) {
    const auto [begin, end] = finals_[told_];
    std::copy(pinned_gradient_.data() + begin, pinned_gradient_.data() + end,
              gradient.begin() + static_cast<std::ptrdiff_t>(begin));
    if (on_final) on_final(begin, end);
  }
  return told_ == finals_.size();
}

// ---- work of a micro-batch

void Exchange::bring() {
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

void Exchange::wait_for(std::size_t step) {
  if (!plan_.steps[step].tensors.empty()) compute_.wait(brought_[step]);
}

// Each range is followed by a mark.
void Exchange::take_back(std::size_t step) {
  const std::vector<Interval>& ranges = plan_.steps[step].final;
  if (ranges.empty()) return;
  given_[step].record(compute_);
  copies_.wait(given_[step]);
  std::size_t mark = first_[step];
  for (const Interval& range : ranges) {
    copies_.copy_array(pinned_gradient_.data() + range.begin, gradient_.data() + range.begin,
                       range.end - range.begin);
    copies_.copy_array(marks_.data() + mark++, one_.data(), 1);
  }
}

void Exchange::join() {
  begun_.record(copies_);
  compute_.wait(begun_);
}

}  // namespace steelyard::nn::cuda
