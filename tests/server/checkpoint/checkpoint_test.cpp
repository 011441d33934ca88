#include "server/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::checkpoint_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

Snapshot a_snapshot(Version version, Term term = 1) {
  Snapshot s;
  s.progress = {term, version, 3, 512, 12.25, "lb-bsp 1 \"a\" \n 0.1 "};
  s.seed = 18446744073709551615ULL;
  s.fingerprint = 0xFEDCBA9876543210ULL;
  append(s.layout, "conv1.weight", {2, 3});
  append(s.layout, "conv1.bias", {2}, Rule::step, 0);
  append(s.layout, "norm.mean", {4}, Rule::ema, 0);
  s.layout.slice_size = 16;
  for (std::size_t i = 0; i < s.layout.size(); ++i) {
    s.parameters.push_back(static_cast<float>(i) / 3 + static_cast<float>(version));
  }
  s.state = {std::vector<float>(s.layout.size(), 0.5F), std::vector<float>(s.layout.size(), -2)};
  s.steps = 77;
  s.source = {"synthetic", 8192, "99aa06d3014798d86001c324468d497f", 256};
  return s;
}

void expect_equal(const Snapshot& a, const Snapshot& b) {
  EXPECT_EQ(a.progress.term, b.progress.term);
  EXPECT_EQ(a.progress.version, b.progress.version);
  EXPECT_EQ(a.progress.epoch, b.progress.epoch);
  EXPECT_EQ(a.progress.offset, b.progress.offset);
  EXPECT_EQ(a.progress.seconds, b.progress.seconds);
  EXPECT_EQ(a.progress.policy_state, b.progress.policy_state);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  EXPECT_EQ(a.layout, b.layout);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.source, b.source);
}

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
// Removes the file first: some file systems flush a file at once if it is truncated and rewritten.
void overwrite(const fs::path& path, const std::string& text) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << text;
}

class CheckpointTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  [[nodiscard]] static std::string refusal(const std::string& path) {
    try {
      read_checkpoint(path);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::io);
      return failure.what();
    }
    return "accepted";
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path().string(), dir_ = root_ + "/checkpoints";
};

TEST_F(CheckpointTest, RoundTrips) {
  const std::string path = write_checkpoint(dir_, a_snapshot(1180));
  EXPECT_EQ(path, dir_ + "/1180");
  expect_equal(read_checkpoint(path), a_snapshot(1180));
  EXPECT_THAT(entries(), ElementsAre("1180"));
}

TEST_F(CheckpointTest, WithoutOptimizerStateRoundTrips) {
  Snapshot s = a_snapshot(1);
  s.state.clear();
  expect_equal(read_checkpoint(write_checkpoint(dir_, s)), s);
}

TEST_F(CheckpointTest, EveryTruncationIsDetected) {
  const std::string path = write_checkpoint(dir_, a_snapshot(5));
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "MANIFEST.json"}) {
    const fs::path file = fs::path(path) / name;
    const std::string whole = contents(file);
    // The manifest's last byte is a newline, which may be missing.
    for (std::size_t size = 0; size + 1 < whole.size(); size += 1 + whole.size() / 97) {
      overwrite(file, whole.substr(0, size));
      EXPECT_THAT(refusal(path), HasSubstr(file.string())) << size;
    }
    overwrite(file, whole);
  }
  EXPECT_EQ(refusal(path), "accepted");
}

// A flipped bit in the manifest's white space may be accepted if the contents are unchanged.
TEST_F(CheckpointTest, EveryFlippedBitIsDetected) {
  const std::string path = write_checkpoint(dir_, a_snapshot(5));
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "MANIFEST.json"}) {
    const fs::path file = fs::path(path) / name;
    const std::string whole = contents(file);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
      overwrite(file, flipped);
      const std::string answer = refusal(path);
      if (answer == "accepted") {
        EXPECT_TRUE(std::isspace(static_cast<unsigned char>(whole[at]))) << name << " byte " << at;
        expect_equal(read_checkpoint(path), a_snapshot(5));
      } else {
        EXPECT_THAT(answer, HasSubstr(file.string())) << at;
      }
    }
    overwrite(file, whole);
  }
}

TEST_F(CheckpointTest, RefusalsNameTheDefect) {
  const std::string path = write_checkpoint(dir_, a_snapshot(5));
  const std::string model = contents(path + "/model.safetensors");
  overwrite(path + "/model.safetensors", model.substr(0, 20));
  EXPECT_THAT(refusal(path), AllOf(HasSubstr("20 bytes instead of"), HasSubstr("cut off")));
  overwrite(path + "/model.safetensors", model + "x");
  EXPECT_THAT(refusal(path), HasSubstr("more than"));
  fs::remove(path + "/model.safetensors");
  EXPECT_THAT(refusal(path), HasSubstr("cannot be opened: No such file or directory"));
  fs::remove(path + "/MANIFEST.json");
  EXPECT_THAT(refusal(path), HasSubstr("MANIFEST.json: cannot be opened"));
}

TEST_F(CheckpointTest, KeepsTheNewestThree) {
  for (const Version version : {8, 9, 10, 11, 12}) write_checkpoint(dir_, a_snapshot(version));
  EXPECT_THAT(entries(), ElementsAre("10", "11", "12"));
  EXPECT_THAT(list_checkpoints(dir_), ElementsAre(dir_ + "/12", dir_ + "/11", dir_ + "/10"));
}

// After a resumption from version 10, the first term's versions are higher but older.
TEST_F(CheckpointTest, ALaterTermIsNewerThanAHigherVersion) {
  for (const Version version : {10, 20, 30}) write_checkpoint(dir_, a_snapshot(version, 1));
  write_checkpoint(dir_, a_snapshot(15, 2));
  EXPECT_THAT(list_checkpoints(dir_), ElementsAre(dir_ + "/15", dir_ + "/30", dir_ + "/20"));
  write_checkpoint(dir_, a_snapshot(20, 2));  // replaces the checkpoint of the same name
  EXPECT_THAT(list_checkpoints(dir_), ElementsAre(dir_ + "/20", dir_ + "/15", dir_ + "/30"));
  EXPECT_EQ(read_checkpoint(dir_ + "/20").progress.term, 2U);
}

TEST_F(CheckpointTest, AnIncompleteCheckpointIsIgnoredAndRemoved) {
  write_checkpoint(dir_, a_snapshot(5));
  fs::copy(dir_ + "/5", dir_ + "/6.tmp-Xa81bc");
  std::vector<std::string> warnings;
  EXPECT_EQ(newest_checkpoint(dir_, &warnings), dir_ + "/5");
  EXPECT_THAT(warnings, IsEmpty());
  write_checkpoint(dir_, a_snapshot(7));
  EXPECT_THAT(entries(), ElementsAre("5", "7"));
}

TEST_F(CheckpointTest, DamagedCheckpointsAreSkippedWithAWarning) {
  for (const Version version : {5, 6, 7}) write_checkpoint(dir_, a_snapshot(version));
  fs::remove(dir_ + "/7/MANIFEST.json");
  std::string model = contents(dir_ + "/6/model.safetensors");
  model.back() = static_cast<char>(model.back() ^ 4);
  overwrite(dir_ + "/6/model.safetensors", model);
  std::vector<std::string> warnings;
  EXPECT_EQ(newest_checkpoint(dir_, &warnings), dir_ + "/5");
  EXPECT_THAT(warnings,
              ElementsAre(AllOf(HasSubstr("skipped " + dir_ + "/7"), HasSubstr("MANIFEST.json")),
                          AllOf(HasSubstr("skipped " + dir_ + "/6"), HasSubstr("its hash is wrong"))));
}

TEST_F(CheckpointTest, NoUsableCheckpointIsAFailure) {
  for (const std::string& dir : {dir_, root_}) {
    try {
      newest_checkpoint(dir);
      ADD_FAILURE() << "found one";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::io);
      EXPECT_THAT(failure.what(), HasSubstr(dir + ": no usable checkpoint"));
    }
  }
}

TEST_F(CheckpointTest, TheFailureNamesWhatIsWrongWithEach) {
  for (const Version version : {5, 6}) write_checkpoint(dir_, a_snapshot(version));
  fs::resize_file(dir_ + "/5/model.safetensors", 10);
  fs::remove(dir_ + "/6/MANIFEST.json");
  std::vector<std::string> warnings;
  try {
    newest_checkpoint(dir_, &warnings);
    ADD_FAILURE() << "found one";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("no usable checkpoint (skipped "), HasSubstr("/5: "),
                                      HasSubstr("cut off"), HasSubstr("/6: "), HasSubstr("MANIFEST.json")));
  }
  EXPECT_THAT(warnings, ElementsAre()) << "the failure has all";
}

// Peak memory of this process since the last forget_peak(), in MB.
std::size_t peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) / 1024;
  }
  return 0;
}
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

// 32 MB of parameters and twice as much state.
TEST_F(CheckpointTest, StreamedWritesUseLittleMemory) {
  constexpr std::uint64_t slice = 1 << 18, slices = 32;
  Snapshot about = a_snapshot(9);
  about.layout = {};
  append(about.layout, "w", {slices * slice});
  about.layout.slice_size = slice;
  const std::vector<float> values(slice, 1);
  forget_peak();
  const std::size_t before = peak_mb();
  const auto sink = open_checkpoint(dir_, about, 2);
  for (std::uint64_t i = slices; i-- > 0;) {
    for (std::size_t slot = 0; slot < 3; ++slot) sink->put(slot, i * slice, values);
  }
  const std::string path = sink->finish(5);
  EXPECT_LE(peak_mb() - before, 8U);
  const Snapshot read = read_checkpoint(path);
  EXPECT_EQ(read.steps, 5U);
  EXPECT_EQ(read.parameters.size(), slices * slice);
  EXPECT_EQ(read.state.size(), 2U);
}

TEST_F(CheckpointTest, AWholeSnapshotIsNotCopied) {
  Snapshot large = a_snapshot(9);
  append(large.layout, "large", {8 << 20});
  large.parameters.resize(large.layout.size());
  for (auto& slot : large.state) slot.resize(large.layout.size());
  forget_peak();
  const std::size_t before = peak_mb();
  write_checkpoint(dir_, large);
  EXPECT_LE(peak_mb() - before, 8U) << "a copy takes at least 32 MB";
}

TEST_F(CheckpointTest, AnUnfinishedCheckpointLeavesNoFiles) {
  write_checkpoint(dir_, a_snapshot(5));
  {
    const auto sink = open_checkpoint(dir_, a_snapshot(6), 2);
    sink->put(1, 0, a_snapshot(6).state[0]);
    EXPECT_EQ(entries().size(), 2U);
    EXPECT_THAT(list_checkpoints(dir_), ElementsAre(dir_ + "/5"));
  }
  EXPECT_THAT(entries(), ElementsAre("5"));
}

// A file size limit fails the same call as a full disk does.
TEST_F(CheckpointTest, AFailedWriteLeavesNoFiles) {
  write_checkpoint(dir_, a_snapshot(5));
  Snapshot large = a_snapshot(6);
  append(large.layout, "large", {1 << 20});
  large.parameters.resize(large.layout.size());
  for (auto& slot : large.state) slot.resize(large.layout.size());

  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1 << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string text = "written";
  try {
    write_checkpoint(dir_, large);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    text = failure.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  EXPECT_THAT(
      text, AllOf(HasSubstr("checkpoint " + dir_ + "/6 was not written"), HasSubstr(".safetensors: no room"),
                  HasSubstr("it needs 13 MB"), HasSubstr("free some space")));
  EXPECT_THAT(entries(), ElementsAre("5"));
  expect_equal(read_checkpoint(newest_checkpoint(dir_)), a_snapshot(5));
}

TEST_F(CheckpointTest, AnImpossibleDirectoryIsNamed) {
  overwrite(root_ + "/file", "");
  try {
    write_checkpoint(root_ + "/file/checkpoints", a_snapshot(1));
    ADD_FAILURE() << "written";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    EXPECT_THAT(failure.what(), HasSubstr(root_ + "/file/checkpoints"));
  }
}

}  // namespace
}  // namespace steelyard::checkpoint_test
