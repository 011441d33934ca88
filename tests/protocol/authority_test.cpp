#include "protocol/authority.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/protocol/made_messages.h"

namespace steelyard::test::authority_test {
namespace {

constexpr Role roles[] = {Role::scheduler, Role::shard,   Role::worker,   Role::checkpointer,
                          Role::standby,   Role::compute, Role::recorder, Role::link};

// A key belongs to one role. The checkpointer runs in the scheduler's process. Pseudo-nodes have no keys.
TEST(Authority, AKeyIsValidForItsRoleOnly) {
  const std::map<KeyRole, std::set<Role>> may{
      {KeyRole::scheduler, {Role::scheduler, Role::checkpointer, Role::standby}},
      {KeyRole::server, {Role::shard}},
      {KeyRole::worker, {Role::worker}}};
  for (const auto& [key, all] : may)
    for (const Role role : roles) EXPECT_EQ(may_be(key, role), all.contains(role)) << name(key) << name(role);
}

// Shards send these to their mirrors only; IdleTick exists only inside a forwarded message.
bool is_between_shards(const Message& message) {
  const auto* content = std::get_if<ToShard>(&message);
  return content != nullptr &&
         (std::holds_alternative<Replicate>(*content) || std::holds_alternative<ReplicateAck>(*content) ||
          std::holds_alternative<IdleTick>(*content));
}

// Every message that travels has one or two sender roles, and never the receiver's own.
TEST(Authority, EveryMessageHasSendersOtherThanItsReceiver) {
  for (const MadeMessage& made : messages_of_every_kind(1)) {
    std::set<Role> senders;
    for (const Role role : roles) {
      if (may_say(role, made.message)) senders.insert(role);
    }
    if (is_between_shards(made.message)) {
      const auto& content = std::get<ToShard>(made.message);
      const std::set<Role> none, shards{Role::shard};
      EXPECT_EQ(senders, std::holds_alternative<IdleTick>(content) ? none : shards);
      continue;
    }
    EXPECT_FALSE(senders.empty()) << made.name();
    EXPECT_LE(senders.size(), 2U) << made.name();
    EXPECT_FALSE(senders.contains(made.receiver)) << made.name();
    for (const Role pseudo : {Role::compute, Role::recorder, Role::link}) {
      EXPECT_FALSE(senders.contains(pseudo)) << made.name();
    }
  }
}

template <class Receiver, class Content>
Message message(Content content) {
  return Message(std::in_place_type<Receiver>, content);
}

TEST(Authority, OnlyTheSchedulerMayOpenRoundsAndStop) {
  for (const Role role : {Role::shard, Role::worker, Role::checkpointer, Role::standby}) {
    EXPECT_FALSE(may_say(role, message<ToShard>(Welcome{})));
    EXPECT_FALSE(may_say(role, message<ToShard>(BeginRound{})));
    EXPECT_FALSE(may_say(role, message<ToShard>(Stop{})));
    EXPECT_FALSE(may_say(role, message<ToWorker>(Start{})));
    EXPECT_FALSE(may_say(role, message<ToWorker>(TryOut{})));
  }
  EXPECT_TRUE(may_say(Role::scheduler, message<ToShard>(BeginRound{})));
}

TEST(Authority, OnlyTheirOwnersSendStateAndSums) {
  EXPECT_TRUE(may_say(Role::checkpointer, message<ToShard>(StateChunk{})));
  EXPECT_FALSE(may_say(Role::worker, message<ToShard>(StateChunk{})));
  EXPECT_TRUE(may_say(Role::checkpointer, message<ToShard>(StateOffer{})));
  EXPECT_FALSE(may_say(Role::worker, message<ToCheckpointer>(StateRequest{})));
  EXPECT_TRUE(may_say(Role::shard, message<ToCheckpointer>(NotYet{})));
  EXPECT_TRUE(may_say(Role::shard, message<ToScheduler>(Closed{})));
  EXPECT_FALSE(may_say(Role::worker, message<ToScheduler>(Closed{})));
  EXPECT_FALSE(may_say(Role::worker, message<ToScheduler>(Saved{})));
}

TEST(Authority, LocalMessagesAreNotAcceptedFromTheNetwork) {
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
