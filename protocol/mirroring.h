// What is said of mirrors: shards that hold what another one holds, and take its place when it is lost
// (server/mirror/replica.h, scheduler/members/mirrors.h).
#pragma once

#include <cstdint>
#include <string>

#include "protocol/blob.h"
#include "protocol/node.h"
#include "protocol/terms.h"

namespace steelyard {

// Scheduler -> shard: from now on this node is your mirror, or nobody is. What was forwarded under lower
// attempts does not count.
struct Mirror {
  Term term = 0;
  std::uint64_t attempt = 0;
  bool alone = true;  // nobody is
  NodeId node{};
  std::string endpoint{};
};
// Scheduler -> mirror: from now on this node is your primary, under this attempt. A mirror believes no other.
// Its next heartbeat has the attempt, and only then is the primary told of its mirror.
struct MirrorOf {
  Term term = 0;
  std::uint64_t attempt = 0;
  NodeId primary{};
};
// Scheduler -> mirror: the shard that you mirror is lost, and you are in its place.
struct Promote {
  Term term = 0;
};
// Shard -> its mirror: what I have heard, in this order. The first of an attempt begins with nothing loaded.
struct Forward {
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t sequence = 0;  // counted from 0 in each attempt
  NodeId from;                 // who said it to me
  std::string words{};         // the message, encoded (protocol/codec.h); empty: that node is gone
  Blob values{};               // its payload
};
struct ForwardAck {  // mirror -> shard: I have all below, and shall act on them whatever happens to you
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t below = 0;
};
// Shard -> itself, with each heartbeat while pushes are gathered.
struct Quiet {
  bool nothing_added = false;  // since the one before
};

// What a shard says of its mirror, in its heartbeats.
struct MirrorState {
  std::uint64_t attempt = 0;  // the last Mirror::attempt that it knows of
  bool filled = false;        // its mirror has all that it has, and it does nothing before that has it, too
  bool late = false;          // its mirror does not answer: it waits for a Mirror with a higher attempt
  bool fed = false;           // it is a mirror itself
};

}  // namespace steelyard
