#include "scheduler/rounds/checkpoints.h"

#include <algorithm>
#include <utility>

namespace steelyard {
namespace {

constexpr std::size_t pending_at_most = 2;

}  // namespace

Checkpoints::Checkpoints(const Job& job, bool resumed)
    : every_(from_seconds(60 * job.checkpoint_minutes)), resumed_(resumed) {}

Checkpoints::Due Checkpoints::due(Time now, Version version, bool scheduled) {
  const bool in_time = every_ > Duration{} && now - last_due_ >= every_;
  const bool requested = std::exchange(requested_, false);
  if (!in_time && !scheduled && !requested) return {};
  last_due_ = now;
  if (pending_.size() < pending_at_most) return {true};
  if (std::exchange(skipped_, true)) return {};
  return {false,
          "the checkpoint of round " + std::to_string(version) +
              " is skipped: two earlier ones are still being written (further ones are skipped silently)"};
}

std::optional<std::string> Checkpoints::answer(const Saved& saved) {
  if (pending_.erase(saved.version) == 0) return std::nullopt;
  // An answer for an older version does not change the state of the latest.
  if (saved.version >= last_answered_) trouble_ = saved.ok ? "" : saved.text;
  last_answered_ = std::max(last_answered_, saved.version);
  const std::string round = std::to_string(saved.version);
  if (!saved.ok) return "the checkpoint of round " + round + " failed: " + saved.text;
  last_saved_ = std::max(last_saved_.value_or(0), saved.version);
  return "checkpoint of round " + round + " in " + saved.text;
}

void Checkpoints::give_up(const std::string& why) {
  if (pending_.empty()) return;
  pending_.clear();
  trouble_ = why;
}

std::string Checkpoints::way_back() const {
  if (last_saved_) return "resume: the checkpoint of round " + std::to_string(*last_saved_) + " is kept";
  if (!pending_.empty()) return "resume if the checkpoint that was being written is complete, or start again";
  return resumed_ ? "resume from the checkpoint that this run began with"
                  : "start again: no checkpoint had been written yet";
}

std::string Checkpoints::way_back_from_non_finite() const {
  if (last_saved_ || !pending_.empty() || resumed_)
    return "the last checkpoint is kept: lower train.lr, or set train.clip_norm, and resume";
  return "start again with a lower train.lr, or with train.clip_norm: no checkpoint had been written yet";
}

}  // namespace steelyard
