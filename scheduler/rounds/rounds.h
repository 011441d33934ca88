// Rounds: which rounds are open, what begins next, and when a round is done.
//
// A slice covers a round when it has all pushes that the round needs (server/shard/slice_memory.h). A round
// is done when the scheduler has all its reports, and closed when every shard has made the next version
// (confirm()). With backup workers, next() returns OpenOldest when all but SyncMode::backup workers have
// reported. The unreported positions then move to the next round.
//
// Round k may begin when reports cover all rounds below k - slack. Within the slack, a round begins early
// only for a worker that would be idle. Under sync-switch the first rounds have no slack. An evaluation, a
// checkpoint and the end need one whole version, so each is a barrier: all rounds before it are done first,
// and rounds after it compute from no older version.
//
// Decides and keeps the state; sends nothing. Assignments handles the pieces of a round.
#pragma once

#include <list>
#include <optional>
#include <variant>
#include <vector>

#include "scheduler/members/members.h"
#include "scheduler/rounds/epoch_cursor.h"
#include "scheduler/rounds/order.h"
#include "scheduler/rounds/round_state.h"

namespace steelyard {

class Rounds {
 public:
  Rounds(const Job& job, const Progress& from);
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  // Oldest first: open rounds, and rounds that shards have not confirmed yet.
  [[nodiscard]] const std::list<RoundState>& states() const { return states_; }
  [[nodiscard]] std::list<RoundState>& states() { return states_; }
  [[nodiscard]] RoundState* training(Round round);                   // nullptr if not found
  [[nodiscard]] RoundState* oldest_open();                           // the first not done; nullptr if all are
  [[nodiscard]] const EpochCursor& done() const { return done_; }    // its next round is the first not done
  [[nodiscard]] const EpochCursor& ahead() const { return ahead_; }  // its next round is the first not begun

  void begin_training(Time now) { started_ = now; }
  [[nodiscard]] bool training_began() const { return started_.has_value(); }
  [[nodiscard]] double trained_seconds(Time now) const;  // including those before a resume

  // The next thing to do.
  struct Wait {};        // for reports, unless a worker is idle and may_run_ahead()
  struct OpenOldest {};  // enough of it is reported: send BeginRound with the positions that it keeps
  struct FinishOldest {};
  struct BeginTrainingRound {};
  struct BeginEvaluation {};
  struct EndAsRequested {};
  using Next = std::variant<Wait, OpenOldest, FinishOldest, BeginTrainingRound, BeginEvaluation,
                            EndAsRequested, EndJob>;
  // `ending`: the end of the job was requested.
  [[nodiscard]] Next next(Time now, bool ending);
  // Whether the next round may begin although others are open.
  [[nodiscard]] bool may_run_ahead(Time now) const;

  // If the length of rounds is chosen: sets the length of the next round, cut at the end of its epoch.
  void pace(std::uint64_t positions) { ahead_.take(positions); }
  RoundState& begin(Time now, bool save);
  RoundState& begin_evaluation(Time now);
  // The oldest open round is fully reported. Removes it if it is an evaluation.
  void finish(Time now, RoundState& round);
  // Whether done() describes exactly the positions in the parameters: no position before it is left over, and
  // none after it has been applied.
  [[nodiscard]] bool can_be_saved() const;
  // The record of a reported round.
  [[nodiscard]] RoundRecord record(Time now, const RoundState& round, const Members& members) const;

  // All shards have this version: rounds below it are closed, and removed once they are done. A closed round
  // waits at most `timeout` for missing reports, and not at all if no worker works. Returns, for each round
  // that closed now, how long shards waited for the last pushes after the reports.
  std::vector<Duration> confirm(Time now, Version version, bool nobody_works, Duration timeout);
  // The scheduler was restarted: timeouts of reports start again, because none could arrive meanwhile.
  void restarted(Time now);
  // Whether some shard has not closed a training round below this version.
  [[nodiscard]] bool any_unclosed_below(Version version) const;

  // With a clip barrier: a shard has covered the round.
  struct Uncovered {};  // not all shards have reported
  struct CommitAll {
    double scale = 1;
  };  // to all shards: the last has reported
  struct CommitAgain {
    double scale = 1;
  };  // to this shard: the first Commit was lost
  using Gate = std::variant<Uncovered, CommitAll, CommitAgain, EndJob>;
  Gate cover(RoundState& round, std::uint32_t shard, const std::vector<double>& squares);

 private:
  void take_fresh();
  // The positions of the next round; `skipped`: the parts that belong to other rounds.
  [[nodiscard]] Interval dealt(std::vector<Interval>& skipped) const;
  [[nodiscard]] bool may_leave_over(Time now, const RoundState& round) const;

  const Job& job_;
  const SyncMode mode_;
  const Round barriers_;  // rounds below end with a barrier, and are divided when they begin
  const Term term_;
  const std::size_t shards_telling_;  // shards that hold slices: only they report squares
  const double seconds_before_;       // of training, before a resume
  EpochCursor done_, ahead_;
  std::list<RoundState> states_;
  std::vector<Interval> left_over_;  // by the last round done, for the next one
  bool pause_ = false;               // the newest round is the last before a barrier
  Version barrier_;                  // new rounds compute from this version or later
  bool evaluation_due_;
  bool evaluated_last_ = false;  // the current version has been evaluated
  std::optional<Time> started_, last_done_;

 public:
  void serialize(auto& fields) {
    auto count = static_cast<std::uint32_t>(states_.size());
    fields(done_, ahead_, left_over_, pause_, barrier_, evaluation_due_, evaluated_last_, started_,
           last_done_, count);
    if (std::remove_cvref_t<decltype(fields)>::is_loading::value) {
      states_.clear();
      while (count-- > 0) fields(states_.emplace_back(BeginRound{}, Purpose::train, Time{}));
    } else {
      for (RoundState& state : states_) fields(state);
    }
  }
};

}  // namespace steelyard
