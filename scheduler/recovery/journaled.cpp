#include "scheduler/recovery/journaled.h"

#include <utility>

namespace steelyard {

void HeldAnswers::hold(std::vector<Envelope> messages, std::uint64_t after) {
  if (messages.empty() || count_ + messages.size() > room_) return;
  count_ += messages.size();
  held_.push_back({after, std::move(messages)});
}

void HeldAnswers::release(std::uint64_t have, Outbox& out) {
  while (!held_.empty() && held_.front().after <= have) {
    count_ -= held_.front().messages.size();
    out.append(std::move(held_.front().messages));
    held_.pop_front();
  }
}

void HeldAnswers::drop_all() {
  held_.clear();
  count_ = 0;
}

namespace {

constexpr const char* alone = "the standby is lost; the scheduler continues without it";
constexpr Duration poll = std::chrono::milliseconds(5);  // while answers wait for the journal

bool is_for_recorder(const Envelope& it) { return std::holds_alternative<ToRecorder>(it.message); }

bool is_heartbeat(const Envelope& it) {
  const auto beats = [](const auto& said) { return std::holds_alternative<SchedulerBeat>(said); };
  return std::visit(
      Overloaded{[&](const ToWorker& said) { return beats(said); },
                 [&](const ToShard& said) { return beats(said); }, [](const auto&) { return false; }},
      it.message);
}

}  // namespace

Journaled::Journaled(Scheduler& scheduler, Write write, Options options)
    : scheduler_(scheduler),
      write_(std::move(write)),
      condense_(std::move(options.condense)),
      most_(options.most),
      pending_(std::move(options.pending)),
      standby_(scheduler.term(), std::move(options.standby)) {}

void Journaled::step(Time now, const Envelope& in, Outbox& out) {
  condense(now, out);
  if (!standby_.hear(now, in, out)) {
    write(now, Heard{in}, out);
    let([&](Outbox& said) { scheduler_.step(now, in, said); }, out);
  }
  look_at_standby(now, out);
  release(now, out);
}

void Journaled::wake(Time now, Outbox& out) {
  condense(now, out);
  if (now >= scheduler_.deadline()) {
    write(now, Woken{}, out);
    let([&](Outbox& said) { scheduler_.wake(now, said); }, out);
  }
  look_at_standby(now, out);
  release(now, out);
}

void Journaled::restarted(Time now, bool without_standby, Outbox& out) {
  if (without_standby) write(now, Followed{0}, out);
  write(now, Restarted{}, out);
  let([&](Outbox& said) { scheduler_.restarted(now, said); }, out);
  if (without_standby) Dispatch::note(alone, out);
  release(now, out);
}

// ---- held messages

template <class Do>
void Journaled::let(Do act, Outbox& out) {
  const bool nobody_waits = held_.empty() && beats_.empty() && !pending_;
  if (nobody_waits && standby_.missing() == std::uint64_t{0}) return act(out);
  Outbox said(scheduler_node);
  act(said);
  if (ended().empty()) hold(said.take(), out);
}

// Messages for the recorder are not held.
void Journaled::hold(std::vector<Envelope> said, Outbox& out) {
  std::vector<Envelope> told, beats, answers;
  for (Envelope& it : said) {
    auto& those = is_for_recorder(it) ? told : is_heartbeat(it) ? beats : answers;
    those.push_back(std::move(it));
  }
  out.append(std::move(told));
  beats_.hold(std::move(beats), position_);
  held_.hold(std::move(answers), position_);
}

// Sends nothing while scheduler and standby have lost each other.
void Journaled::release(Time now, Outbox& out) {
  look_again_ = Time::max();
  if (!ended().empty()) {
    held_.drop_all();
    beats_.drop_all();
  }
  const std::optional<std::uint64_t> missing = standby_.missing();
  if (!missing) return;
  beats_.release(position_ - *missing, out);
  if (held_.empty()) return;
  const std::uint64_t has = journal_has();
  held_.release(std::min(has, position_ - *missing), out);
  if (has < position_) look_again_ = now + poll;
}

std::uint64_t Journaled::journal_has() {
  const std::size_t pending = pending_ ? pending_() : 0;
  while (handed_.size() > pending) handed_.pop_front();
  return handed_.empty() ? position_ : handed_.front();
}

// ---- the journal

void Journaled::look_at_standby(Time now, Outbox& out) {
  standby_.wake(now, scheduler_.members(), out);
  if (const auto change = standby_.take_change()) {
    write(now, *change, out);
    // The standby has the record at once, and the journal must have it soon: a scheduler restarted from a
    // journal without it would lead beside the standby.
    (void)journal_has();
    if (std::exchange(followed_, *change).attempt != change->attempt) {
      Dispatch::note(change->attempt != 0 ? "a standby follows the scheduler and can take its place" : alone,
                     out);
    }
  }
  if (superseded() && !std::exchange(written_superseded_, true)) write(now, Superseded{}, out);
  if (standby_.state() != StandbyFeed::State::claiming) {
    undecided_ = {};
  } else if (undecided_.due(now, std::chrono::seconds(2))) {
    Dispatch::note(
        "the standby does not answer: the job waits for the server that decides which of the two leads", out);
  }
  if (scheduler_.finished()) standby_.end(scheduler_.outcome(), out);
}

void Journaled::write(Time now, JournalRecord::What what, Outbox& out) {
  record_.clear();
  append(record_, {now, std::move(what)});
  if (record_.empty()) return;
  bytes_ += record_.size();
  position_ += record_.size();
  if (!write_(record_)) return standby_.journal_ended(now);
  handed_over();
  standby_.written(now, record_, out);
}

// Called first in a step, when the recorder has received all earlier messages. A standby that counts
// continues to count, and receives the condensed records, too.
void Journaled::condense(Time now, Outbox& out) {
  if (!condense_ || bytes_ < most_ || !standby_.is_settled() || scheduler_.finished()) return;
  record_.clear();
  append(record_, {now, Condensed{scheduler_.save(now)}});
  if (followed_.attempt != 0) append(record_, {now, followed_});
  if (!condense_(record_)) return;
  bytes_ = 0;
  position_ += record_.size();
  handed_over();
  standby_.written(now, record_, out);
}

namespace {

// An arbiter that is named twice in a row is the only one that the standby may ask.
void follow(StandbyFeed::Follower& follower, const Followed& it) {
  if (it.attempt != follower.attempt) follower = {it.attempt, {}};
  if (it.attempt == 0 || it.arbiter.role != Role::shard) return;
  if (!follower.arbiters.empty() && follower.arbiters.back() == it.arbiter) follower.arbiters.clear();
  follower.arbiters.push_back(it.arbiter);
}

void act(const JournalRecord& record, Scheduler& scheduler, StandbyFeed::Follower& follower, Outbox& out) {
  std::visit(Overloaded{
                 [](const JournalHead&) {},
                 [&](const Heard& it) { scheduler.step(record.now, it.envelope, out); },
                 [&](const Woken&) { scheduler.wake(record.now, out); },
                 [&](const Restarted&) { scheduler.restarted(record.now, out); },
                 [&](const Followed& it) { follow(follower, it); },
                 [&](const Condensed& it) {
                   follower = {};
                   scheduler.restore(it.state, record.now);
                 },
                 [&](const Skipped& it) { scheduler.skipped(record.now, it.from, out); },
                 [&](const TookOver& it) {
                   follower = {};
                   scheduler.lead(it.generation);
                 },
                 [&](const Superseded&) { follower.superseded = true; },
             },
             record.what);
}

}  // namespace

StandbyFeed::Follower replay(JournalReader& journal, Scheduler& scheduler, const Replayed& said,
                             const Acting& acting) {
  StandbyFeed::Follower follower;
  Outbox out(scheduler_node);
  std::size_t begin = journal.read();
  auto record = journal.next();
  while (record) {
    const std::size_t end = journal.read();
    auto next = journal.next();
    if (!next || !std::holds_alternative<Skipped>(next->what)) {
      if (acting) acting(begin);
      act(*record, scheduler, follower, out);
    }
    said(*record, out.take());
    record = std::move(next);
    begin = end;
  }
  return follower;
}

static_assert(Machine<Journaled>);

}  // namespace steelyard
