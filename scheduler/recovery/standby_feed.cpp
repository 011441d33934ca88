#include "scheduler/recovery/standby_feed.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "protocol/limits.h"

namespace steelyard {
namespace {

constexpr std::size_t part = limits::journal_part, under_way = 64 * part;  // bytes
constexpr Duration patience = std::chrono::seconds(1);                     // for an answer, at least
constexpr int many_times = 4;                                              // times the slowest answer
constexpr Duration claim_again = std::chrono::milliseconds(50), ask_again = std::chrono::milliseconds(500);

}  // namespace

StandbyFeed::StandbyFeed(Term term, Options options) : term_(term), options_(std::move(options)) {}

bool StandbyFeed::hear(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToScheduler>(&in.message);
  if (message == nullptr) return false;
  return std::visit(Overloaded{[&]<OfStandbyFeed Said>(const Said& it) {
                                 handle(now, in.from, it, out);
                                 return true;
                               },
                               [&](const Disconnected& it) {
                                 if (it.node == standby_) lose(now);
                                 return it.node.role == Role::standby;
                               },
                               [&](const auto&) { return in.from.role == Role::standby; }},
                    *message);
}

// ---- sending the journal

void StandbyFeed::handle(Time now, NodeId from, const Follow& follow, Outbox& out) {
  if (has_standby() && standby_ == from) {
    if (attempt_ == follow.attempt) return;  // a duplicate
    lose(now);                               // it has dropped its copy
  }
  if (state_ >= State::claiming || follow.attempt == 0) return;
  const auto refuse = [&](const char* why) {
    out.send<ToStandby>(from, Following{follow.attempt, now.since_origin.count(), why});
  };
  if (state_ != State::alone) return refuse("the job already has a standby");
  if (follow.build != options_.build)
    return refuse("the scheduler is of another build: use the same program");
  std::optional<std::vector<std::byte>> journal = options_.journal();
  if (!journal) return;
  if (journal->empty()) return refuse("the scheduler's journal has ended (events.jsonl says why)");
  state_ = State::copying;
  since_ = now;
  standby_ = from;
  attempt_ = follow.attempt;
  sent_ = below_ = 0;
  unconfirmed_ = std::move(*journal);
  slowest_ = {};
  looked_ = false;
  arbiters_.clear();
  candidate_.reset();  // none has confirmed this attempt
  out.send<ToStandby>(from, Following{follow.attempt, now.since_origin.count()});
  send_parts(now, out);
}

void StandbyFeed::written(Time now, const std::vector<std::byte>& record, Outbox& out) {
  if (!has_standby()) return;
  unconfirmed_.insert(unconfirmed_.end(), record.begin(), record.end());
  const bool names_arbiter = !change_ && !arbiters_.empty() && arbiters_.back().below == UINT64_MAX;
  if (names_arbiter) arbiters_.back().below = end_of_journal();
  send_parts(now, out);
}

void StandbyFeed::send_parts(Time now, Outbox& out) {
  if (sent_ == below_) since_ = now;
  while (sent_ < end_of_journal() && sent_ - below_ < under_way) {
    const std::uint64_t size = std::min<std::uint64_t>(part, end_of_journal() - sent_);
    const auto* begin = reinterpret_cast<const char*>(&unconfirmed_[sent_ - below_]);
    out.send<ToStandby>(standby_, JournalPart{attempt_, sent_, std::string(begin, size)});
    sent_ += size;
  }
}

void StandbyFeed::handle(Time now, NodeId from, const JournalAck& ack, Outbox& out) {
  const bool its = has_standby() && from == standby_ && ack.attempt == attempt_;
  if (!its || ack.below <= below_ || ack.below > sent_) return;
  slowest_ = std::max<Duration>(slowest_, now - since_);
  since_ = now;
  unconfirmed_.erase(unconfirmed_.begin(),
                     std::next(unconfirmed_.begin(), static_cast<std::ptrdiff_t>(ack.below - below_)));
  below_ = ack.below;
  send_parts(now, out);
  count_if_ready();
}

void StandbyFeed::handle(Time, NodeId from, const Arbitrates& confirmed, Outbox&) {
  if (!has_standby() || confirmed.attempt != attempt_ || !candidate_ || candidate_->node != from) return;
  candidate_->authorised = true;
  count_if_ready();
}

void StandbyFeed::count_if_ready() {
  const bool confirmed = arbiters_.size() > 1 && arbiters_.back().below <= below_;
  if (confirmed) {  // the standby asks only this one from now on
    arbiters_.erase(arbiters_.begin(), arbiters_.end() - 1);
    name_arbiter(arbiters_.back().node);
  }
  const bool decided = looked_ && (!candidate_ || candidate_->authorised);
  if (state_ == State::copying && unconfirmed_.empty() && decided) {
    state_ = State::counting;
    if (!candidate_) name_arbiter({});  // there are no shards yet
  }
  if (state_ != State::counting || !candidate_ || !candidate_->authorised || change_) return;
  arbiters_.push_back({candidate_->node, UINT64_MAX});
  name_arbiter(candidate_->node);
  candidate_.reset();
}

// Asks the shard in the last slot to confirm that it is the arbiter, if it is not yet.
void StandbyFeed::look_at_arbiter(Time now, const Members& members, Outbox& out) {
  const ShardMember* last = members.arbiter();
  if (last == nullptr || (!arbiters_.empty() && arbiters_.back().node == last->node)) {
    candidate_.reset();
  } else if (!candidate_ || candidate_->node != last->node) {
    candidate_ = Candidate{last->node};
  }
  if (!std::exchange(looked_, true)) count_if_ready();
  if (!candidate_ || candidate_->authorised || (candidate_->asked && now - *candidate_->asked < ask_again))
    return;
  candidate_->asked = now;
  out.send<ToShard>(candidate_->node, Arbitrate{term_, attempt_, members.generation});
}

// ---- a lost connection to the standby

// A standby that does not count yet is dropped without a claim.
void StandbyFeed::lose(Time now) {
  if (!has_standby()) return;
  state_ = state_ == State::counting ? State::claiming : State::alone;
  since_ = next_claim_ = now;
  change_.reset();
  unconfirmed_.clear();
}

void StandbyFeed::wake(Time now, const Members& members, Outbox& out) {
  if (has_standby()) look_at_arbiter(now, members, out);
  if (has_standby() && sent_ > below_ && now > answers_until()) lose(now);
  if (state_ == State::claiming && now >= next_claim_) claim(now, members, out);
}

void StandbyFeed::claim(Time now, const Members& members, Outbox& out) {
  next_claim_ = now + claim_again;
  // Before any shard joined, the standby has no arbiter and cannot lead.
  if (arbiters_.empty()) return go_on_alone();
  if (now - since_ > options_.wait) {
    return end(
        "its standby is lost, and the server that could let this scheduler continue without it does not "
        "answer: "
        "start the job again with --resume");
  }
  const auto ask = [&](NodeId shard) {
    out.send<ToShard>(shard, LeaderClaim{term_, attempt_, shard, members.generation});
  };
  for (const Arbiter& it : arbiters_) ask(it.node);
  others_.clear();
  for (const auto& [slot, shard] : members.shards) {
    if (std::ranges::find(arbiters_, shard.node, &Arbiter::node) != arbiters_.end()) continue;
    others_.push_back(shard.node);
    ask(shard.node);
  }
}

void StandbyFeed::handle(Time, NodeId from, const LeaderGrant& granted, Outbox&) {
  if (state_ != State::claiming || granted.attempt != attempt_) return;
  const bool decides = std::ranges::find(arbiters_, from, &Arbiter::node) != arbiters_.end();
  if (!decides && std::ranges::find(others_, from) == others_.end()) return;
  if (!granted.granted) {
    superseded_ = true;
    return end("its standby declared this scheduler lost, and leads the job now");
  }
  std::erase_if(arbiters_, [&](const Arbiter& it) { return it.node == from; });
  if (arbiters_.empty()) go_on_alone();
}

void StandbyFeed::end(const char* why) {
  state_ = State::ended;
  ended_ = why;
}

void StandbyFeed::go_on_alone() {
  state_ = State::alone;
  candidate_.reset();
  change_ = Followed{};
}

Time StandbyFeed::answers_until() const {
  return since_ + std::max<Duration>(patience, many_times * slowest_);
}

Time StandbyFeed::deadline() const {
  if (state_ == State::claiming) return next_claim_;
  if (!has_standby() || sent_ == below_) return Time::max();
  return answers_until() + std::chrono::milliseconds(1);
}

void StandbyFeed::end(const Stop& stop, Outbox& out) {
  if (has_standby()) out.send<ToStandby>(standby_, stop);
}

}  // namespace steelyard
