// Members of a job by the notes of its scheduler.
#include "app/report/run/run_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/run/made_run.h"

namespace steelyard::run_notes_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(RunNotes, TheLastNoteOfAWorkerCounts) {
  MadeRun made;
  made.note("worker 'a' joined").note("worker 'b' joined").note("worker 'a' left").note("server 'b' joined");
  EXPECT_THAT(last_notes(made.record()), ElementsAre(Pair("a", "left"), Pair("b", "joined")));
}

TEST(RunNotes, ServersWithAndWithoutAMirror) {
  MadeRun made;
  made.note("server 's0' mirrors 's1'").note("server 's1' mirrors 's0'");
  EXPECT_THAT(mirrored_servers(made.record()), ElementsAre("s0", "s1"));
  EXPECT_THAT(servers_without_mirror(made.record()), IsEmpty());
  made.note("mirror 's0' does not answer; 's1' continues without a mirror");
  EXPECT_THAT(mirrored_servers(made.record()), ElementsAre("s0"));
  EXPECT_THAT(servers_without_mirror(made.record()), ElementsAre("s1"));
  made.note("server 's0' is lost; its mirror 's1' is in its place, without a mirror of its own");
  EXPECT_THAT(mirrored_servers(made.record()), IsEmpty());
  EXPECT_THAT(servers_without_mirror(made.record()), ElementsAre("s1"));
  made.note("server 's2' mirrors 's1'");
  EXPECT_THAT(mirrored_servers(made.record()), ElementsAre("s1"));
  EXPECT_THAT(servers_without_mirror(made.record()), IsEmpty());
  made.note("mirror 's2' has fallen behind 's1': refilling it in 4 s");
  EXPECT_THAT(mirrored_servers(made.record()), IsEmpty());
  EXPECT_THAT(servers_without_mirror(made.record()), ElementsAre("s1"));
}

}  // namespace
}  // namespace steelyard::run_notes_test
