#include "protocol/sync_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "core/error.h"
#include "protocol/job.h"
#include "protocol/modes/mode_entry.h"
#include "protocol/terms.h"

namespace steelyard::sync_mode_test {
namespace {

using ::testing::HasSubstr;

TEST(SyncMode, EachNameParsesToItsParameters) {
  EXPECT_EQ(parse_sync("bsp"), SyncMode());
  EXPECT_EQ(parse_sync("ssp:0"), SyncMode()) << "ssp without slack is bsp";
  EXPECT_EQ(parse_sync("flexrr"), (SyncMode{.steals_work = true}));
  EXPECT_EQ(parse_sync("backup:2"), (SyncMode{.backup = 2}));
  EXPECT_EQ(parse_sync("ssp:3"), (SyncMode{.slack = 3, .on_arrival = true}));
  const SyncMode asp = parse_sync("asp");
  EXPECT_TRUE(asp.on_arrival && asp.divide_by_push && asp.on_demand);
  EXPECT_EQ(asp.slack, most_open_rounds - 1);
  using Compensation = SyncMode::Compensation;
  for (const auto& [text, kind, lambda] : {std::tuple("dc-asgd", Compensation::constant, 0.04),
                                           {"dc-asgd:0.5", Compensation::constant, 0.5},
                                           {"dc-asgd:adaptive", Compensation::adaptive, 2.0},
                                           {"dc-asgd:adaptive:0", Compensation::adaptive, 0.0}}) {
    SyncMode mode = asp;
    mode.compensation = kind, mode.lambda = lambda;
    EXPECT_EQ(parse_sync(text), mode) << text;
  }
  SyncMode gathers = asp;
  gathers.quorum = {1, 2};
  EXPECT_EQ(parse_sync("eager"), gathers);
  gathers.quorum = {3, 0};
  EXPECT_EQ(parse_sync("ksoft:3"), gathers);
  gathers.quorum = {1, 4}, gathers.damped = true;
  EXPECT_EQ(parse_sync("nsoft:4"), gathers);
  SyncMode waits = asp;
  waits.wait = {3, 3};
  EXPECT_EQ(parse_sync("ksoft-wait:3"), waits);
  waits.wait = {3, 1};
  EXPECT_EQ(parse_sync("ksoft-wait:3:first"), waits);
  EXPECT_TRUE(waits.waits() && waits.gathers());
  SyncMode slows = asp;
  slows.slows_late = true;
  EXPECT_EQ(parse_sync("dynsgd"), slows);
  SyncMode switches = asp;
  switches.divide_by_push = false, switches.barrier_percent = 6.25;
  EXPECT_EQ(parse_sync("sync-switch:6.25"), switches);
  EXPECT_EQ(parse_sync("elastic-bsp:4"), (SyncMode{.on_arrival = true, .lookahead = 4}));
  EXPECT_EQ(parse_sync("local:8"), (SyncMode{.local = 8}));
  EXPECT_EQ(parse_sync("local:8:equal"), (SyncMode{.local = 8, .equal_weights = true}));
  EXPECT_EQ(parse_sync("oneshot:epoch"), (SyncMode{.local = 1, .span = SyncMode::Span::epoch}));
  EXPECT_EQ(parse_sync("oneshot:end:equal"),
            (SyncMode{.local = 1, .span = SyncMode::Span::job, .equal_weights = true}));
  EXPECT_EQ(parse_sync("diloco:64"), (SyncMode{.local = 64, .balanced = true}));
  EXPECT_EQ(parse_sync("mll:8:4:10:ring"),
            (SyncMode{.local = 8, .balanced = true, .hubs = {10, 4, Hubs::Graph::ring}}));
  EXPECT_EQ(parse_sync("orchestra"),
            (SyncMode{.local = 1, .balanced = true, .paced = true, .equal_weights = true}));
}

TEST(SyncMode, IsWrittenAsItWasParsed) {
  for (const char* text : {"bsp",
                           "flexrr",
                           "backup:1",
                           "backup:65535",
                           "ssp:1",
                           "ssp:1000",
                           "asp",
                           "dc-asgd",
                           "dc-asgd:0",
                           "dc-asgd:2",
                           "dc-asgd:adaptive",
                           "dc-asgd:adaptive:0.04",
                           "dynsgd",
                           "sync-switch:25",
                           "sync-switch:6.25",
                           "elastic-bsp:1",
                           "elastic-bsp:1000",
                           "nsoft:1",
                           "ksoft:4",
                           "eager",
                           "ksoft-wait:1",
                           "ksoft-wait:4",
                           "ksoft-wait:4:first",
                           "local:1",
                           "local:8:equal",
                           "oneshot:epoch",
                           "oneshot:epoch:equal",
                           "oneshot:end",
                           "oneshot:end:equal",
                           "diloco:1",
                           "diloco:500",
                           "orchestra",
                           "mll:1:1:1",
                           "mll:8:4:10",
                           "mll:1024:1048576:64:ring",
                           "mll:32:1:3:line"})
    EXPECT_EQ(sync_text(parse_sync(text)), text);
}

TEST(SyncMode, EveryModeEntryIsComplete) {
  for (const ModeEntry& entry : mode_entries()) {
    ASSERT_FALSE(entry.forms.empty());
    const std::string& form = entry.forms[0].text;
    EXPECT_GE(entry.tried.size(), entry.forms.size()) << form;
    for (const char* text : entry.tried) {
      const auto mode = entry.parse(text);
      ASSERT_TRUE(mode) << text;
      EXPECT_EQ(entry.parse(entry.write(*mode)), mode) << text;
      EXPECT_EQ(parse_sync(text), *mode) << text << ": a mode of lower rank parses it, too";
      EXPECT_EQ(sync_trouble(*mode, 3), "") << text << ": tests have three workers";
    }
    for (const char* text : {"", ":", "none", "bsp:"})
      EXPECT_FALSE(entry.parse(text)) << form << ": " << text;
  }
}

// Ten rounds an epoch; the first limit of the job counts.
TEST(SyncMode, APartOfTheRoundsHasABarrier) {
  Job job;
  job.train_samples = 95, job.global_batch = 10;
  job.epochs = 4, job.rounds = 0;
  const auto rounds = [&](const char* sync) {
    job.sync = parse_sync(sync);
    return rounds_with_barrier(job);
  };
  EXPECT_EQ(rounds("bsp"), 0U) << "other modes have no such part";
  EXPECT_EQ(rounds("sync-switch:25"), 10U);
  EXPECT_EQ(rounds("sync-switch:26"), 11U) << "rounded up";
  EXPECT_EQ(rounds("sync-switch:0.1"), 1U);
  job.rounds = 20;
  EXPECT_EQ(rounds("sync-switch:25"), 5U);
  job.epochs = 0;
  EXPECT_EQ(rounds("sync-switch:25"), 5U);
}

TEST(SyncMode, SlackBeginsAfterTheRoundsWithABarrier) {
  const SyncMode mode{.slack = 3};
  for (Round round = 0; round < 3; ++round) EXPECT_EQ(mode.slack_at(round, 3), 0U);
  EXPECT_EQ(mode.slack_at(3, 3), 0U) << "it follows the last barrier";
  EXPECT_EQ(mode.slack_at(4, 3), 1U);
  EXPECT_EQ(mode.slack_at(9, 3), 3U);
  EXPECT_EQ(mode.slack_at(2, 0), 2U) << "no version is below 0";
}

TEST(SyncMode, SharesAndHubsAreLimitedByTheWorkers) {
  EXPECT_EQ(sync_trouble(parse_sync("ksoft:3"), 3), "");
  EXPECT_EQ(sync_trouble(parse_sync("nsoft:9"), 3), "");
  EXPECT_THAT(sync_trouble(parse_sync("ksoft:4"), 3), HasSubstr("give ksoft:3 at most"));
  EXPECT_THAT(sync_trouble(parse_sync("ksoft-wait:4:first"), 3), HasSubstr("give ksoft-wait:3 at most"));
  EXPECT_EQ(sync_trouble(parse_sync("mll:8:4:3"), 3), "");
  EXPECT_THAT(sync_trouble(parse_sync("mll:8:4:4"), 3), HasSubstr("give 3 hubs at most"));
}

TEST(SyncMode, BackupLeavesAtLeastOneWorkerToWaitFor) {
  EXPECT_EQ(sync_trouble(parse_sync("backup:2"), 3), "");
  EXPECT_EQ(sync_trouble(parse_sync("backup:2"), 0), "") << "the number of workers is unknown";
  EXPECT_THAT(sync_trouble(parse_sync("backup:3"), 3), HasSubstr("give backup:2 at most"));
  EXPECT_THAT(sync_trouble(parse_sync("backup:1"), 1), HasSubstr("give bsp"));
}

const char* const invalid_barriers[] = {"",
                                        "BSP",
                                        "backup",
                                        "backup:0",
                                        "backup:65536",
                                        "backup:1:equal",
                                        "ssp",
                                        "ssp:",
                                        "ssp:-1",
                                        "ssp:2x",
                                        "ssp:1001",
                                        "ssp: 2",
                                        "asp:1",
                                        "dc-asgd:",
                                        "dc-asgd:-1",
                                        "dc-asgd:nan",
                                        "dc-asgdx",
                                        "dc-asgd:adaptive:",
                                        "dynsgd:1",
                                        "sync-switch",
                                        "sync-switch:",
                                        "sync-switch:0",
                                        "sync-switch:-5",
                                        "sync-switch:100",
                                        "sync-switch:nan",
                                        "sync-switch:25%",
                                        "elastic-bsp",
                                        "elastic-bsp:0",
                                        "elastic-bsp:1001"};

const char* const invalid_others[] = {
    "nsoft",      "nsoft:0",      "nsoft:10001",    "ksoft:0",           "eager:2",
    "ksoft-wait", "ksoft-wait:",  "ksoft-wait:0",   "ksoft-wait::first", "ksoft-wait:2:last",
    "local",      "local:0",      "local:1048577",  "oneshot",           "oneshot:job",
    "bsp:equal",  "flexrr:equal", "asp:equal",      "local:equal",       ":equal",
    "diloco",     "diloco:0",     "diloco:8:equal", "orchestra:2",       "orchestra:equal",
    "mll",        "mll:8",        "mll:8:4",        "mll:0:4:2",         "mll:8:0:2",
    "mll:8:4:0",  "mll:1025:4:2", "mll:8:4:65",     "mll:8:4:2:star",    "mll:8:4:2:line:3"};

TEST(SyncMode, InvalidModesAreRefusedWithTheChoices) {
  std::vector<const char*> all(std::begin(invalid_barriers), std::end(invalid_barriers));
  all.insert(all.end(), std::begin(invalid_others), std::end(invalid_others));
  for (const char* text : all) {
    EXPECT_FALSE(is_sync(text)) << text;
    try {
      parse_sync(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr("'" + std::string(text) + "'"));
      EXPECT_THAT(failure.what(), HasSubstr("ssp:S"));
    }
  }
}

}  // namespace
}  // namespace steelyard::sync_mode_test
