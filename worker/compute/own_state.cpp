#include "worker/compute/own_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/file_io.h"

namespace steelyard {
namespace {

class TemporaryFile final : public StateFile {
 public:
  TemporaryFile() {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    if (error)
      throw Failure(ExitCode::io, "TMPDIR is no folder that exists: " + error.message() +
                                      ": set it to a folder with room for the state of the model");
    path_ = (folder / "steelyard-state-XXXXXX").string();
    file_ = Descriptor(::mkostemp(path_.data(), O_CLOEXEC));
    if (!file_.there()) fail("cannot be created", errno);
  }
  ~TemporaryFile() override {
    if (file_.there()) ::unlink(path_.c_str());
  }

  [[nodiscard]] std::string path() const override { return path_; }
  [[nodiscard]] std::uint64_t size() const override {
    struct stat about {};
    if (::fstat(file_.get(), &about) != 0) fail("cannot be read", errno);
    return static_cast<std::uint64_t>(about.st_size);
  }
  [[nodiscard]] Blob read(std::uint64_t begin, std::uint64_t bytes) const override {
    auto into = std::make_shared<std::vector<std::byte>>(bytes);
    if (const int error = read_at(file_.get(), begin, *into); error != 0) fail("cannot be read", error);
    const std::span<const std::byte> view(*into);
    return {std::move(into), view};
  }
  void write(std::uint64_t begin, const Blob& blob) override {
    if (const int error = write_at(file_.get(), begin, blob.bytes()); error != 0)
      fail("cannot be written", error);
  }

 private:
  [[noreturn]] void fail(const char* what, int error) const {
    throw Failure(ExitCode::io, "the temporary file " + path_ + " " + what + ": " +
                                    std::generic_category().message(error) +
                                    ": free some space there, or set TMPDIR to another disk");
  }

  std::string path_;
  Descriptor file_;
};

}  // namespace

std::shared_ptr<StateFile> temporary_state_file() { return std::make_shared<TemporaryFile>(); }

void VersionQueue::add(const TakeStep& step) {
  steps_.push_back(step);
  if (steps_.size() <= most_in_memory) return;
  if (!file_) file_ = temporary_state_file();
  file_->write(end_, step.values);
  end_ += step.values.size();
  steps_.back().values = {};
}

std::optional<Version> VersionQueue::first() const {
  return steps_.empty() ? std::nullopt : std::optional(steps_.front().version);
}

// All versions have the same size, so the file is a queue of records.
TakeStep VersionQueue::take() {
  TakeStep step = std::move(steps_.front());
  steps_.pop_front();
  if (begin_ < end_ && steps_.size() >= most_in_memory) {
    TakeStep& next = steps_[most_in_memory - 1];
    const std::uint64_t bytes = step.values.size();
    next.values = file_->read(begin_, bytes);
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0, file_.reset();
  }
  return step;
}

void OwnState::take(const TakeStep& step) {
  queue_.add(step);
  take_steps();
}

void OwnState::take_steps() {
  for (std::optional<Version> next = queue_.first(); next; next = queue_.first()) {
    const bool first = *next == 0 && !version_, follows = version_ && *next == *version_ + 1;
    if (!first && !follows && (!version_ || *next > *version_)) return;  // for a state being loaded
    const TakeStep step = queue_.take();
    if (!first && !follows) continue;  // the state has it already
    stepper_.take_step(step.version, step.values.floats());
    version_ = step.version;
    post_({StepTaken{step.version}});
    write_if_due();
  }
}

void OwnState::write(const WriteState& order) {
  order_ = order;
  write_if_due();
}

void OwnState::write_if_due() {
  if (!order_ || !version_ || *version_ < order_->version) return;
  const WriteState order = *std::exchange(order_, std::nullopt);
  StateWritten written{order.attempt, "it has taken later steps"};
  if (*version_ == order.version) {
    written.trouble.clear();
    stepper_.write_state(order.version, order.file->path());
  }
  post_({std::move(written)});
}

void OwnState::read(const ReadState& order) {
  if (!order.file) {
    order_.reset();
    return version_.reset();
  }
  stepper_.read_state(order.version, order.file->path());
  version_ = order.version;
  post_({StepTaken{order.version}});
  take_steps();
}

}  // namespace steelyard
