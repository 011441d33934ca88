#include "scheduler/recovery/standby.h"

#include <algorithm>
#include <utility>

namespace steelyard {
namespace {

constexpr Duration beat = std::chrono::milliseconds(250), claim_every = std::chrono::milliseconds(50);
constexpr Duration shortest_silence = std::chrono::seconds(2);
constexpr int many_heartbeats = 4;
constexpr Time far_off{std::chrono::hours(24 * 365 * 100)};  // beyond any uptime

bool is_possible(Time it) { return it >= Time{} && it < far_off; }

}  // namespace

Standby::Standby(Options options) : options_(std::move(options)), attempt_(options_.attempt) {}

void Standby::step(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToStandby>(&in.message);
  if (message == nullptr || finished()) return;
  if (in.from == scheduler_node && !claimed_from_) heard_ = now;
  std::visit(Overloaded{[&](const Following& it) { handle(now, it); },
                        [&](const JournalPart& it) { handle(it, out); },
                        [&](const LeaderGrant& it) { handle(now, in.from, it, out); },
                        [&](const Stop& it) { exit_reason_.stopped(it); },
                        [&](const Interrupt&) {
                          exit_reason_.stopped({Outcome::interrupted, {}});
                        },
                        [&](const Disconnected& it) {
                          if (it.node == scheduler_node) follow_anew();
                        },
                        [&](const VersionMismatch& it) {
                          exit_reason_.refused({Refusal::other_protocol,
                                                "the scheduler uses protocol " + std::to_string(it.protocol) +
                                                    ": use the same release everywhere"});
                        },
                        [&](const Unreachable& it) {
                          if (it.node == scheduler_node) exit_reason_.refused({Refusal::endpoint, it.why});
                        }},
             *message);
}

void Standby::wake(Time now, Outbox& out) {
  if (finished() || now < next_) return;
  if (heard_ == Time{}) heard_ = now;
  next_ = now + beat;
  const bool silent = now - heard_ > silence_;
  if (claimed_from_ || (counted_ && silent)) return claim(now, out);
  if (!following_) out.send<ToScheduler>(scheduler_node, Follow{options_.build, attempt_});
  if (!counted_ && now - heard_ > options_.wait) exit_reason_.out_of_reach();
}

// ---- following

// Starts a new attempt; messages of the former one are ignored.
void Standby::follow_anew() {
  following_ = false;
  ++attempt_;
  next_ = {};
}

void Standby::handle(Time now, const Following& following) {
  if (following.attempt != attempt_ || following_ || claimed_from_) return;
  if (!following.refusal.empty()) return exit_reason_.refused({Refusal::other_job, following.refusal});
  if (!is_possible(Time{Duration(following.now)})) return;
  following_ = true;
  counted_.reset();
  ahead_ = now - Time{Duration(following.now)};
  have_ = 0;
  cut_.clear();
  options_.begin();
}

void Standby::handle(const JournalPart& part, Outbox& out) {
  if (!following_ || claimed_from_ || part.attempt != attempt_) return;
  if (part.begin < have_) return;  // a duplicate
  if (part.begin > have_) return follow_anew();
  const auto bytes = std::as_bytes(std::span(part.bytes));
  cut_.insert(cut_.end(), bytes.begin(), bytes.end());
  have_ += bytes.size();
  if (!take_records()) return follow_anew();
  out.send<ToScheduler>(scheduler_node, JournalAck{attempt_, have_});
}

// Writes the complete records received. Returns false if one is damaged; an incomplete last record is kept.
bool Standby::take_records() {
  JournalReader reader(cut_);
  while (auto record = reader.next()) {
    if (!is_possible(record->now)) return false;
    if (const auto* head = std::get_if<JournalHead>(&record->what)) {
      term_ = head->from.term;
      silence_ = std::max<Duration>(shortest_silence, many_heartbeats * from_seconds(head->job->heartbeat));
    }
    if (const auto* followed = std::get_if<Followed>(&record->what)) {
      counted_.reset();
      if (followed->attempt == attempt_) counted_ = attempt_;
    }
    record->now = record->now + ahead_;
    options_.write(*record);
  }
  const bool damaged = reader.damaged();
  cut_.erase(cut_.begin(), cut_.begin() + static_cast<std::ptrdiff_t>(reader.read()));
  return !damaged;
}

// ---- leading

void Standby::claim(Time now, Outbox& out) {
  if (!claimed_from_) {
    claimed_from_ = options_.arbiter();
    if (!claimed_from_) {
      const char* why =
          "the scheduler is lost, and no server is available that could let this standby lead: "
          "continue from the last checkpoint with --resume, or start the job again";
      return exit_reason_.stopped({Outcome::server_lost, why});
    }
    out.send<ToLink>(link_node, Connect{claimed_from_->node, claimed_from_->endpoint});
    heard_ = now;
  }
  if (now - heard_ > options_.wait) {
    const char* why =
        "the scheduler is lost, and the server that could let this standby lead does not answer: "
        "continue from the last checkpoint with --resume";
    return exit_reason_.stopped({Outcome::server_lost, why});
  }
  next_ = now + claim_every;
  out.send<ToShard>(claimed_from_->node,
                    LeaderClaim{term_, *counted_, claimed_from_->node, claimed_from_->generation, true});
}

void Standby::handle(Time now, NodeId from, const LeaderGrant& granted, Outbox& out) {
  if (!claimed_from_ || from != claimed_from_->node || granted.attempt != *counted_) return;
  out.send<ToLink>(link_node, Disconnect{claimed_from_->node});
  claimed_from_.reset();
  counted_.reset();
  leads_ = granted.granted;
  if (leads_) out.send<ToLink>(link_node, Disconnect{scheduler_node});  // messages to it would only be queued
  heard_ = now;
  follow_anew();
}

std::optional<Standby::Place> arbiter_in(const StandbyFeed::Follower& follower, const Members& members) {
  if (follower.arbiters.empty()) return std::nullopt;
  const NodeId node = follower.arbiters.back();
  for (const auto& [slot, shard] : members.shards) {
    if (shard.node == node) return Standby::Place{node, shard.endpoint, members.generation};
  }
  return std::nullopt;
}

static_assert(Machine<Standby>);

}  // namespace steelyard
