// Dispatch: turns decisions into messages. Decides nothing.
#pragma once

#include <set>
#include <string>

#include "protocol/machine.h"
#include "scheduler/members/admission.h"
#include "scheduler/members/members.h"
#include "scheduler/rounds/order.h"

namespace steelyard {

class Dispatch {
 public:
  // All belong to the caller and outlive this.
  Dispatch(const Job& job, Term term, Members& members, const Admission& admission)
      : job_(job), term_(term), members_(members), admission_(admission) {}

  static void note(std::string text, Outbox& out);  // for users, through the recorder
  // Sends to a worker or a shard; does nothing for other roles.
  template <class Message>
  static void to_member(NodeId to, const Message& message, Outbox& out) {
    if (to.role == Role::worker) out.send<ToWorker>(to, message);
    if (to.role == Role::shard) out.send<ToShard>(to, message);
  }
  template <class Message>
  void to_worker(std::uint32_t slot, const Message& message, Outbox& out) const {
    out.send<ToWorker>(members_.workers.at(slot).node, message);
  }
  void heartbeat(NodeId to, Outbox& out) const {
    to_member(to, SchedulerBeat{term_, members_.generation}, out);
  }

  void welcome(NodeId to, std::uint32_t slot, Outbox& out) const {
    to_member(to, Welcome{term_, slot, job_}, out);
  }
  void roster(NodeId worker, Outbox& out) const { out.send<ToWorker>(worker, admission_.roster()); }
  void roster_to_all(Outbox& out) const;  // does nothing while shards are missing
  void roster_to_checkpointer(Outbox& out) const;

  void open(Time now, const BeginRound& open, Outbox& out);                   // to all shards
  static void open_again(NodeId shard, const BeginRound& open, Outbox& out);  // its first copy was lost
  void commit_to_all(Round round, double scale, Outbox& out) const;
  void commit(NodeId shard, Round round, double scale, Outbox& out) const;

  void save(const Progress& progress, Outbox& out) const;
  static void record(RoundRecord record, Outbox& out);
  void end(const Ended& ended, Outbox& out) const;  // to checkpointer and recorder
  static void stop(const std::set<NodeId>& members, const Stop& stop, Outbox& out);

 private:
  const Job& job_;
  const Term term_;
  Members& members_;
  const Admission& admission_;
};

}  // namespace steelyard
