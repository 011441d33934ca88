// Assigns places in a plan's arena to values and gradients.
//
// A value lives from the step that produces it to the last that reads it, forward or backward; a gradient
// from the first step that contributes to it to the step that produces the value. A value that backward
// computes again (nn/recomputation.h) lives twice. Values with disjoint lifetimes may share memory: the
// largest are placed first, each as low as it fits. The gradients of both terms of an addition may have the
// place of the sum's.
#include "nn/network_plan.h"

#include <algorithm>
#include <numeric>

namespace steelyard::nn {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

std::uint64_t aligned(std::uint64_t floats) { return (floats + 15) / 16 * 16; }

// Both included. Times: forward step i is at i, the loss at n, call k of backward at n + 1 + k.
struct Life {
  std::uint64_t begin = UINT64_MAX, end = 0;

  void include(std::uint64_t time) {
    begin = std::min(begin, time);
    end = std::max(end, time);
  }
  [[nodiscard]] bool meets(const Life& other) const { return begin <= other.end && other.begin <= end; }
};

// A buffer with its lifetimes.
struct Tenant {
  std::uint64_t size = 0, place = 0;
  std::vector<Life> lives{};

  void live(const Tenant& other) {
    size = std::max(size, other.size);
    lives.insert(lives.end(), other.lives.begin(), other.lives.end());
  }
  [[nodiscard]] bool meets(const Tenant& other) const {
    return std::any_of(lives.begin(), lives.end(), [&](const Life& mine) {
      return std::any_of(other.lives.begin(), other.lives.end(),
                         [&](const Life& its) { return mine.meets(its); });
    });
  }
};

// Returns the total number of floats.
std::uint64_t place(std::vector<Tenant>& tenants) {
  std::vector<std::size_t> order(tenants.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tenants[a].size > tenants[b].size; });
  std::vector<const Tenant*> placed;  // by place
  std::uint64_t all = 0;
  for (const std::size_t index : order) {
    Tenant& tenant = tenants[index];
    if (tenant.size == 0) continue;
    for (const Tenant* other : placed) {
      if (!other->meets(tenant)) continue;
      if (tenant.place + tenant.size <= other->place) break;
      tenant.place = std::max(tenant.place, other->place + other->size);
    }
    all = std::max(all, tenant.place + tenant.size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &tenant,
                                   [](auto* a, auto* b) { return a->place < b->place; }),
                  &tenant);
  }
  return all;
}

// Tenants 2v and 2v + 1 are value v and its gradient; those that share a place are merged.
class MemoryPlanner {
 public:
  explicit MemoryPlanner(Plan& plan)
      : plan_(plan), steps_(plan.steps.size()), tenants_(2 * plan.values.size()), host_(tenants_.size()) {
    std::iota(host_.begin(), host_.end(), 0);
  }

  void run() {
    find_readers();
    find_times();
    live();
    share_scores();
    for (std::uint32_t i = 0; i < steps_; ++i) share_values(i);
    for (std::uint32_t i = static_cast<std::uint32_t>(steps_); i-- > 0;) give(i);
    settle();
  }

 private:
  [[nodiscard]] bool needs_gradient(std::uint32_t value) const {
    return producer_[value] != none && plan_.steps[producer_[value]].learns;
  }

  void find_readers() {
    producer_.assign(plan_.values.size(), none);
    readers_.resize(plan_.values.size());
    for (std::uint32_t i = 0; i < steps_; ++i) {
      producer_[plan_.steps[i].output] = i;
      for (const std::uint32_t value : plan_.steps[i].inputs) readers_[value].push_back(i);
    }
  }

  void find_times() {
    backward_.assign(steps_, 0);
    again_.assign(steps_, 0);
    for (std::size_t k = 0; k < plan_.backward.size(); ++k) {
      const BackwardCall& call = plan_.backward[k];
      (call.again ? again_ : backward_)[call.step] = steps_ + 1 + k;
    }
  }

  [[nodiscard]] bool read_backward(std::uint32_t value) const {
    const auto reads = [&](std::uint32_t reader) {
      return plan_.steps[reader].learns && plan_.steps[reader].traits.reads_inputs;
    };
    const Step& producer = plan_.steps[producer_[value]];
    return (producer.learns && producer.traits.reads_output) ||
           std::any_of(readers_[value].begin(), readers_[value].end(), reads);
  }
  [[nodiscard]] bool read_again(std::uint32_t value) const {
    return std::any_of(readers_[value].begin(), readers_[value].end(),
                       [&](std::uint32_t reader) { return again_[reader] > 0; });
  }

  void live() {
    for (std::uint32_t v = 1; v < plan_.values.size(); ++v) {
      Tenant &value = tenants_[2 * v], &gradient = tenants_[2 * v + 1];
      value.size = aligned(plan_.values[v].floats());
      value.lives = lives_of(v);
      if (!needs_gradient(v)) continue;
      gradient.size = value.size;
      Life& life = gradient.lives.emplace_back();
      life.include(backward_[producer_[v]]);
      life.include(readers_[v].empty() ? steps_ : backward_[readers_[v].back()]);
    }
  }

  [[nodiscard]] std::vector<Life> lives_of(std::uint32_t value) const {
    const std::uint32_t producer = producer_[value];
    std::vector<Life> lives(1);
    lives[0].include(producer);
    for (const std::uint32_t reader : readers_[value])
      lives[0].include(plan_.steps[reader].with_next ? reader + 1 : reader);
    if (readers_[value].empty()) lives[0].include(steps_);  // the loss
    if (again_[producer] > 0) lives.emplace_back().include(again_[producer]);
    Life& last = lives.back();
    if (plan_.steps[producer].learns && plan_.steps[producer].traits.reads_output)
      last.include(backward_[producer]);
    for (const std::uint32_t reader : readers_[value]) {
      if (again_[reader] > 0) last.include(again_[reader]);
      const Step& step = plan_.steps[reader];
      if (step.learns && step.traits.reads_inputs) last.include(backward_[reader]);
    }
    return lives;
  }

  // The loss computes a gradient in place: scores have no other reader.
  void share_scores() {
    const std::uint32_t scores = plan_.steps.back().output;
    if (needs_gradient(scores) && !read_backward(scores)) join(2 * scores, 2 * scores + 1);
  }

  // Forward in place: the input is not needed any more.
  void share_values(std::uint32_t i) {
    const Step& step = plan_.steps[i];
    if (!step.traits.in_place) return;
    const std::uint32_t input = step.inputs[0];
    if (input == 0 || readers_[input].back() != i || read_backward(input)) return;
    if (!same_size(input, step.output)) return;
    // If only one of them is computed again, it would overwrite the other.
    const bool again = again_[producer_[input]] > 0;
    if (again != (again_[i] > 0) || (!again && read_again(input))) return;
    join(2 * input, 2 * step.output);
  }

  // Backward in place: the input has no gradient yet, and no other input has taken the buffer.
  void give(std::uint32_t i) {
    Step& step = plan_.steps[i];
    step.gives.clear();
    bool taken = false;
    const bool all_take = shares_gradients(i);
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      const std::uint32_t input = step.inputs[k];
      const bool once = std::count(step.inputs.begin(), step.inputs.end(), input) == 1;
      const bool may =
          (all_take || !taken) && once && ((k == 0 && step.traits.in_place) || step.traits.d_in_place);
      Giving giving = Giving::none;
      if (needs_gradient(input) && !first_to_give(i, k)) {
        giving = step.traits.adds ? Giving::add : Giving::write_aside;
        if (!step.traits.adds) aside_ = std::max(aside_, aligned(plan_.values[input].floats()));
      } else if (needs_gradient(input)) {
        giving = may && same_size(input, step.output) ? Giving::in_place : Giving::write;
      }
      if (giving == Giving::in_place) {
        join(2 * input + 1, 2 * step.output + 1);
        taken = true;
      }
      step.gives.push_back(giving);
    }
  }

  // Whether both gradients of an addition may stay in one buffer.
  [[nodiscard]] bool shares_gradients(std::uint32_t i) const {
    const Step& step = plan_.steps[i];
    if (!step.traits.gives_d_output || step.inputs.size() != 2) return false;
    const std::uint32_t a = step.inputs[0], b = step.inputs[1];
    return is_done_before(i, a, b) || is_done_before(i, b, a);
  }
  // Whether the gradient of `value`, a term of step i, is only read, and for the last time before that of
  // `other` changes or is read. Backward goes from the last step to the first.
  [[nodiscard]] bool is_done_before(std::uint32_t i, std::uint32_t value, std::uint32_t other) const {
    const std::uint32_t reads = producer_[value];
    if (reads == none || readers_[value].size() != 1 || !plan_.steps[reads].traits.keeps_d_output)
      return false;
    return (producer_[other] == none || producer_[other] < reads) &&
           std::all_of(readers_[other].begin(), readers_[other].end(),
                       [&](std::uint32_t reader) { return reader == i || reader < reads; });
  }

  [[nodiscard]] bool same_size(std::uint32_t a, std::uint32_t b) const {
    return plan_.values[a].size == plan_.values[b].size && plan_.values[a].storage == plan_.values[b].storage;
  }

  // The last reader of a value comes first in backward; a step that reads it twice contributes in order.
  [[nodiscard]] bool first_to_give(std::uint32_t i, std::size_t k) const {
    const std::vector<std::uint32_t>& inputs = plan_.steps[i].inputs;
    const auto before = inputs.begin() + static_cast<std::ptrdiff_t>(k);
    return readers_[inputs[k]].back() == i && std::find(inputs.begin(), before, inputs[k]) == before;
  }

  std::size_t host_of(std::size_t tenant) const {
    while (host_[tenant] != tenant) tenant = host_[tenant];
    return tenant;
  }

  void join(std::size_t a, std::size_t b) {
    a = host_of(a);
    b = host_of(b);
    if (a == b) return;
    tenants_[a].live(tenants_[b]);
    tenants_[b].size = 0;
    host_[b] = a;
  }

  void settle() {
    plan_.workspace = place(tenants_);
    for (std::uint32_t v = 1; v < plan_.values.size(); ++v) {
      plan_.values[v].place = tenants_[host_of(2 * v)].place;
      plan_.values[v].gradient = tenants_[host_of(2 * v + 1)].place;
    }
    std::uint64_t workspace = 0;
    for (const Step& step : plan_.steps) workspace = std::max(workspace, aligned(step.traits.workspace));
    plan_.aside = plan_.workspace + workspace;
    plan_.arena = plan_.aside + aside_;
  }

  Plan& plan_;
  std::size_t steps_;
  std::vector<std::uint32_t> producer_;              // step, by value
  std::vector<std::vector<std::uint32_t>> readers_;  // steps in order, by value
  std::vector<std::uint64_t> backward_, again_;      // times by step; 0: none
  std::vector<Tenant> tenants_;
  std::vector<std::size_t> host_;
  std::uint64_t aside_ = 0;
};

}  // namespace

void plan_memory(Plan& plan) { MemoryPlanner(plan).run(); }

}  // namespace steelyard::nn
