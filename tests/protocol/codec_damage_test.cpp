// Untrusted bytes: every defect must be detected, reported and cheap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/protocol/counted_memory.h"
#include "tests/protocol/made_messages.h"
#include "tests/support/numbers_in.h"

namespace steelyard::codec_damage_test {
namespace {

using test::MadeMessage;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;
using Decoded = std::variant<Message, VersionMismatch, Damage>;

std::string damage_of(const Decoded& decoded) {
  const auto* damage = std::get_if<Damage>(&decoded);
  return damage == nullptr ? "(none)" : damage->why;
}

Bytes header_of(const Message& message) { return encode(message).header; }

template <class Receiver, class Content>
Bytes header_of(Content content) {
  return header_of(Message(std::in_place_type<Receiver>, std::move(content)));
}

TEST(CodecDamage, EveryTruncationOfEveryMessageIsRefused) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const MadeMessage& made : test::messages_of_every_kind(seed)) {
      const Frames frames = encode(made.message);
      for (std::size_t length = 0; length < frames.header.size(); ++length) {
        const auto decoded =
            decode(made.receiver, std::span(frames.header).first(length), frames.payload.value_or(Blob()));
        ASSERT_TRUE(std::holds_alternative<Damage>(decoded)) << made.name() << " cut to " << length;
      }
    }
  }
}

// A worker's loss and a shard's norms may be infinite. (Load that a worker cannot measure is reported as -1.)
bool may_be_infinite(const Message& message) {
  const auto* to_scheduler = std::get_if<ToScheduler>(&message);
  return to_scheduler != nullptr &&
         (std::holds_alternative<Report>(*to_scheduler) || std::holds_alternative<Covered>(*to_scheduler) ||
          std::holds_alternative<WorkerBeat>(*to_scheduler));
}

TEST(CodecDamage, NonFiniteNumbersAreRefused) {
  int refused = 0;
  for (MadeMessage& made : test::messages_of_every_kind(3)) {
    std::visit(
        [&](auto& receiver) {
          std::visit(
              [&]<class Content>(Content& content) {
                if constexpr (requires(test::NumbersIn & archive) { content.serialize(archive); }) {
                  for (double* real : test::NumbersIn(content).reals) {
                    for (const double number : {std::nan(""), double{INFINITY}}) {
                      const double sound = std::exchange(*real, number);
                      const Frames frames = encode(made.message);
                      const auto decoded =
                          decode(made.receiver, frames.header, frames.payload.value_or(Blob()));
                      if (std::holds_alternative<Damage>(decoded)) ++refused;
                      EXPECT_TRUE(std::holds_alternative<Damage>(decoded) || may_be_infinite(made.message))
                          << made.name();
                      *real = sound;
                    }
                  }
                }
              },
              receiver);
        },
        made.message);
  }
  EXPECT_GT(refused, 10);
}

TEST(CodecDamage, SurplusBytesAreRefused) {
  for (const MadeMessage& made : test::messages_of_every_kind(3)) {
    Frames frames = encode(made.message);
    frames.header.push_back(std::byte{0});
    EXPECT_NE(damage_of(decode(made.receiver, frames.header, frames.payload.value_or(Blob()))), "(none)")
        << made.name();
  }
}

TEST(CodecDamage, AnUnexpectedPayloadIsRefused) {
  const Blob surplus = Blob::copy_of(std::vector{1.0F});
  int checked = 0;
  for (const MadeMessage& made : test::messages_of_every_kind(3)) {
    const Frames frames = encode(made.message);
    if (frames.payload) continue;
    ++checked;
    EXPECT_THAT(damage_of(decode(made.receiver, frames.header, surplus)), HasSubstr("payload"))
        << made.name();
  }
  EXPECT_GT(checked, 25);
}

TEST(CodecDamage, AMissingPayloadDecodesToAnEmptyBlob) {
  int checked = 0;
  for (const MadeMessage& made : test::messages_of_every_kind(3)) {
    const Frames frames = encode(made.message);
    if (!frames.payload) continue;
    const auto decoded = decode(made.receiver, frames.header, {});
    ASSERT_TRUE(std::holds_alternative<Message>(decoded)) << made.name();
    const Frames again = encode(std::get<Message>(decoded));
    EXPECT_TRUE(again.payload.value().empty()) << made.name();
    ++checked;
  }
  EXPECT_EQ(checked, 9)
      << "Weights, StateChunk, Push, PutState, Replicate, Parameters, State, and WorkerState for two roles";
}

TEST(CodecDamage, MessagesForAnotherRoleAreRefused) {
  for (const MadeMessage& made : test::messages_of_every_kind(4)) {
    const Bytes header = header_of(made.message);
    for (const Role role : {Role::scheduler, Role::shard, Role::worker, Role::checkpointer, Role::standby,
                            Role::compute, Role::link}) {
      if (role == made.receiver) continue;
      EXPECT_THAT(damage_of(decode(role, header, {})), HasSubstr("another role")) << made.name();
    }
  }
}

TEST(CodecDamage, RolesWithoutAConnectionReceiveNothing) {
  for (const Role role : {Role::compute, Role::recorder, Role::link}) {
    Bytes header = header_of<ToScheduler>(Ready{});
    header[4] = static_cast<std::byte>(role);
    EXPECT_THAT(damage_of(decode(role, header, {})), HasSubstr("no connection"));
  }
}

TEST(CodecDamage, UnknownAndLocalKindsAreRefused) {
  std::size_t local = 0, unknown = 0;
  for (const Role role : {Role::scheduler, Role::shard, Role::worker, Role::checkpointer, Role::standby}) {
    for (unsigned kind = 0; kind < 256; ++kind) {
      Bytes header{std::byte{'S'},
                   std::byte{'Y'},
                   static_cast<std::byte>(protocol_version & 0xff),
                   static_cast<std::byte>(protocol_version >> 8),
                   static_cast<std::byte>(role),
                   static_cast<std::byte>(kind)};
      header.resize(400);
      const std::string why = damage_of(decode(role, header, {}));
      EXPECT_NE(why, "(none)") << "400 bytes are longer than the fields of any message of zeros";
      local += why.find("never travels") != std::string::npos ? 1U : 0U;
      unknown += why.find("no known kind") != std::string::npos ? 1U : 0U;
    }
  }
  EXPECT_EQ(local, 3U + 3U + 15U + 3U + 4U)
      << "Disconnected, VersionMismatch and Interrupt for each; workers also have "
         "GradientReady, ComputeProgress, CutTried, Computed, TrialTooLarge, MachineLeft, MachineReading, "
         "EndRequested, StepTaken, StateWritten and StateLost; "
         "workers, the checkpointer and a standby have Unreachable";
  const std::size_t known = std::variant_size_v<ToScheduler> + std::variant_size_v<ToShard> +
                            std::variant_size_v<ToWorker> + std::variant_size_v<ToCheckpointer> +
                            std::variant_size_v<ToStandby>;
  EXPECT_EQ(unknown, 5U * 256U - known);
}

TEST(CodecDamage, AnotherProtocolVersionIsReported) {
  Bytes header = header_of<ToScheduler>(Ready{});
  header[2] = std::byte{0x34};
  header[3] = std::byte{0x12};
  for (const std::size_t length : {4U, 5U, 6U}) {
    const auto decoded = decode(Role::scheduler, std::span(header).first(length), {});
    ASSERT_TRUE(std::holds_alternative<VersionMismatch>(decoded));
    EXPECT_EQ(std::get<VersionMismatch>(decoded).protocol, 0x1234U);
  }
  header[0] = std::byte{'s'};
  EXPECT_EQ(damage_of(decode(Role::scheduler, header, {})), "is not ours");
}

TEST(CodecDamage, EnumeratorsOutOfRangeAreRefused) {
  // `at`: the offset of the enumerator, after the six bytes of the start and the fields before it.
  struct Case {
    const char* what;
    Role role;
    Bytes header;
    std::size_t at;
    unsigned last;
  };
  const std::vector<Case> cases{
      {"Refuse.reason", Role::worker, header_of<ToWorker>(Refuse{}), 6,
       static_cast<unsigned>(Refusal::replaced)},
      {"Start.purpose", Role::worker, header_of<ToWorker>(Start{}), 6 + 24, 1},
      {"Report.purpose", Role::scheduler, header_of<ToScheduler>(Report{}), 6 + 24, 1},
      {"Stop.outcome", Role::shard, header_of<ToShard>(Stop{}), 6,
       static_cast<unsigned>(Outcome::worker_failed)},
      {"GradientRejected.worker", Role::scheduler, header_of<ToScheduler>(GradientRejected{}), 6 + 97,
       static_cast<unsigned>(Role::link)},
  };
  for (const Case& it : cases) {
    for (unsigned value = 0; value < 256; ++value) {
      Bytes header = it.header;
      header.at(it.at) = static_cast<std::byte>(value);
      const auto decoded = decode(it.role, header, {});
      EXPECT_EQ(std::holds_alternative<Message>(decoded), value <= it.last) << it.what << " = " << value;
    }
  }
}

TEST(CodecDamage, AZeroGrainOrLabelCountIsRefused) {
  for (std::uint32_t ModelDescription::*field : {&ModelDescription::grain, &ModelDescription::labels}) {
    ModelDescription model;
    model.*field = 0;
    EXPECT_THAT(damage_of(decode(Role::scheduler, header_of<ToScheduler>(model), {})),
                HasSubstr("invalid 0"));
  }
}

TEST(CodecDamage, BooleansAreZeroOrOne) {
  Bytes header =
      header_of<ToShard>(BeginRound{});  // clip_barrier, save, 24 bytes of local steps, 4 of skipped
  for (unsigned value = 0; value < 256; ++value) {
    header.at(header.size() - 29) = static_cast<std::byte>(value);
    EXPECT_EQ(std::holds_alternative<Message>(decode(Role::shard, header, {})), value <= 1) << value;
  }
}

TEST(CodecDamage, AHugeLengthAllocatesLittle) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const MadeMessage& made : test::messages_of_every_kind(seed)) {
      const Frames frames = encode(made.message);
      for (std::size_t at = 6; at + 4 <= frames.header.size(); ++at) {
        Bytes header = frames.header;
        std::memset(&header[at], 0xff, 4);
        test::start_counting();
        (void)decode(made.receiver, header, frames.payload.value_or(Blob()));
        ASSERT_LT(test::counted().largest, 64 * header.size() + 1024) << made.name() << ", at byte " << at;
      }
    }
  }
}

TEST(CodecDamage, APlausibleLengthAllocatesAtMostItsElements) {
  // Sets each length to exactly the number of bytes after it; each element takes more than one byte.
  for (const MadeMessage& made : test::messages_of_every_kind(2)) {
    const Frames frames = encode(made.message);
    Bytes start = frames.header;
    for (std::size_t at = 6; at + 4 <= start.size(); ++at) {
      Bytes header(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(at));
      constexpr std::uint32_t left = 4000;
      header.resize(at + 4 + left);
      std::memcpy(&header[at], &left, 4);
      test::start_counting();
      (void)decode(made.receiver, header, frames.payload.value_or(Blob()));
      // A vector is allocated before its elements are read: at most the largest element (TensorPlace)
      // per byte.
      ASSERT_LE(test::counted().largest, (sizeof(TensorPlace) + 8) * header.size())
          << made.name() << ", at byte " << at;
    }
  }
}

TEST(CodecDamage, RandomDamageIsDecodedOrRefused) {
  Random random(12);
  std::size_t refused = 0, accepted = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const MadeMessage& made : test::messages_of_every_kind(seed)) {
      const Frames frames = encode(made.message);
      for (int i = 0; i < 20; ++i) {
        Bytes header = frames.header;
        for (std::uint64_t n = 0; n <= random.below(3); ++n) {
          header[random.below(header.size())] = static_cast<std::byte>(random.next());
        }
        const auto decoded = decode(made.receiver, header, frames.payload.value_or(Blob()));
        if (const auto* message = std::get_if<Message>(&decoded)) {
          ++accepted;
          (void)encode(*message);  // every accepted message can be encoded again
        } else {
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(accepted, 1000U) << "a changed number is often still a valid number";
}

}  // namespace
}  // namespace steelyard::codec_damage_test
