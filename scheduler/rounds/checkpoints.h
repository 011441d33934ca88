// Checkpoints: which versions are saved, which the checkpointer has answered, and what to do after a failure.
//
// A Save is repeated until the checkpointer answers it. At most two are written at a time. When they come due
// faster than that, some are left out.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

class Checkpoints {
 public:
  // `resumed`: this run began with a checkpoint.
  Checkpoints(const Job& job, bool resumed);

  // The training begins now: minutes between checkpoints count from here.
  void begin(Time now) { last_due_ = now; }

  // Whether the next version is to be saved. `scheduled`: rounds or epochs say so, whatever the time.
  struct Due {
    bool save = false;
    std::string remark{};  // why a checkpoint that is due is left out
  };
  Due due(Time now, Version version, bool scheduled);

  void ask(const Progress& progress) { pending_[progress.version] = progress; }
  // What the checkpointer answered, for people; nothing if it was not asked.
  std::optional<std::string> answer(const Saved& saved);
  // What is pending will not be written. The reason counts as the latest failure.
  void give_up(const std::string& why);
  // What is pending is no longer wanted: the servers do not hold it any more.
  void drop() { pending_.clear(); }

  [[nodiscard]] const std::map<Version, Progress>& pending() const { return pending_; }
  // Saved last, or pending.
  [[nodiscard]] bool has(Version version) const {
    return last_saved_ == version || pending_.contains(version);
  }
  // Why the latest checkpoint failed; empty if it did not.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  // What people do to go on after a failure.
  [[nodiscard]] std::string way_back() const;
  // The same where the training itself came to numbers that are not finite.
  [[nodiscard]] static std::string way_back_from_non_finite();

 private:
  const Duration every_;  // zero: time does not matter
  const bool resumed_;
  Time last_due_;
  std::map<Version, Progress> pending_;
  std::optional<Version> last_saved_;
  Version last_answered_ = 0;
  std::string trouble_;

 public:
  void serialize(auto& fields) { fields(last_due_, pending_, last_saved_, last_answered_, trouble_); }
};

}  // namespace steelyard
