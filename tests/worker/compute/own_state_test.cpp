// The steps of a worker's own copy of the model, in the compute node.
#include "worker/compute/own_state.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "tests/support/memory_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/worker/mail.h"
#include "worker/compute/compute_node.h"
#include "worker/data/sets/synthetic.h"

namespace steelyard::own_state_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TakeStep step(Version version) {
  const auto value = static_cast<float>(version);
  return {version, Blob::copy_of(std::vector<float>{value, -value})};
}

// ---- files

// Temporary files go to this folder during its lifetime.
class Temporary {
 public:
  Temporary() { setenv("TMPDIR", folder_.path().c_str(), 1); }
  ~Temporary() { setenv("TMPDIR", before_.c_str(), 1); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] auto files() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  }

 private:
  const std::string before_ = std::filesystem::temp_directory_path().string();
  const TemporaryFolder folder_;
};

TEST(StateFile, HoldsBytesUntilItIsReleased) {
  const Temporary folder;
  auto file = temporary_state_file();
  EXPECT_EQ(file->size(), 0U);
  EXPECT_TRUE(std::filesystem::exists(file->path())) << "the program writes to it";
  const auto bytes = test::random_bytes(100, 1);
  file->write(40, test::MemoryFile(bytes).read(40, 60));
  file->write(0, test::MemoryFile(bytes).read(0, 40));
  EXPECT_EQ(file->size(), 100U);
  const Blob back = file->read(10, 90);
  EXPECT_TRUE(std::ranges::equal(back.bytes(), std::span(bytes).subspan(10)));
  EXPECT_EQ(folder.files(), 1);
  file.reset();
  EXPECT_EQ(folder.files(), 0);
}

TEST(StateFile, FailuresNameTheFileAndTheRemedy) {
  const auto file = temporary_state_file();
  try {
    (void)file->read(0, 1);
    FAIL() << "it is empty";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), ::testing::AllOf(HasSubstr(file->path()), HasSubstr("TMPDIR")));
  }
}

// ---- versions that wait

TEST(VersionQueue, KeepsTheOrder) {
  const Temporary folder;
  VersionQueue queue;
  EXPECT_EQ(queue.first(), std::nullopt);
  Version in = 0, out = 0;
  for (const int added : {1, 3, 0, 7, 2, 0, 0, 9, 1}) {
    for (int i = 0; i < added; ++i) queue.add(step(in++));
    for (int i = 0; i < 3 && out < in; ++i, ++out) {
      ASSERT_EQ(queue.first(), out);
      const TakeStep next = queue.take();
      ASSERT_EQ(next.version, out);
      ASSERT_THAT(next.values.floats(), ElementsAre(static_cast<float>(out), -static_cast<float>(out)));
    }
  }
  for (; out < in; ++out) ASSERT_EQ(queue.take().values.floats()[0], static_cast<float>(out));
  EXPECT_EQ(queue.first(), std::nullopt);
  EXPECT_EQ(folder.files(), 0) << "nothing waits";
}

TEST(VersionQueue, OnlyTwoVersionsAreInMemory) {
  const Temporary folder;
  VersionQueue queue;
  std::vector<std::weak_ptr<std::vector<float>>> held;
  for (Version version = 0; version < 5; ++version) {
    const auto values = std::make_shared<std::vector<float>>(4, static_cast<float>(version));
    held.push_back(values);
    queue.add({version, Blob::of_floats(values, *values)});
  }
  const auto in_memory = std::ranges::count_if(held, [](const auto& it) { return !it.expired(); });
  EXPECT_EQ(in_memory, VersionQueue::most_in_memory);
  EXPECT_EQ(folder.files(), 1);
  for (Version version = 0; version < 5; ++version)
    EXPECT_EQ(queue.take().values.floats()[3], static_cast<float>(version));
}

// ---- steps and states

class Logger final : public Stepper {
 public:
  void take_step(std::uint64_t version, std::span<const float> values) override {
    EXPECT_EQ(values[0], static_cast<float>(version));
    log("step", version);
  }
  void write_state(std::uint64_t version, const std::string&) override { log("write", version); }
  void read_state(std::uint64_t version, const std::string&) override { log("read", version); }

  std::vector<std::string> done;

 private:
  void log(const std::string& what, std::uint64_t version) {
    done.push_back(what + ' ' + std::to_string(version));
  }
};

class OwnStateTest : public ::testing::Test {
 protected:
  void take(std::initializer_list<Version> versions) {
    for (const Version version : versions) own.take(step(version));
  }
  void read(Version version) { own.read({version, std::make_shared<test::MemoryFile>()}); }
  void write(std::uint64_t attempt, Version version) {
    own.write({attempt, version, std::make_shared<test::MemoryFile>()});
  }
  template <class Content>
  [[nodiscard]] std::vector<Content> posted() const {
    std::vector<Content> found;
    for (const ToWorker& message : messages) {
      if (const auto* it = std::get_if<Content>(&message)) found.push_back(*it);
    }
    return found;
  }
  [[nodiscard]] std::vector<Version> taken() const {
    std::vector<Version> versions;
    for (const StepTaken& it : posted<StepTaken>()) versions.push_back(it.version);
    return versions;
  }

  Logger stepper;
  std::vector<ToWorker> messages;
  OwnState own{stepper, [this](std::vector<ToWorker> more) {
                 messages.insert(messages.end(), more.begin(), more.end());
               }};
};

TEST_F(OwnStateTest, StepsAreTakenInOrderFromTheFirst) {
  take({0, 1});
  EXPECT_THAT(stepper.done, ElementsAre("step 0", "step 1"));
  EXPECT_THAT(taken(), ElementsAre(0, 1));
}

TEST_F(OwnStateTest, StepsWaitForTheStateThatTheyFollow) {
  own.read({});
  take({7, 8, 9});
  EXPECT_THAT(stepper.done, IsEmpty());
  read(6);
  EXPECT_THAT(stepper.done, ElementsAre("read 6", "step 7", "step 8", "step 9"));
  EXPECT_THAT(taken(), ElementsAre(6, 7, 8, 9));
}

TEST_F(OwnStateTest, StepsBeforeTheStateAreDropped) {
  own.read({});
  take({4, 5});
  own.read({});  // its first load failed; the second one is of a later version
  take({8, 9});
  read(8);
  EXPECT_THAT(stepper.done, ElementsAre("read 8", "step 9"));
}

TEST_F(OwnStateTest, AStateThatIsLostTakesNoSteps) {
  take({0});
  own.read({});
  take({1});
  EXPECT_THAT(stepper.done, ElementsAre("step 0"));
}

TEST_F(OwnStateTest, AStateIsWrittenAfterItsStep) {
  take({0, 1});
  write(2, 1);
  EXPECT_THAT(stepper.done, ElementsAre("step 0", "step 1", "write 1"));
  write(3, 3);
  EXPECT_THAT(stepper.done, ElementsAre("step 0", "step 1", "write 1"));
  take({2, 3, 4});
  EXPECT_THAT(stepper.done,
              ElementsAre("step 0", "step 1", "write 1", "step 2", "step 3", "write 3", "step 4"));
  const auto written = posted<StateWritten>();
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[0].attempt, 2U);
  EXPECT_EQ(written[1].attempt, 3U);
  EXPECT_EQ(written[0].trouble + written[1].trouble, "");
}

TEST_F(OwnStateTest, AStateThatIsPastIsNotWritten) {
  take({0, 1});
  write(2, 0);
  EXPECT_THAT(stepper.done, ElementsAre("step 0", "step 1"));
  ASSERT_EQ(posted<StateWritten>().size(), 1U);
  EXPECT_THAT(posted<StateWritten>()[0].trouble, HasSubstr("later steps"));
}

TEST_F(OwnStateTest, ALaterOrderToWriteReplacesAnEarlierOne) {
  take({0});
  write(2, 1);
  write(3, 2);
  take({1, 2});
  EXPECT_THAT(stepper.done, ElementsAre("step 0", "step 1", "step 2", "write 2"));
  EXPECT_EQ(posted<StateWritten>().size(), 1U);
}

// ---- in a compute node

// Pieces are logged beside the steps.
class SteppingEngine final : public Engine {
 public:
  explicit SteppingEngine(Logger* stepper) : stepper_(stepper) {}
  nn::Sums train(std::span<const float>, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override {
    while (samples.next() != nullptr) {
    }
    stepper_->done.emplace_back("train");
    on_final(0, gradient.size());
    return {};
  }
  nn::Sums evaluate(std::span<const float>, Samples&) override { return {}; }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {8, 1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  [[nodiscard]] Stepper* stepper() override { return stepper_; }

 private:
  Logger* stepper_;
};

class OwnStateInNode : public ::testing::Test {
 protected:
  OwnStateInNode() {
    append(job.layout, "w", {2});
    job.layout.slice_size = 2;
    job.train_samples = 16;
    job.optimizer.kind = nn::Optimizer::Kind::worker;
  }
  std::unique_ptr<ComputeNode> node(Logger* stepper) {
    const auto data = std::make_shared<const SyntheticDataSet>(
        SyntheticOptions{.samples = 16, .classes = 2, .shape = {2, 2, 1}});
    Workload workload;
    workload.layout = job.layout;
    workload.make_engine = [stepper] { return std::make_unique<SteppingEngine>(stepper); };
    workload.data = {data, data};
    return std::make_unique<ComputeNode>(post_to(mail), workload, job);
  }

  Job job;
  Mail mail;
  Logger stepper;
};

TEST_F(OwnStateInNode, StepsAndPiecesAreHandledInOrder) {
  const auto it = node(&stepper);
  it->give(step(0));
  it->give(Compute{{.id = 1, .positions = {0, 16}}, step(0).values});
  it->give(WriteState{2, 1, std::make_shared<test::MemoryFile>()});
  it->give(step(1));
  for (bool written = false; !written;) written = std::holds_alternative<StateWritten>(mail.pop().value());
  EXPECT_THAT(stepper.done, ElementsAre("step 0", "train", "step 1", "write 1"));
  EXPECT_EQ(it->ignored(), 0U);
}

TEST_F(OwnStateInNode, AnEngineWithoutStepsIsRefused) {
  try {
    (void)node(nullptr);
    FAIL() << "accepted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), HasSubstr("does not take optimizer steps"));
  }
}

TEST_F(OwnStateInNode, InOtherJobsStepsAreIgnored) {
  job.optimizer.kind = nn::Optimizer::Kind::sgd;
  const auto it = node(&stepper);
  it->give(step(0));
  EXPECT_EQ(it->ignored(), 1U);
}

}  // namespace
}  // namespace steelyard::own_state_test
