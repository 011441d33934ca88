#include "protocol/authority.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/protocol/made_messages.h"

namespace steelyard::test::authority_test {
namespace {

constexpr Role roles[] = {Role::scheduler, Role::shard,   Role::worker,   Role::checkpointer,
                          Role::standby,   Role::compute, Role::recorder, Role::link};

// A key is for one role; the checkpointer is in the scheduler's process. Pseudo-nodes have none.
TEST(Authority, AKeySpeaksAsItsOwnRoleAlone) {
  const std::map<KeyRole, std::set<Role>> may{
      {KeyRole::scheduler, {Role::scheduler, Role::checkpointer, Role::standby}},
      {KeyRole::server, {Role::shard}},
      {KeyRole::worker, {Role::worker}}};
  for (const auto& [key, all] : may)
    for (const Role role : roles) EXPECT_EQ(may_be(key, role), all.contains(role)) << name(key) << name(role);
}

// What a shard hears it forwards to its mirror; what is only in there nobody says to another.
bool is_between_shards(const Message& message) {
  const auto* said = std::get_if<ToShard>(&message);
  return said != nullptr &&
         (std::holds_alternative<Replicate>(*said) || std::holds_alternative<ReplicateAck>(*said) ||
          std::holds_alternative<IdleTick>(*said));
}

// What travels is some role's business, and never its receiver's own.
TEST(Authority, EveryMessageHasASpeakerAndNoneSpeaksToItself) {
  for (const MadeMessage& made : messages_of_every_kind(1)) {
    std::set<Role> speakers;
    for (const Role role : roles) {
      if (may_say(role, made.message)) speakers.insert(role);
    }
    if (is_between_shards(made.message)) {
      const auto& said = std::get<ToShard>(made.message);
      const std::set<Role> none, shards{Role::shard};
      EXPECT_EQ(speakers, std::holds_alternative<IdleTick>(said) ? none : shards);
      continue;
    }
    EXPECT_FALSE(speakers.empty()) << made.name();
    EXPECT_LE(speakers.size(), 2U) << made.name();
    EXPECT_FALSE(speakers.contains(made.receiver)) << made.name();
    for (const Role pseudo : {Role::compute, Role::recorder, Role::link}) {
      EXPECT_FALSE(speakers.contains(pseudo)) << made.name();
    }
  }
}

template <class Receiver, class Said>
Message message(Said said) {
  return Message(std::in_place_type<Receiver>, said);
}

TEST(Authority, OnlyTheSchedulerDecides) {
  for (const Role role : {Role::shard, Role::worker, Role::checkpointer, Role::standby}) {
    EXPECT_FALSE(may_say(role, message<ToShard>(Welcome{})));
    EXPECT_FALSE(may_say(role, message<ToShard>(BeginRound{})));
    EXPECT_FALSE(may_say(role, message<ToShard>(Stop{})));
    EXPECT_FALSE(may_say(role, message<ToWorker>(Start{})));
  }
  EXPECT_TRUE(may_say(Role::scheduler, message<ToShard>(BeginRound{})));
}

TEST(Authority, StateComesFromTheCheckpointerAndSumsFromShards) {
  EXPECT_TRUE(may_say(Role::checkpointer, message<ToShard>(StateChunk{})));
  EXPECT_FALSE(may_say(Role::worker, message<ToShard>(StateChunk{})));
  EXPECT_TRUE(may_say(Role::checkpointer, message<ToShard>(StateOffer{})));
  EXPECT_FALSE(may_say(Role::worker, message<ToCheckpointer>(StateRequest{})));
  EXPECT_TRUE(may_say(Role::shard, message<ToCheckpointer>(NotYet{})));
  EXPECT_TRUE(may_say(Role::shard, message<ToScheduler>(Closed{})));
  EXPECT_FALSE(may_say(Role::worker, message<ToScheduler>(Closed{})));
  EXPECT_FALSE(may_say(Role::worker, message<ToScheduler>(Saved{})));
}

TEST(Authority, WhatIsSaidOnOneMachineIsNeverBelievedFromAWire) {
  for (const Role role : roles) {
    EXPECT_FALSE(may_say(role, message<ToWorker>(Computed{})));
    EXPECT_FALSE(may_say(role, message<ToWorker>(MachineLeft{})));
    EXPECT_FALSE(may_say(role, message<ToScheduler>(Disconnected{})));
    EXPECT_FALSE(may_say(role, message<ToScheduler>(Interrupt{})));
    EXPECT_FALSE(may_say(role, message<ToCompute>(Abandon{})));
  }
}

}  // namespace
}  // namespace steelyard::test::authority_test
