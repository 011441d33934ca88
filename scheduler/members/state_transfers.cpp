#include "scheduler/members/state_transfers.h"

#include <algorithm>
#include <utility>

namespace steelyard {

std::optional<StateTransfers::Order> StateTransfers::begin(Version version) {
  const auto has_state = [](const auto& it) { return it.second.ready && it.second.present; };
  const auto source = std::ranges::find_if(members_.workers, has_state);
  if (source == members_.workers.end()) return std::nullopt;
  attempt_ = Attempt{++last_, version, source->first, false};
  return Order{source->first, UploadState{term_, attempt_->number, version}};
}

StateTransfers::Answer StateTransfers::lacks(const Ready& ready, Version next, bool gathering, bool saving) {
  if (gathering) return {{}, LoadState{term_, from_ > 0 ? first_state_attempt : 0, from_}};
  Answer answer;
  const bool loads = attempt_ && ready.loading == attempt_->number,
             fresh = attempt_ && attempt_->version == next;
  if (!loads && !fresh) {
    if (attempt_ && (!attempt_->done || saving)) return answer;  // others load it
    answer.order = begin(next);
    if (!answer.order) return answer;
  }
  answer.load = LoadState{term_, attempt_->number, attempt_->version};
  return answer;
}

std::string StateTransfers::uploaded(const StateUploaded& uploaded) {
  if (!attempt_ || uploaded.attempt != attempt_->number || attempt_->done) return {};
  attempt_->done = uploaded.ok;
  if (uploaded.ok) return {};
  attempt_.reset();
  return uploaded.text.empty() ? "unknown" : uploaded.text;
}

bool StateTransfers::lose(std::uint32_t slot) {
  if (!attempt_ || attempt_->done || attempt_->slot != slot) return false;
  attempt_.reset();
  return true;
}

}  // namespace steelyard
