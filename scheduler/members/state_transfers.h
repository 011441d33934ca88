// StateTransfers: which worker uploads its state, and which workers load it, in jobs whose workers take the
// optimizer steps (protocol/state_messages.h).
//
// A state is needed by a worker that joins late or missed a version, and by every checkpoint. At any time at
// most one attempt is under way; a new one replaces it. An attempt is of the version that the newest begun
// round makes, so that the loading worker can pull all later versions.
//
// A worker that lacks the state repeats its Ready with every heartbeat, so nothing here has a timeout. If the
// uploading worker fails, the next Ready begins another attempt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/messages.h"
#include "scheduler/members/members.h"

namespace steelyard {

class StateTransfers {
 public:
  // `members` belongs to the caller and outlives this. `from`: the version that the job starts from.
  StateTransfers(Term term, Version from, const Members& members)
      : term_(term), from_(from), members_(members) {}

  // Begins an attempt for this version. Returns the order for the worker in `slot`; nothing if no worker has
  // the state.
  struct Order {
    std::uint32_t slot = 0;
    UploadState upload;
  };
  std::optional<Order> begin(Version version);

  // A worker has reported that it lacks the state. `next`: the version that the newest begun round makes.
  // `saving`: a checkpoint of version() is being written, so no new attempt may replace it. Before training
  // begins the worker loads the version that the job starts from: in a resumed job the checkpointer uploads
  // it, in a fresh one the servers have it.
  struct Answer {
    std::optional<Order> order{};     // a new attempt
    std::optional<LoadState> load{};  // for that worker; nothing if it has to wait
  };
  Answer lacks(const Ready& ready, Version next, bool gathering, bool saving);

  // Returns why the upload failed; empty otherwise, or if the answer is of an earlier attempt.
  std::string uploaded(const StateUploaded& uploaded);
  // The worker in this slot is lost, or its order may be. Returns whether it was uploading; that attempt is
  // given up then.
  bool lose(std::uint32_t slot);
  // The version of the latest attempt; nothing before the first one, and after a failed one.
  [[nodiscard]] std::optional<Version> version() const {
    return attempt_ ? std::optional(attempt_->version) : std::nullopt;
  }

 private:
  struct Attempt {
    std::uint64_t number = 0;
    Version version = 0;
    std::uint32_t slot = 0;
    bool done = false;
    void serialize(auto& fields) { fields(number, version, slot, done); }
  };

  const Term term_;
  const Version from_;
  const Members& members_;
  std::uint64_t last_ = first_state_attempt;
  std::optional<Attempt> attempt_;  // nothing: none yet, or it failed

 public:
  void serialize(auto& fields) { fields(last_, attempt_); }
};

}  // namespace steelyard
