#include "transport/security/peer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace steelyard::peer_table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr NodeId ada{Role::worker, 1}, bob{Role::worker, 2};
const std::string key_of_ada(key_letters, 'a'), key_of_bob(key_letters, 'b'), unknown(key_letters, 'u');
const AllowList both{{key_of_ada, {KeyRole::worker, "ada"}}, {key_of_bob, {KeyRole::worker, "bob"}}};
constexpr int no_socket = 1'000'000;  // no such descriptor, so nothing is closed

Received from(NodeId node, std::uint64_t socket, int descriptor, const std::string& key = "") {
  Received it;
  it.from = node;
  it.identity = routing_id(node, socket, scheduler_node);
  it.descriptor = descriptor;
  it.key = key;
  return it;
}

SocketEvent accepted(int descriptor) { return {ZMQ_EVENT_ACCEPTED, descriptor}; }
SocketEvent ended(int descriptor) { return {ZMQ_EVENT_DISCONNECTED, descriptor}; }

TEST(PeerTable, APeerIsLostWithItsLastConnection) {
  PeerTable peer_table;
  EXPECT_FALSE(peer_table.remember(from(ada, 0, 10)));
  EXPECT_THAT(peer_table.take({accepted(10), accepted(11)}), IsEmpty());
  EXPECT_FALSE(peer_table.remember(from(ada, 1, 11))) << "over another connection";
  EXPECT_THAT(peer_table.take({ended(10)}), IsEmpty());
  EXPECT_TRUE(peer_table.find(ada));
  EXPECT_THAT(peer_table.take({ended(11)}), ElementsAre(ada));
  EXPECT_FALSE(peer_table.find(ada));
}

TEST(PeerTable, AServerIsLostOnceItsOwnSystemClosesTheConnection) {
  PeerTable peer_table(Traffic::control);
  const NodeId left{Role::shard, 1}, right{Role::shard, 2};
  int near[2], far[2];  // of left and right: {ours, theirs}
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, near) + socketpair(AF_UNIX, SOCK_STREAM, 0, far), 0);
  EXPECT_THAT(peer_table.take({accepted(near[0]), accepted(far[0])}), IsEmpty());
  EXPECT_FALSE(peer_table.remember(from(left, 0, near[0])));
  EXPECT_FALSE(peer_table.remember(from(right, 0, far[0])));
  close(near[1]);
  for (const int ours : {near[0], far[0]}) close(ours);  // as libzmq does
  EXPECT_THAT(peer_table.take({ended(near[0])}), ElementsAre(left));
  EXPECT_THAT(peer_table.take({ended(far[0])}), IsEmpty()) << "it may only be stopped";
  EXPECT_FALSE(peer_table.find(right)) << "it has no connection any more";
  char byte = 0;
  EXPECT_EQ(read(far[1], &byte, 1), 0) << "its end of the connection is closed";
  close(far[1]);
}

TEST(PeerTable, AReusedDescriptorBelongsToItsNewPeer) {
  PeerTable peer_table;
  EXPECT_THAT(peer_table.take({accepted(10)}), IsEmpty());
  EXPECT_FALSE(peer_table.remember(from(ada, 0, 10)));
  EXPECT_THAT(peer_table.take({}), IsEmpty());
  EXPECT_EQ(peer_table.remember(from(bob, 0, 10)), ada);
  EXPECT_THAT(peer_table.take({ended(10), accepted(10)}), IsEmpty()) << "the event of ada's disconnection";
  EXPECT_TRUE(peer_table.find(bob));
  EXPECT_THAT(peer_table.take({ended(10)}), ElementsAre(bob));
}

// The descriptor is reused, and the new peer's first message is read before both events.
TEST(PeerTable, ASilentClientsEndDoesNotRemoveItsSuccessor) {
  PeerTable peer_table;
  EXPECT_THAT(peer_table.take({accepted(10)}), IsEmpty()) << "the silent client";
  EXPECT_FALSE(peer_table.remember(from(bob, 0, 10)));
  EXPECT_THAT(peer_table.take({ended(10), accepted(10)}), IsEmpty());
  EXPECT_TRUE(peer_table.find(bob));
  EXPECT_THAT(peer_table.take({ended(10)}), ElementsAre(bob));
}

TEST(PeerTable, APeersEndIsNotedAlthoughItsDescriptorIsReused) {
  PeerTable peer_table;
  EXPECT_FALSE(peer_table.remember(from(bob, 0, 10)));
  EXPECT_THAT(peer_table.take({accepted(10)}), IsEmpty());
  EXPECT_THAT(peer_table.take({ended(10), accepted(10)}), ElementsAre(bob));
  EXPECT_THAT(peer_table.take({ended(10)}), IsEmpty());
}

TEST(PeerTable, AReconnectionWithTheSameDescriptorIsNoLoss) {
  PeerTable peer_table;
  EXPECT_FALSE(peer_table.remember(from(bob, 0, 10)));
  EXPECT_THAT(peer_table.take({accepted(10)}), IsEmpty());
  EXPECT_FALSE(peer_table.remember(from(bob, 1, 10)));
  EXPECT_THAT(peer_table.take({ended(10), accepted(10)}), IsEmpty());
  EXPECT_TRUE(peer_table.find(bob));
}

TEST(PeerTable, ASecondRefusalNamesTheConnectionToClose) {
  PeerTable peer_table;
  EXPECT_FALSE(peer_table.refused(ada)) << "an unknown peer";
  EXPECT_FALSE(peer_table.remember(from(ada, 0, 10)));
  EXPECT_FALSE(peer_table.refused(ada));
  EXPECT_EQ(peer_table.refused(ada), 10);
  EXPECT_FALSE(peer_table.remember(from(ada, 1, 11))) << "another connection resets the count";
  EXPECT_FALSE(peer_table.refused(ada));
  EXPECT_EQ(peer_table.refused(ada), 11);
}

// Messages that it still sends must not delay other peers.
TEST(PeerTable, ATwiceRefusedPeerIsIgnoredUntilItReconnects) {
  PeerTable peer_table;
  peer_table.remember(from(ada, 0, 10));
  (void)peer_table.refused(ada);
  EXPECT_TRUE(peer_table.may_speak(from(ada, 0, 10), nullptr));
  (void)peer_table.refused(ada);
  EXPECT_FALSE(peer_table.may_speak(from(ada, 0, 10), nullptr));
  EXPECT_FALSE(peer_table.may_speak(from(ada, 0, 10, key_of_ada), &both));
  EXPECT_TRUE(peer_table.may_speak(from(ada, 1, 11), nullptr));
  peer_table.remember(from(ada, 1, 11));
  EXPECT_TRUE(peer_table.may_speak(from(ada, 1, 11), nullptr));
  EXPECT_FALSE(peer_table.may_speak(from(ada, 0, 10), nullptr)) << "late messages of the former connection";
  EXPECT_TRUE(peer_table.may_speak(from(bob, 0, 12), nullptr));
}

TEST(PeerTable, WithoutKeysAnyPeerMaySend) {
  const PeerTable peer_table;
  EXPECT_TRUE(peer_table.may_speak(from(ada, 0, 10), nullptr));
  EXPECT_FALSE(peer_table.may_speak(from(ada, 0, 10), &both)) << "with an allow-list a key is required";
}

TEST(PeerTable, AKeyIsValidForItsRoleAndItsOwnNodes) {
  PeerTable peer_table;
  const NodeId shard{Role::shard, 7};
  EXPECT_TRUE(peer_table.may_speak(from(ada, 0, 10, key_of_ada), &both));
  EXPECT_FALSE(peer_table.may_speak(from(ada, 0, 10, unknown), &both));
  EXPECT_FALSE(peer_table.may_speak(from(shard, 0, 10, key_of_ada), &both)) << "a worker's key";
  EXPECT_FALSE(peer_table.remember(from(ada, 0, 10, key_of_ada)));
  EXPECT_FALSE(peer_table.may_speak(from(ada, 1, 11, key_of_bob), &both)) << "another key owns ada";
  EXPECT_TRUE(peer_table.may_speak(from(ada, 1, 11, key_of_ada), &both));
}

TEST(PeerTable, RevokedPeersAreLost) {
  PeerTable peer_table;
  EXPECT_FALSE(peer_table.remember(from(ada, 0, no_socket, key_of_ada)));
  EXPECT_FALSE(peer_table.remember(from(bob, 0, no_socket + 1, key_of_bob)));
  AllowList left = both;
  left.erase(key_of_ada);
  EXPECT_THAT(peer_table.keep_only(left), ElementsAre(ada));
  EXPECT_FALSE(peer_table.find(ada));
  EXPECT_TRUE(peer_table.find(bob));
  EXPECT_THAT(peer_table.take({{ZMQ_EVENT_DISCONNECTED, no_socket}}), ElementsAre()) << "reported only once";
}

}  // namespace
}  // namespace steelyard::peer_table_test
