// Rounds: which rounds are open, what is begun next, and when a round is done.
//
// A slice covers a round when it has all the pushes that the round needs (server/shard/slice_memory.h). A
// round is done when the scheduler has all of its reports, and closed when every shard has made the next
// version (confirm()).
//
// Round k may begin when the reports cover all rounds below k - slack. Within the slack, a round begins ahead
// of time only for a worker that would be idle. An evaluation, a checkpoint and the end need one whole
// version: each is a barrier. All rounds before a barrier are done first, and what comes after it computes
// from no older version.
//
// Decides and keeps the state; sends nothing. The pieces of a round are the business of Assignments.
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

  // Oldest first: the open ones, and those that shards have not confirmed yet.
  [[nodiscard]] const std::list<RoundState>& states() const { return states_; }
  [[nodiscard]] std::list<RoundState>& states() { return states_; }
  [[nodiscard]] RoundState* training(Round round);  // nullptr: there is none
  [[nodiscard]] RoundState* oldest_open();          // the first that is not done; nullptr: all are
  [[nodiscard]] const EpochCursor& done() const { return done_; }    // its next round is the first not done
  [[nodiscard]] const EpochCursor& ahead() const { return ahead_; }  // its next round is the first not begun

  void begin_training(Time now) { started_ = now; }
  [[nodiscard]] bool training_began() const { return started_.has_value(); }
  [[nodiscard]] double trained_seconds(Time now) const;  // those before a resume included

  // What is to be done next.
  struct Wait {};        // for reports, unless a worker is idle and may_run_ahead()
  struct OpenOldest {};  // enough of it is reported, and shards are to know which
  struct FinishOldest {};
  struct BeginTrainingRound {};
  struct BeginEvaluation {};
  using Next = std::variant<Wait, OpenOldest, FinishOldest, BeginTrainingRound, BeginEvaluation, EndJob>;
  // `ending`: the job is to end.
  [[nodiscard]] Next next(Time now, bool ending);
  // Whether the next round may begin although others are open.
  [[nodiscard]] bool may_run_ahead(Time now) const;

  // Where rounds are paced: so many positions has the next one, as far as its epoch has them.
  void pace(std::uint64_t positions) { ahead_.take(positions); }
  RoundState& begin(Time now, bool save);
  RoundState& begin_evaluation(Time now);
  // All of the oldest open round is reported. An evaluation is gone afterwards.
  void finish(Time now, RoundState& round);
  // Whether what done() says is all there is to say of what was trained: no position before it is left over,
  // and nothing behind it is in the parameters.
  [[nodiscard]] bool can_be_saved() const;
  // What is known of a round when it is reported, for the record.
  [[nodiscard]] RoundRecord record(Time now, const RoundState& round, const Members& members) const;

  // All shards have this version: rounds below it are closed, and forgotten once they are done. Reports of a
  // closed round that do not come within `timeout` are done without; at once, if no worker is left to report.
  // Returns, of each round that closed now, how long the shards waited for the last pushes after the reports.
  std::vector<Duration> confirm(Time now, Version version, bool nobody_works, Duration timeout);
  // The scheduler was restarted: while it was away no report could come, and waiting for one begins now.
  void restarted(Time now);
  // Whether a training round below this version is not closed by all shards.
  [[nodiscard]] bool any_unclosed_below(Version version) const;

  // With a clip barrier: a shard has covered the round.
  struct Uncovered {};  // other shards have not told
  struct CommitAll {
    double scale = 1;
  };  // to all shards: the last has told
  struct CommitAgain {
    double scale = 1;
  };  // to this shard, which did not get the first
  using Gate = std::variant<Uncovered, CommitAll, CommitAgain, EndJob>;
  Gate cover(RoundState& round, std::uint32_t shard, const std::vector<double>& squares);

 private:
  void take_fresh();
  // What the next round has; of it, `skipped` are other rounds'.
  [[nodiscard]] Interval dealt(std::vector<Interval>& skipped) const;
  [[nodiscard]] bool may_leave_over(Time now, const RoundState& round) const;

  const Job& job_;
  const SyncMode mode_;
  const Term term_;
  const std::size_t shards_telling_;  // shards that hold slices: only they tell squares
  const double seconds_before_;       // of training, before a resume
  EpochCursor done_, ahead_;
  std::list<RoundState> states_;
  std::vector<Interval> left_over_;  // by the rounds that are done, for the next one
  bool pause_ = false;               // the newest round is the last before a barrier
  Version barrier_;                  // what is begun computes from no less
  bool evaluation_due_;
  bool evaluated_last_ = false;  // the present version has been evaluated
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
