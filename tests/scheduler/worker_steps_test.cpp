// A job whose workers take the optimizer steps: orders to upload and load the state of the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/transcript_script.h"

namespace steelyard::worker_steps_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class WorkerSteps : public ::testing::Test {
 protected:
  // Ann trains alone. Ends before the training begins.
  void begin(const std::string& job) {
    script.run("job samples=64 batch=32 workers=1 shards=1 optimizer=worker " + job);
    for (const char* line : {"s1: Hello left", "k: Beat", "w1: Hello ann", "w1: Ready"}) script.run(line);
  }
  std::vector<std::string> run(const std::string& line) { return script.run(line); }

  test::Script script;
};

TEST_F(WorkerSteps, ALateWorkerLoadsTheStateOfTheFirst) {
  begin("epochs=2");
  run("s1: Beat loaded");
  run("w2: Hello bob");
  EXPECT_THAT(run("w2: NoState"),
              ElementsAre("w1 <- UploadState 2 of version 1", "w2 <- LoadState 2 of version 1"));
  EXPECT_THAT(run("w2: NoState loading=2"), ElementsAre("w2 <- LoadState 2 of version 1")) << "repeated";
  EXPECT_THAT(run("w1: Uploaded 2"), IsEmpty());
  EXPECT_THAT(run("w1: Report 1"), Not(Contains(StartsWith("w2 <- Start")))) << "it has no state yet";
  run("w2: Ready");
  EXPECT_THAT(run("w1: Report 2"), Contains(StartsWith("w2 <- Start round 2")));
}

TEST_F(WorkerSteps, OneStateIsUploadedAtATime) {
  begin("epochs=2");
  run("s1: Beat loaded");
  run("w2: Hello bob");
  run("w2: NoState");
  run("w1: Report 1");
  run("w3: Hello cid");
  EXPECT_THAT(run("w3: NoState"), IsEmpty()) << "bob loads an earlier version";
  run("w1: Uploaded 2");
  EXPECT_THAT(run("w3: NoState"),
              ElementsAre("w1 <- UploadState 3 of version 2", "w3 <- LoadState 3 of version 2"));
}

TEST_F(WorkerSteps, InAResumedJobTheStateOfTheCheckpointIsLoaded) {
  script.run("job samples=64 batch=32 epochs=2 version=2 epoch=1 workers=1 shards=1 optimizer=worker");
  for (const char* line : {"s1: Hello left", "k: Beat", "w1: Hello ann"}) run(line);
  EXPECT_THAT(run("w1: NoState"), ElementsAre("w1 <- LoadState 1 of version 2"));
  EXPECT_THAT(run("s1: Beat version=2 opened=2 loaded"), Not(Contains(StartsWith("w1 <- Start"))));
  EXPECT_THAT(run("w1: Ready"), Contains(StartsWith("w1 <- Start round 2")));
}

TEST_F(WorkerSteps, AStateLostBeforeAFreshTrainingIsPulledAgain) {
  begin("epochs=2");
  EXPECT_THAT(run("w1: NoState"), ElementsAre("w1 <- LoadState 0 of version 0"));
  EXPECT_THAT(run("s1: Beat loaded"), Not(Contains(StartsWith("w1 <- Start"))));
  EXPECT_THAT(run("w1: Ready"), Contains(StartsWith("w1 <- Start round 0")));
}

TEST_F(WorkerSteps, ACheckpointIsAnUpload) {
  begin("epochs=2 save=1");
  EXPECT_THAT(run("s1: Beat loaded"), Not(Contains(HasSubstr("UploadState"))));
  EXPECT_THAT(run("w1: Report 1"), Contains("w1 <- UploadState 2 of version 2")) << "the epoch's last round";
  EXPECT_THAT(run("w1: Report 2"), Contains(StartsWith("k <- Save version 2")));
  run("w1: Report 3");
  EXPECT_THAT(run("w1: Report 4"), Not(Contains(HasSubstr("UploadState")))) << "ordered with the round";
}

TEST_F(WorkerSteps, TheLastVersionIsUploaded) {
  begin("epochs=1");
  run("s1: Beat loaded");
  run("w1: Report 1");
  const auto sent = run("w1: Report 2");
  EXPECT_THAT(sent, Contains("w1 <- UploadState 2 of version 2"));
  EXPECT_THAT(sent, Contains(StartsWith("k <- Save version 2")));
}

class TwoWorkers : public WorkerSteps {
 protected:
  void SetUp() override {
    begin("epochs=2 save_rounds=1");
    run("w2: Hello bob");
    run("w2: Ready");
    EXPECT_THAT(run("s1: Beat loaded"), Contains("w1 <- UploadState 2 of version 1"));
  }
};

TEST_F(TwoWorkers, AnotherWorkerUploadsIfTheFirstIsLost) {
  EXPECT_THAT(run("lost w2"), Not(Contains(HasSubstr("UploadState"))));
  run("w2: Beat");
  EXPECT_THAT(run("lost w1"), Contains("w2 <- UploadState 3 of version 1"));
}

TEST_F(TwoWorkers, AnotherWorkerUploadsIfTheFirstLosesItsState) {
  EXPECT_THAT(run("w1: NoState"), Contains("w2 <- UploadState 3 of version 1"));
}

TEST_F(TwoWorkers, AFailedUploadIsRepeated) {
  EXPECT_THAT(run("w1: NotUploaded 2 later steps"),
              ElementsAre("* worker 'ann' has not uploaded its state: later steps",
                          "w1 <- UploadState 3 of version 1"));
  EXPECT_THAT(run("w1: Uploaded 2"), IsEmpty()) << "late";
  EXPECT_THAT(run("w1: Uploaded 3"), IsEmpty());
}

TEST_F(TwoWorkers, AWorkerThatLosesItsStateGetsNoPieces) {
  EXPECT_THAT(run("w1: NoState"), Contains(StartsWith("w2 <- Start round 0")));
  EXPECT_THAT(run("w2: NoState"), Contains(HasSubstr("no worker is left that has the model")));
}

}  // namespace
}  // namespace steelyard::worker_steps_test
