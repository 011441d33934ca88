// Records are read back as written; the first truncated or damaged record ends the journal.
#include "protocol/journal.h"

#include <gtest/gtest.h>

#include "protocol/codec.h"

namespace steelyard::journal_test {
namespace {

constexpr NodeId worker{Role::worker, 7};

template <class Content>
Heard heard(NodeId from, Content content) {
  return {{from, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(content))}};
}

std::vector<std::byte> some_journal() {
  JournalHead head{"this build", Job{}, {}, "tcp://127.0.0.1:7070", "recorded"};
  head.from.version = 3;
  head.from.policy_state = std::string("a\0b", 3);
  std::vector<std::byte> journal;
  append(journal, {Time{Duration(1)}, head});
  append(journal, {Time{Duration(2)}, heard(worker, Goodbye{"why"})});
  append(journal, {Time{Duration(3)}, heard(link_node, Disconnected{worker})});
  append(journal, {Time{Duration(4)}, heard(worker, VersionMismatch{9})});
  append(journal, {Time{Duration(5)}, heard(link_node, Interrupt{"no more"})});
  append(journal, {Time{Duration(5)}, heard(link_node, Interrupt{{}, true})});
  append(journal, {Time{Duration(6)}, Woken{}});
  append(journal, {Time{Duration(6)}, Condensed{"state"}});
  append(journal, {Time{Duration(7)}, Restarted{}});
  return journal;
}

template <class Content>
Content content_of(const std::optional<JournalRecord>& record, NodeId from) {
  const Envelope& it = std::get<Heard>(record.value().what).envelope;
  EXPECT_EQ(it.from, from);
  EXPECT_EQ(it.to, scheduler_node);
  return std::get<Content>(std::get<ToScheduler>(it.message));
}

TEST(Journal, RecordsAreReadBackAsWritten) {
  const std::vector<std::byte> journal = some_journal();
  JournalReader reader(journal);
  const auto first = reader.next();
  const auto& head = std::get<JournalHead>(first.value().what);
  EXPECT_EQ(first->now, Time{Duration(1)});
  EXPECT_EQ(head.build, "this build");
  EXPECT_EQ(fingerprint(*head.job), fingerprint(Job{}));
  EXPECT_EQ(head.from.version, 3U);
  EXPECT_EQ(head.from.policy_state, std::string("a\0b", 3));
  EXPECT_EQ(head.remarks, "tcp://127.0.0.1:7070");
  EXPECT_EQ(head.record, "recorded");
  EXPECT_EQ(content_of<Goodbye>(reader.next(), worker).failure, "why");
  EXPECT_EQ(content_of<Disconnected>(reader.next(), link_node).node, worker);
  EXPECT_EQ(content_of<VersionMismatch>(reader.next(), worker).protocol, 9U);
  EXPECT_EQ(content_of<Interrupt>(reader.next(), link_node).failure, "no more");
  EXPECT_TRUE(content_of<Interrupt>(reader.next(), link_node).save_only);
  EXPECT_TRUE(std::holds_alternative<Woken>(reader.next().value().what));
  EXPECT_EQ(std::get<Condensed>(reader.next().value().what).state, "state");
  const auto last = reader.next();
  EXPECT_TRUE(std::holds_alternative<Restarted>(last.value().what));
  EXPECT_EQ(last->now, Time{Duration(7)});
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.read(), journal.size());
}

// A reader that trusted this length would wait for gigabytes.
TEST(Journal, AnOverlongRecordCountsAsDamage) {
  std::vector<std::byte> journal(64, std::byte{0xff});
  JournalReader reader(journal);
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.damaged());
}

// Initial weights are collected before a scheduler exists, so it ignores their values.
TEST(Journal, PayloadsAreNotRecorded) {
  std::vector<std::byte> journal;
  append(journal, {Time{}, heard(worker, Weights{{0, 1000}, Blob::copy_of(std::vector<float>(1000))})});
  EXPECT_LT(journal.size(), 100U);
  JournalReader reader(journal);
  EXPECT_EQ(content_of<Weights>(reader.next(), worker).floats, (Interval{0, 1000}));
}

TEST(Journal, ATruncatedLastRecordIsIgnored) {
  const std::vector<std::byte> whole = some_journal();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    JournalReader reader({whole.data(), size});
    std::size_t records = 0;
    while (reader.next()) ++records;
    EXPECT_LT(records, 9U);
    EXPECT_LE(reader.read(), size);
    EXPECT_FALSE(reader.damaged()) << "truncation is not damage: size " << size;
    JournalReader again({whole.data(), reader.read()});
    for (std::size_t i = 0; i < records; ++i)
      EXPECT_TRUE(again.next()) << "complete records must stay readable";
  }
}

// Nothing else can be read of another release's journal: tests/package/former_release_test.py has such ones.
TEST(Journal, TheBuildOfTheWriterIsReadAlone) {
  std::vector<std::byte> journal = some_journal();
  EXPECT_EQ(JournalReader(journal).build(), "this build");
  EXPECT_EQ(JournalReader({}).build(), "");
  journal[20] ^= std::byte{1};
  EXPECT_EQ(JournalReader(journal).build(), "") << "its first record is damaged";
}

TEST(Journal, ReadingStopsBeforeADamagedRecord) {
  const std::vector<std::byte> whole = some_journal();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] ^= std::byte{0x10};
    JournalReader reader(damaged);
    std::size_t records = 0;
    while (reader.next()) ++records;
    EXPECT_LT(records, 9U) << "byte " << at;
    EXPECT_LE(reader.read(), at);
  }
}

}  // namespace
}  // namespace steelyard::journal_test
