#include "server/shard/hub_rule.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/check.h"

namespace steelyard {
namespace {

struct HubCopy {
  SliceMemory slice;
  double weight = 0;  // n(h)
};
using Copies = std::vector<HubCopy>;  // by hub, the first has number 1

// Of some hubs' copies, by weight; nothing if they have none.
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
  // At the beginning. Later somebody may need the version before, of which every hub has its own.
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
  bool add(NodeId, const Push& push, const Open&, SliceMemory& slice) override {
    if (!slice.cover(push.piece.round, push.piece.positions)) return false;
    Copies& copies = of(slice);
    HubCopy& its = copies[push.piece.hub - 1];
    const bool is_new = its.slice.add(push.piece.positions, push.weight, push.values);
    CHECK(is_new, "a hub has no position that its slice has not");
    its.weight += push.weight;
    slice.release_previous();  // whoever computed this has seen every slice closed, in every hub
    for (HubCopy& copy : copies) copy.slice.release_previous();
    return true;
  }
  void settle(const Open&, SliceMemory&) const override {}

  void close(std::span<SliceMemory> slices, const Open& open, double) override {
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

  [[nodiscard]] bool answers_each_push() const override { return false; }
  [[nodiscard]] bool has(const Pull& pull, const SliceMemory& slice) const override {
    return slice.version() == pull.version;
  }
  [[nodiscard]] bool will_have(const Pull& pull, const SliceMemory& slice) const override {
    return slice.version() < pull.version;
  }
  [[nodiscard]] Blob told(const Pull& pull, const SliceMemory& slice, bool current) const override {
    if (pull.hub == whole_model) return CloseRule::told(pull, slice, current);
    return CloseRule::told(pull, copies_.at(slice.place().begin).at(pull.hub - 1).slice, current);
  }

 private:
  [[nodiscard]] Copies& of(const SliceMemory& slice) { return copies_.at(slice.place().begin); }

  void mix(Copies& copies) const {
    std::vector<Mean> means(hubs_.count);  // of what all have before any of them changes
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
  std::map<std::uint64_t, Copies> copies_;  // by the slice's place
};

}  // namespace

std::unique_ptr<CloseRule> hub_rule(const Job& job) { return std::make_unique<HubRule>(job); }

}  // namespace steelyard
