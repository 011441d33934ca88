#include "core/lasting_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer_pool.h"
#include "core/flat_pool.h"

namespace steelyard::lasting_memory_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Records what is attached and undone.
struct LastingMemoryTest : testing::Test {
  struct Noted final : LastingMemory::Attachment {
    explicit Noted(std::vector<std::string>& its_log) : log(its_log) { log.emplace_back("made"); }
    ~Noted() override { log.emplace_back("undone"); }
    std::vector<std::string>& log;
  };
  LastingMemory::Attach attach = [this](const LastingMemory::Range& range) {
    asked = range;
    return refuses ? nullptr : std::make_unique<Noted>(log);
  };
  bool attached(const void* data, std::size_t bytes, bool to_write = true) {
    return LastingMemory::attached(data, bytes, to_write, attach);
  }

  std::array<std::byte, 100> memory{};
  std::vector<std::string> log;
  LastingMemory::Range asked{};
  bool refuses = false;
};

TEST_F(LastingMemoryTest, IsAttachedOnceAndAsAWhole) {
  std::optional<LastingMemory> lasting(std::in_place, memory.data(), memory.size(), true);
  EXPECT_THAT(log, IsEmpty()) << "only when it is asked for";
  EXPECT_TRUE(attached(memory.data() + 10, 5));
  EXPECT_EQ(asked.data, memory.data());
  EXPECT_EQ(asked.bytes, 100U);
  EXPECT_TRUE(attached(memory.data(), 100));
  EXPECT_TRUE(attached(memory.data() + 100, 0));
  EXPECT_THAT(log, ElementsAre("made"));
  lasting.reset();
  EXPECT_THAT(log, ElementsAre("made", "undone"));
  EXPECT_FALSE(attached(memory.data(), 1)) << "it may be freed now";
}

TEST_F(LastingMemoryTest, OnlyWhatWasAnnouncedIsAttached) {
  const LastingMemory first(memory.data() + 10, 20, true), second(memory.data() + 50, 20, true);
  EXPECT_FALSE(attached(memory.data() + 9, 2));
  EXPECT_FALSE(attached(memory.data() + 29, 2));
  EXPECT_FALSE(attached(memory.data() + 31, 2));
  EXPECT_FALSE(attached(memory.data() + 10, SIZE_MAX));
  EXPECT_FALSE(attached(memory.data() + 10, 60)) << "a range spans two";
  EXPECT_THAT(log, IsEmpty());
  EXPECT_TRUE(attached(memory.data() + 69, 1));
  EXPECT_EQ(asked.data, memory.data() + 50);
}

TEST_F(LastingMemoryTest, WhatCannotBeWrittenCanOnlyBeRead) {
  const LastingMemory lasting(memory.data(), memory.size(), false);
  EXPECT_FALSE(attached(memory.data(), 1, true));
  EXPECT_TRUE(attached(memory.data(), 1, false));
  EXPECT_FALSE(asked.writable);
}

TEST_F(LastingMemoryTest, ARefusalIsFinal) {
  const LastingMemory lasting(memory.data(), memory.size(), true);
  refuses = true;
  EXPECT_FALSE(attached(memory.data(), 1));
  refuses = false;
  EXPECT_FALSE(attached(memory.data(), 1)) << "each attempt may take long";
}

// A buffer that returns to its pool stays announced: it will be taken again.
TEST_F(LastingMemoryTest, BuffersOfPoolsLast) {
  {
    BufferPool pool(10);
    for (int i = 0; i < 2; ++i) {
      const auto buffer = pool.take();
      EXPECT_TRUE(attached(buffer->data(), 10 * sizeof(float)));
    }
    EXPECT_THAT(log, ElementsAre("made"));
  }
  EXPECT_THAT(log, ElementsAre("made", "undone"));
}

TEST_F(LastingMemoryTest, BuffersOfFlatPoolsLast) {
  {
    FlatPool pool(Memory::own);
    const FlatPool::Part first = pool.take(10, 0, 4, 1), second = pool.take(10, 4, 6, 1);
    EXPECT_TRUE(attached(first.values.data(), 10 * sizeof(float))) << "both parts of the version";
    EXPECT_THAT(log, ElementsAre("made"));
  }
  EXPECT_THAT(log, ElementsAre("made", "undone"));
}

}  // namespace
}  // namespace steelyard::lasting_memory_test
