#include "server/shard/close_rule.h"

#include <algorithm>

#include "server/shard/delay_compensation.h"
#include "server/shard/hub_rule.h"

namespace steelyard {
namespace {

class ExactVersions final : public CloseRule {
 public:
  using CloseRule::CloseRule;

  [[nodiscard]] bool takes(const Push& push, const SliceMemory& slice) const override {
    return push.piece.round == slice.version() && push.piece.hub == whole_model;
  }
  bool add(NodeId, const Push& push, const Open&, SliceMemory& slice) override {
    if (!slice.add(push.piece.positions, push.weight, push.values)) return false;
    slice.release_previous();  // whoever computed this has seen every slice closed
    return true;
  }
  void settle(const Open&, SliceMemory&) const override {}
  void close(std::span<SliceMemory> slices, const Open& open, double scale) override {
    if (slices[0].in_norm_group()) {
      SliceMemory::apply_together(slices, optimizer_, rate(open), scale);
    } else {
      slices[0].apply(optimizer_, rate(open), scale);
    }
  }
  [[nodiscard]] bool answers_each_push() const override { return false; }
  [[nodiscard]] bool has(const Pull& pull, const SliceMemory& slice) const override {
    return slice.version() == pull.version;
  }
  [[nodiscard]] bool will_have(const Pull& pull, const SliceMemory& slice) const override {
    return slice.version() < pull.version;
  }
};

class OnArrival final : public CloseRule {
 public:
  explicit OnArrival(const Job& job)
      : CloseRule(job),
        mode_(job.sync),
        need_(needed(job)),
        compensation_(job.sync),
        staleness_(staleness_places) {}

  [[nodiscard]] bool is_in_slices(std::span<const SliceMemory>) const override {
    return compensation_.knows_nobody();
  }
  [[nodiscard]] bool takes(const Push& push, const SliceMemory&) const override {
    return push.piece.hub == whole_model;
  }

  bool add(NodeId worker, const Push& push, const Open& open, SliceMemory& slice) override {
    if (!slice.cover(push.piece.round, push.piece.positions)) return false;
    const std::uint64_t late = slice.steps() - std::min(push.steps, slice.steps());
    ++staleness_[std::min<std::uint64_t>(late, staleness_places - 1)];
    slice.gather(push.piece.positions, push.weight, adjusted(worker, push, slice, late));
    if (slice.gathered() >= need_) step(push, open, slice);
    return true;
  }
  void settle(const Open& newest, SliceMemory& slice) const override { slice.step(optimizer_, rate(newest)); }
  void close(std::span<SliceMemory> slices, const Open&, double) override { slices[0].next_version(); }
  [[nodiscard]] bool answers_each_push() const override { return true; }

  // Of that version at least, with all of the asker's own pushes in.
  [[nodiscard]] bool has(const Pull& pull, const SliceMemory& slice) const override {
    return slice.version() >= pull.version && std::ranges::all_of(pull.own, [&](const Contribution& it) {
             return slice.covers(it.round, it.positions);
           });
  }
  [[nodiscard]] bool will_have(const Pull&, const SliceMemory&) const override { return true; }
  void answered(NodeId worker, const SliceMemory& slice) override { compensation_.answered(worker, slice); }
  void gone(NodeId worker) override { compensation_.forget(worker); }
  [[nodiscard]] Staleness staleness() const override { return staleness_; }
  [[nodiscard]] std::uint64_t uncompensated() const override { return compensation_.missed(); }

 private:
  // Rounded down: where the batch is not a multiple of the workers, some of their shares are shorter.
  static std::uint64_t needed(const Job& job) {
    const SyncMode::Need& need = job.sync.need;
    return job.global_batch * need.parts / std::max<std::uint64_t>(1, need.of > 0 ? need.of : job.workers);
  }

  // What is gathered of the push. Other than gradients (Rule in core/layout.h) are taken as they are.
  Blob adjusted(NodeId worker, const Push& push, SliceMemory& slice, std::uint64_t late) {
    if (!slice.takes_gradients()) return push.values;
    if (!mode_.damped || late < 2) return compensation_.compensated(worker, push, slice);
    return slice.changed([&](std::span<float> out) {
      const float share = 1.0F / static_cast<float>(late);
      std::ranges::transform(push.values.floats(), out.begin(), [&](float value) { return share * value; });
    });
  }

  // Weight decay belongs to an update, so a push that is only a part of one has its part of the decay.
  void step(const Push& push, const Open& open, SliceMemory& slice) const {
    if (mode_.divide_by_push) return slice.step(optimizer_, rate(open));
    const auto whole = static_cast<double>(open.positions.size());
    nn::Optimizer optimizer = optimizer_;
    optimizer.weight_decay *= push.weight / whole;
    slice.step(optimizer, rate(open), whole);
  }

  const SyncMode mode_;
  const std::uint64_t need_;  // positions that make a step
  DelayCompensation compensation_;
  Staleness staleness_;
};

}  // namespace

std::unique_ptr<CloseRule> close_rule(const Job& job) {
  if (job.sync.has_hubs()) return hub_rule(job);
  if (job.sync.on_arrival) return std::make_unique<OnArrival>(job);
  return std::make_unique<ExactVersions>(job);
}

}  // namespace steelyard
