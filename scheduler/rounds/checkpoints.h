// Checkpoints: which versions are saved, which the checkpointer has confirmed, and how to recover from a
// failure.
//
// A Save is repeated until the checkpointer answers it. At most two checkpoints are pending at a time; if
// more are due, some are skipped.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

class Checkpoints {
 public:
  // `resumed`: this run started from a checkpoint.
  Checkpoints(const Job& job, bool resumed);

  // Training begins: train.checkpoint_minutes counts from here.
  void begin(Time now) { last_due_ = now; }

  void request() { requested_ = true; }  // the next version is due

  // Whether to save the next version. `scheduled`: due by the number of rounds or epochs.
  struct Due {
    bool save = false;
    std::string remark{};  // why a due checkpoint is skipped; only about the first one
  };
  Due due(Time now, Version version, bool scheduled);

  void ask(const Progress& progress) { pending_[progress.version] = progress; }
  // The note for the checkpointer's answer; std::nullopt if that version was not pending.
  std::optional<std::string> answer(const Saved& saved);
  // Pending checkpoints will not be written. The reason counts as the latest failure.
  void give_up(const std::string& why);
  // Forgets pending checkpoints, because the servers no longer hold those versions.
  void drop() { pending_.clear(); }

  [[nodiscard]] const std::map<Version, Progress>& pending() const { return pending_; }
  // Whether this version was saved last, or is pending.
  [[nodiscard]] bool has(Version version) const {
    return last_saved_ == version || pending_.contains(version);
  }
  // Why the latest checkpoint failed; empty if it did not.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  // How users can continue after a failure, for messages.
  [[nodiscard]] std::string way_back() const;
  // The same after training produced numbers that are not finite.
  [[nodiscard]] std::string way_back_from_non_finite() const;

 private:
  const Duration every_;  // zero: not by time
  const bool resumed_;
  Time last_due_;
  std::map<Version, Progress> pending_;
  std::optional<Version> last_saved_;
  Version last_answered_ = 0;
  std::string trouble_;
  bool requested_ = false, skipped_ = false;

 public:
  void serialize(auto& fields) {
    fields(last_due_, pending_, last_saved_, last_answered_, trouble_, requested_, skipped_);
  }
};

}  // namespace steelyard
