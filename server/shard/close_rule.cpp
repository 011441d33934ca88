#include "server/shard/close_rule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/check.h"

namespace steelyard {
namespace {

using Compensation = SyncMode::Compensation;

constexpr float keep = 0.95F, epsilon = 1e-7F;  // rho and epsilon of the adaptive variant

class ExactVersions final : public CloseRule {
 public:
  using CloseRule::CloseRule;

  [[nodiscard]] bool takes(const Push& push, const SliceMemory& slice) const override {
    return push.piece.round == slice.version() && push.piece.hub == whole_model;
  }
  bool add(NodeId, const Push& push, const BeginRound& open, SliceMemory& slice) override {
    const bool closes = slice.coverage().count() + push.piece.positions.size() >= open.quorum;
    if (!slice.add(push.piece.positions, push.weight, push.values, closes)) return false;
    slice.release_previous();  // the push was computed after every slice had closed
    return true;
  }
  void close(std::span<SliceMemory> slices, const BeginRound& open, double scale) override {
    if (slices[0].in_norm_group()) {
      SliceMemory::apply_together(slices, optimizer_, rate(open), scale);
    } else {
      slices[0].apply(optimizer_, rate(open), scale);
    }
  }
};

class OnArrival final : public CloseRule {
 public:
  explicit OnArrival(const Job& job)
      : CloseRule(job),
        mode_(job.sync),
        need_(needed(job)),
        batch_(job.global_batch),
        barriers_(rounds_with_barrier(job)),
        compensation_(job.sync),
        staleness_(staleness_places) {}

  [[nodiscard]] bool is_in_slices(std::span<const SliceMemory>) const override {
    return compensation_.knows_nobody() && workers_.empty();
  }
  [[nodiscard]] bool takes(const Push& push, const SliceMemory&) const override {
    return push.piece.hub == whole_model;
  }

  bool add(NodeId worker, const Push& push, const BeginRound& open, SliceMemory& slice) override {
    if (!slice.cover(push.piece.round, push.piece.positions)) return false;
    if (mode_.waits()) {
      slice.wait({{push.piece.round, push.piece.positions}, push.weight, push.steps, push.values});
      step_if_due(open, slice);
      return true;
    }
    const std::uint64_t late = count_late(push.steps, slice);
    const bool barrier = push.piece.round < barriers_;
    const std::uint64_t gathered = slice.gathered() + push.piece.positions.size();
    const bool closes = barrier ? gathered == open.positions.size() : gathered >= need_;
    slice.gather(push.piece.positions, push.weight, adjusted(worker, push, slice, late), closes);
    if (!closes) return true;
    barrier ? slice.step(optimizer_, rate(open)) : step(push, open, slice, late);
    return true;
  }
  void settle(const BeginRound& newest, SliceMemory& slice) override {
    gather_oldest(slice.waiting().size(), slice);
    slice.step(optimizer_, rate(newest));
  }
  void step_if_due(const BeginRound& open, SliceMemory& slice) override {
    const std::uint64_t ready = std::clamp<std::uint64_t>(workers_.size(), 1, mode_.wait.ready);
    while (slice.waiting().size() >= ready) {
      gather_oldest(std::max<std::uint64_t>(1, mode_.wait.applied), slice);
      slice.step(optimizer_, rate(open));
    }
  }
  void close(std::span<SliceMemory> slices, const BeginRound&, double) override { slices[0].next_version(); }
  [[nodiscard]] bool answers_each_push() const override { return true; }

  // Requires that version or a later one, with all of the worker's own pushes.
  [[nodiscard]] bool has(const Pull& pull, const SliceMemory& slice) const override {
    return slice.version() >= pull.version && std::ranges::all_of(pull.own, [&](const Contribution& it) {
             return slice.covers(it.round, it.positions) && !slice.waits(it.round, it.positions);
           });
  }
  [[nodiscard]] bool will_have(const Pull&, const SliceMemory&) const override { return true; }
  void answered(NodeId worker, const SliceMemory& slice) override {
    compensation_.answered(worker, slice);
    if (mode_.waits()) workers_.insert(worker);
  }
  void gone(NodeId worker) override {
    compensation_.forget(worker);
    workers_.erase(worker);
  }
  [[nodiscard]] bool all_workers(const std::function<bool(NodeId)>& condition) const override {
    return !workers_.empty() && std::ranges::all_of(workers_, condition);
  }
  [[nodiscard]] Staleness staleness() const override { return staleness_; }
  [[nodiscard]] std::uint64_t uncompensated() const override { return compensation_.missed(); }

 private:
  // Rounded down: if the batch is not a multiple of the workers, some shares are shorter.
  static std::uint64_t needed(const Job& job) {
    const SyncMode::Quorum& quorum = job.sync.quorum;
    return job.global_batch * quorum.parts /
           std::max<std::uint64_t>(1, quorum.of > 0 ? quorum.of : job.workers);
  }

  std::uint64_t count_late(std::uint64_t pulled_at, const SliceMemory& slice) {
    const std::uint64_t late = slice.steps() - std::min(pulled_at, slice.steps());
    ++staleness_[std::min<std::uint64_t>(late, staleness_places - 1)];
    return late;
  }

  void gather_oldest(std::size_t count, SliceMemory& slice) {
    for (const auto& push : std::span(slice.waiting()).first(std::min(count, slice.waiting().size())))
      count_late(push.steps, slice);
    slice.gather_oldest(count);
  }

  // The values to gather. Values other than gradients (Rule in include/steelyard/parameters.h) are not
  // adjusted.
  Blob adjusted(NodeId worker, const Push& push, SliceMemory& slice, std::uint64_t late) {
    if (!slice.takes_gradients()) return push.values;
    if (!mode_.damped || late < 2) return compensation_.compensated(worker, push, slice);
    return slice.changed([&](std::span<float> out) {
      const float share = 1.0F / static_cast<float>(late);
      std::ranges::transform(push.values.floats(), out.begin(), [&](float value) { return share * value; });
    });
  }

  // Weight decay is per update, so a push that is a part of an update gets its part of the decay.
  void step(const Push& push, const BeginRound& open, SliceMemory& slice, std::uint64_t late) const {
    const double share = mode_.slows_late ? 1 / static_cast<double>(late + 1) : 1;
    if (mode_.divide_by_push) return slice.step(optimizer_, share * rate(open));
    const auto whole = static_cast<double>(std::min(batch_, open.positions.size()));
    nn::Optimizer optimizer = optimizer_;
    optimizer.weight_decay *= push.weight / whole;
    slice.step(optimizer, share * rate(open), whole);
  }

  const SyncMode mode_;
  const std::uint64_t need_;   // positions that make a step
  const std::uint64_t batch_;  // global
  const Round barriers_;       // in rounds below, all of the round makes a step
  DelayCompensation compensation_;
  Staleness staleness_;
  std::set<NodeId> workers_;  // if pushes wait: those connected that have parameters
};

struct HubCopy {
  SliceMemory slice;
  double weight = 0;  // n(h)
};
using Copies = std::vector<HubCopy>;  // by hub; index 0 is hub 1

// The average of some hubs' copies by weight; empty if all weights are 0.
class Mean {
 public:
  void add(const HubCopy& copy) {
    if (copy.weight > 0) parts_.emplace_back(copy.weight, copy.slice.current());
    whole_ += copy.weight;
  }
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  void operator()(std::span<float> out) const {
    std::vector<std::pair<double, const float*>> shares;
    for (const auto& [weight, values] : parts_) shares.emplace_back(weight / whole_, values.floats().data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      double sum = 0;
      for (const auto& [share, values] : shares) sum += share * double{values[i]};
      out[i] = static_cast<float>(sum);
    }
  }

 private:
  std::vector<std::pair<double, Blob>> parts_;
  double whole_ = 0;
};

class HubRule final : public CloseRule {
 public:
  explicit HubRule(const Job& job) : CloseRule(job), hubs_(job.sync.hubs) {}

  void begin(std::span<const SliceMemory> slices) override {
    for (const SliceMemory& slice : slices) {
      Copies& copies = copies_[slice.place().begin];
      for (HubNumber hub = 0; hub < hubs_.count; ++hub) copies.push_back({slice.copy()});
    }
  }
  // Only at the beginning. Later a worker may need the preceding version, which differs by hub.
  [[nodiscard]] bool is_in_slices(std::span<const SliceMemory> slices) const override {
    return std::ranges::all_of(slices, [&](const SliceMemory& slice) {
      const Blob own = slice.current();
      const Copies& copies = copies_.at(slice.place().begin);
      return std::ranges::all_of(copies, [&](const HubCopy& it) {
        return it.weight == 0 && !slice.previous() &&
               std::ranges::equal(it.slice.current().floats(), own.floats());
      });
    });
  }
  [[nodiscard]] bool takes(const Push& push, const SliceMemory& slice) const override {
    const HubNumber hub = push.piece.hub;
    return push.piece.round == slice.version() && hub != whole_model && hub <= hubs_.count;
  }
  bool add(NodeId, const Push& push, const BeginRound& open, SliceMemory& slice) override {
    if (!slice.cover(push.piece.round, push.piece.positions)) return false;
    Copies& copies = of(slice);
    HubCopy& its = copies[push.piece.hub - 1];
    const bool closes = slice.coverage().count() >= open.quorum;
    const bool is_new = its.slice.add(push.piece.positions, push.weight, push.values, closes);
    CHECK(is_new, "a hub has no position that its slice has not");
    its.weight += push.weight;
    slice.release_previous();  // the push was computed after every slice of every hub had closed
    for (HubCopy& copy : copies) copy.slice.release_previous();
    return true;
  }

  void close(std::span<SliceMemory> slices, const BeginRound& open, double) override {
    SliceMemory& slice = slices[0];
    Copies& copies = of(slice);
    for (HubCopy& copy : copies) {
      if (copy.slice.coverage().count() == 0) {
        copy.slice.stand();
      } else {
        copy.slice.apply(optimizer_, rate(open), 1);
      }
    }
    const bool mixes = hubs_.mix_after(open.round);
    if (mixes) mix(copies);
    Mean mean;
    for (const HubCopy& copy : copies) mean.add(copy);
    slice.stand();
    slice.replace(mean);
    for (HubCopy& copy : copies) copy.weight = mixes ? 0 : copy.weight;
  }

  [[nodiscard]] Blob told(const Pull& pull, const SliceMemory& slice, bool current) const override {
    if (pull.hub == whole_model) return CloseRule::told(pull, slice, current);
    return CloseRule::told(pull, copies_.at(slice.place().begin).at(pull.hub - 1).slice, current);
  }

 private:
  [[nodiscard]] Copies& of(const SliceMemory& slice) { return copies_.at(slice.place().begin); }

  void mix(Copies& copies) const {
    std::vector<Mean> means(hubs_.count);  // computed before any copy changes
    for (HubNumber a = 1; a <= hubs_.count; ++a) {
      for (HubNumber b = 1; b <= hubs_.count; ++b) {
        if (a == b || hubs_.are_neighbours(a, b)) means[a - 1].add(copies[b - 1]);
      }
    }
    for (HubNumber hub = 0; hub < hubs_.count; ++hub) {
      if (!means[hub].empty()) copies[hub].slice.replace(means[hub]);
    }
  }

  const Hubs hubs_;
  std::map<std::uint64_t, Copies> copies_;  // by the slice's offset
};

}  // namespace

void DelayCompensation::answered(NodeId worker, const SliceMemory& slice) {
  if (kind_ == Compensation::none) return;
  Pulled& pulled = pulled_[worker][slice.place().begin];
  pulled.values = slice.current();
  pulled.steps = slice.steps();
}

// The version that the push was computed from; null if unknown.
DelayCompensation::Pulled* DelayCompensation::find(NodeId worker, const Push& push,
                                                   const SliceMemory& slice) {
  const auto its = pulled_.find(worker);
  if (its == pulled_.end()) return nullptr;
  const auto pulled = its->second.find(slice.place().begin);
  return pulled != its->second.end() && pulled->second.steps == push.steps ? &pulled->second : nullptr;
}

Blob DelayCompensation::compensated(NodeId worker, const Push& push, SliceMemory& slice) {
  if (kind_ == Compensation::none) return push.values;
  Pulled* pulled = find(worker, push, slice);
  if (pulled == nullptr) {
    ++missed_;
    return push.values;
  }
  const Blob current = slice.current();
  const std::span<const float> sum = push.values.floats(), now = current.floats(),
                               then = pulled->values.floats();
  const auto scale = static_cast<float>(1 / push.weight), lambda = static_cast<float>(lambda_);
  if (kind_ == Compensation::adaptive) pulled->squares.resize(sum.size());
  // If lambda or the difference is zero, the result is equal bit for bit.
  return slice.changed([&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float g = scale * sum[i];
      float strength = lambda;
      if (kind_ == Compensation::adaptive) {
        float& s = pulled->squares[i];
        s = keep * s + (1 - keep) * g * g;
        strength /= std::sqrt(s + epsilon);
      }
      out[i] = sum[i] * (1 + strength * g * (now[i] - then[i]));
    }
  });
}

std::unique_ptr<CloseRule> close_rule(const Job& job) {
  if (job.sync.has_hubs()) return hub_rule(job);
  if (job.sync.on_arrival) return std::make_unique<OnArrival>(job);
  return std::make_unique<ExactVersions>(job);
}

std::unique_ptr<CloseRule> hub_rule(const Job& job) { return std::make_unique<HubRule>(job); }

}  // namespace steelyard
