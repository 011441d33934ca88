#include "scheduler/recovery/standby_feed.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "protocol/limits.h"

namespace steelyard {
namespace {

constexpr std::size_t part = limits::journal_part, under_way = 64 * part;  // bytes
constexpr Duration patience = std::chrono::seconds(1);                     // for an answer, at least
constexpr int many_times = 4;                                              // the longest so far
constexpr Duration claim_again = std::chrono::milliseconds(50), ask_again = std::chrono::milliseconds(500);

}  // namespace

StandbyFeed::StandbyFeed(Term term, Options options) : term_(term), options_(std::move(options)) {}

bool StandbyFeed::hear(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToScheduler>(&in.message);
  if (message == nullptr) return false;
  return std::visit(Overloaded{[&](const Follow& it) { return handle(now, in.from, it, out), true; },
                               [&](const JournalAck& it) { return handle(now, in.from, it, out), true; },
                               [&](const Arbitrates& it) { return handle(in.from, it), true; },
                               [&](const Granted& it) { return handle(in.from, it), true; },
                               [&](const Disconnected& it) {
                                 lose(it.node);
                                 return it.node.role == Role::standby;
                               },
                               [&](const auto&) { return in.from.role == Role::standby; }},
                    *message);
}

// ---- sending the journal

void StandbyFeed::handle(Time now, NodeId from, const Follow& follow, Outbox& out) {
  if (copy_ && copy_->node == from && copy_->attempt == follow.attempt) return;  // it was said twice
  if (copy_ && copy_->node == from) lose(from);                                  // and has nothing any more
  if (claim_ || !ended_.empty() || follow.attempt == 0) return;
  const auto refuse = [&](const char* why) {
    out.send<ToStandby>(from, Following{follow.attempt, now.since_origin.count(), why});
  };
  if (copy_) return refuse("the job has a standby: one is enough");
  if (follow.build != options_.build)
    return refuse("the scheduler is of another build: use the same program");
  std::optional<std::vector<std::byte>> journal = options_.journal();
  if (!journal) return;
  unconfirmed_ = std::move(*journal);
  if (unconfirmed_.empty()) return refuse("the scheduler's journal has ended (events.jsonl says why)");
  before_ = 0;
  arbiters_.clear();
  candidate_.reset();  // none has confirmed this attempt
  copy_ = Copy{from, follow.attempt, false, false, 0, 0, now};
  out.send<ToStandby>(from, Following{follow.attempt, now.since_origin.count()});
  send_parts(now, out);
}

void StandbyFeed::written(Time now, const std::vector<std::byte>& record, Outbox& out) {
  if (!copy_) return;
  unconfirmed_.insert(unconfirmed_.end(), record.begin(), record.end());
  const bool names_arbiter = !change_ && !arbiters_.empty() && arbiters_.back().below == UINT64_MAX;
  if (names_arbiter) arbiters_.back().below = end_of_journal();
  send_parts(now, out);
}

void StandbyFeed::send_parts(Time now, Outbox& out) {
  if (copy_->sent == copy_->below) copy_->asked = now;
  while (copy_->sent < end_of_journal() && copy_->sent - copy_->below < under_way) {
    const std::uint64_t size = std::min<std::uint64_t>(part, end_of_journal() - copy_->sent);
    const auto* begin = reinterpret_cast<const char*>(&unconfirmed_[copy_->sent - before_]);
    out.send<ToStandby>(copy_->node, JournalPart{copy_->attempt, copy_->sent, std::string(begin, size)});
    copy_->sent += size;
  }
}

void StandbyFeed::handle(Time now, NodeId from, const JournalAck& ack, Outbox& out) {
  const bool its = copy_ && from == copy_->node && ack.attempt == copy_->attempt;
  if (!its || ack.below <= copy_->below || ack.below > copy_->sent) return;
  copy_->slowest = std::max<Duration>(copy_->slowest, now - copy_->asked);
  copy_->asked = now;
  copy_->below = ack.below;
  unconfirmed_.erase(unconfirmed_.begin(),
                     std::next(unconfirmed_.begin(), static_cast<std::ptrdiff_t>(ack.below - before_)));
  before_ = ack.below;
  send_parts(now, out);
  count_if_ready();
}

void StandbyFeed::handle(NodeId from, const Arbitrates& confirmed) {
  if (!copy_ || confirmed.attempt != copy_->attempt || !candidate_ || candidate_->node != from) return;
  candidate_->authorised = true;
  count_if_ready();
}

void StandbyFeed::count_if_ready() {
  const bool confirmed = arbiters_.size() > 1 && arbiters_.back().below <= copy_->below;
  if (confirmed) {  // it asks no other any more
    arbiters_.erase(arbiters_.begin(), arbiters_.end() - 1);
    change(arbiters_.back().node);
  }
  const bool decided = copy_->looked && (!candidate_ || candidate_->authorised);
  const bool counts_now = !copy_->counts && unconfirmed_.empty() && decided;
  copy_->counts |= counts_now;
  if (counts_now && !candidate_) change({});  // there are no shards yet
  if (!copy_->counts || !candidate_ || !candidate_->authorised || change_) return;
  arbiters_.push_back({candidate_->node, UINT64_MAX});
  change(candidate_->node);
  candidate_.reset();
}

// ---- losing one another

// One that does not count yet may go.
void StandbyFeed::lose(NodeId node) {
  if (!copy_ || copy_->node != node) return;
  if (copy_->counts) claim_ = Claiming{copy_->attempt};
  copy_.reset();
  change_.reset();
  unconfirmed_.clear();
}

void StandbyFeed::handle(NodeId from, const Granted& granted) {
  const bool decides = claim_ && std::ranges::find(arbiters_, from, &Arbiter::node) != arbiters_.end();
  const bool other = claim_ && std::ranges::find(others_, from) != others_.end();
  if (!(decides || other) || granted.attempt != claim_->attempt) return;
  if (!granted.granted) {
    superseded_ = true;
    return end("its standby took this scheduler for lost, and leads the job now");
  }
  std::erase_if(arbiters_, [&](const Arbiter& it) { return it.node == from; });
  if (arbiters_.empty()) go_on_alone();
}

void StandbyFeed::end(const char* why) {
  claim_.reset();
  ended_ = why;
}

void StandbyFeed::go_on_alone() {
  claim_.reset();
  change_ = Followed{};
}

// What is not told to a standby any more it does not act on.
void StandbyFeed::look_at_arbiter(Time now, const Members& members, Outbox& out) {
  if (claim_) return;
  if (!copy_) {
    arbiters_.clear();
    candidate_.reset();
    return;
  }
  const ShardMember* last = members.arbiter();
  if (last == nullptr || (!arbiters_.empty() && arbiters_.back().node == last->node)) {
    candidate_.reset();
  } else if (!candidate_ || candidate_->node != last->node) {
    candidate_ = Candidate{last->node};
  }
  if (!std::exchange(copy_->looked, true)) count_if_ready();
  if (!candidate_ || candidate_->authorised || (candidate_->asked && now - *candidate_->asked < ask_again))
    return;
  candidate_->asked = now;
  out.send<ToShard>(candidate_->node, Arbitrate{term_, copy_->attempt, members.generation});
}

void StandbyFeed::wake(Time now, const Members& members, Outbox& out) {
  look_at_arbiter(now, members, out);
  const bool late = copy_ && copy_->sent > copy_->below &&
                    now - copy_->asked > std::max<Duration>(patience, many_times * copy_->slowest);
  if (late) lose(copy_->node);
  if (!claim_ || now < claim_->next) return;
  claim_->next = now + claim_again;
  // Before there are shards nothing binds anybody, and a standby has nobody to ask.
  if (arbiters_.empty()) return go_on_alone();
  if (!claim_->since) claim_->since = now;
  if (now - *claim_->since > options_.wait) {
    return end(
        "its standby is lost, and so is the server that could let it go on without: start the job "
        "again with --resume");
  }
  claim(members, out);
}

void StandbyFeed::claim(const Members& members, Outbox& out) {
  const auto ask = [&](NodeId shard) {
    out.send<ToShard>(shard, Claim{term_, claim_->attempt, shard, members.generation});
  };
  for (const Arbiter& it : arbiters_) ask(it.node);
  others_.clear();
  for (const auto& [slot, shard] : members.shards) {
    if (std::ranges::find(arbiters_, shard.node, &Arbiter::node) != arbiters_.end()) continue;
    others_.push_back(shard.node);
    ask(shard.node);
  }
}

Time StandbyFeed::deadline() const {
  if (claim_) return claim_->next;
  if (!copy_ || copy_->sent == copy_->below) return Time::max();
  return copy_->asked + std::max<Duration>(patience, many_times * copy_->slowest) +
         std::chrono::milliseconds(1);
}

void StandbyFeed::end(const Stop& stop, Outbox& out) {
  if (copy_) out.send<ToStandby>(copy_->node, stop);
}

}  // namespace steelyard
