#include "server/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>

#include "core/check.h"
#include "core/error.h"
#include "core/text.h"
#include "server/checkpoint/durable_file.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/safetensors.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* model_file = "model.safetensors";
constexpr const char* optimizer_file = "optimizer.safetensors";
constexpr const char* worker_file = "worker_state.bin";
constexpr const char* unfinished = ".tmp-";  // in names of incomplete or removed checkpoints

std::string state_name(std::size_t slot, const std::string& tensor) {
  return "state." + std::to_string(slot + 1) + "." + tensor;
}

std::vector<TensorName> model_names(const Layout& layout) {
  std::vector<TensorName> names;
  for (const TensorPlace& tensor : layout.tensors) names.push_back({tensor.name, tensor.shape});
  return names;
}

std::vector<TensorName> optimizer_names(const Layout& layout, std::size_t slots) {
  std::vector<TensorName> names;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    for (const TensorPlace& tensor : layout.tensors) {
      names.push_back({state_name(slot, tensor.name), tensor.shape});
    }
  }
  return names;
}

// ---- writing

// Creates a directory with a name that list_checkpoints() ignores.
std::string temporary_directory(const std::string& beside) {
  std::string path = beside + unfinished + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    throw Failure(ExitCode::io, path + ": cannot be created: " + std::generic_category().message(errno));
  }
  ::chmod(path.c_str(), 0755);  // mkdtemp allows the owner only; checkpoints are ordinary output
  return path;
}

// Renames it first, so that a half-removed checkpoint is never listed.
void remove_checkpoint(const std::string& path) {
  const std::string aside = temporary_directory(path);
  fs::rename(path, aside);
  fs::remove_all(aside);
}

// Removes leftovers of killed writers; there is no other writer (see the header).
void sweep(const std::string& dir) {
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (entry.path().filename().string().find(unfinished) != std::string::npos) fs::remove_all(entry.path());
  }
}

// The same version may exist already, from an earlier term or a resumed run: the two are exchanged
// atomically, so that one exists at any time. If the file system cannot do that and the process is killed
// between two renames, the job resumes from the preceding checkpoint.
void put_in_place(const std::string& dir, const std::string& made, const std::string& path) {
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(made);
  } else {
    if (fs::exists(path)) remove_checkpoint(path);
    fs::rename(made, path);
  }
  sync_directory(dir);
}

// Failed removals are retried after the next checkpoint; this one is safe anyway.
void prune(const std::string& dir, const std::string& written) try {
  std::size_t kept = 1;  // the one just written
  for (const std::string& path : list_checkpoints(dir)) {
    if (path != written && ++kept > kept_checkpoints) remove_checkpoint(path);
  }
} catch (const std::exception&) {
}

// ---- reading

// Checks the size before the hash, for a more precise message.
std::vector<std::byte> read_sealed(const std::string& path, const FileSeal& wanted) {
  std::vector<std::byte> bytes = read_bytes(path, wanted.size);
  if (bytes.size() != wanted.size) {
    throw Failure(ExitCode::io, path + ": has " + std::to_string(bytes.size()) + " bytes instead of " +
                                    std::to_string(wanted.size) + ": it was cut off");
  }
  if (seal(bytes) != wanted) throw Failure(ExitCode::io, path + ": its hash is wrong: it was changed");
  return bytes;
}

std::vector<std::byte> read_sealed(const std::string& path, const Manifest& manifest, const char* name) {
  const auto file = manifest.files.find(name);
  if (file == manifest.files.end()) {
    throw Failure(ExitCode::io, path + "/" + manifest_file + ": does not mention " + name);
  }
  return read_sealed(path + "/" + name, file->second);
}

// Finds the tensor by name: files need not keep the order of tensors.
void copy_tensor(const TensorFile& file, const std::string& name, const TensorPlace& place,
                 std::vector<float>& values, const std::string& path) {
  const StoredTensor* stored = file.find(name);
  if (stored == nullptr || stored->shape != place.shape) {
    throw Failure(ExitCode::io, path + ": \"" + name + "\" is missing or has another shape");
  }
  stored->copy_to(std::span(values).subspan(place.offset, place.size()));
}

void read_model(const std::string& path, const Manifest& manifest, Snapshot& snapshot) {
  const auto bytes = read_sealed(path, manifest, model_file);
  const TensorFile file = parse_safetensors(bytes, path + "/" + model_file);
  if (bytes.size() / sizeof(float) < snapshot.layout.size()) {
    throw Failure(ExitCode::io, path + "/" + model_file + ": is smaller than the layout in its manifest");
  }
  snapshot.parameters.resize(snapshot.layout.size());
  for (const TensorPlace& place : snapshot.layout.tensors) {
    copy_tensor(file, place.name, place, snapshot.parameters, path + "/" + model_file);
  }
}

void read_optimizer(const std::string& path, const Manifest& manifest, Snapshot& snapshot) {
  const auto bytes = read_sealed(path, manifest, optimizer_file);
  const TensorFile file = parse_safetensors(bytes, path + "/" + optimizer_file);
  if (file.tensors.size() != manifest.state_slots * snapshot.layout.tensors.size()) {
    throw Failure(ExitCode::io,
                  path + "/" + optimizer_file + ": has another number of tensors than its manifest");
  }
  for (std::size_t slot = 0; slot < manifest.state_slots; ++slot) {
    auto& values = snapshot.state.emplace_back(snapshot.layout.size());
    for (const TensorPlace& place : snapshot.layout.tensors) {
      copy_tensor(file, state_name(slot, place.name), place, values, path + "/" + optimizer_file);
    }
  }
}

void warn(std::vector<std::string>* warnings, const std::string& text) {
  if (warnings != nullptr) warnings->push_back(text);
}

// A layout's tensors are in order and without gaps, so a flat buffer equals the values of a file.
class CheckpointWriter final : public CheckpointSink {
 public:
  CheckpointWriter(std::string dir, const Snapshot& about, std::size_t state_slots);
  ~CheckpointWriter() override;

  void put(std::size_t slot, std::uint64_t offset, std::span<const float> values) override;
  void put_state(std::uint64_t offset, const Blob& bytes) override;
  std::string finish(std::uint64_t steps) override;

 private:
  struct Values {
    Values(const std::string& path, const std::string& text, std::uint64_t floats)
        : header(text.size()), file(path, header + floats * sizeof(float)) {
      file.write(std::as_bytes(std::span(text)));
    }
    const std::uint64_t header;  // bytes before the values
    DurableFile file;
  };
  void begin();
  [[noreturn]] void fail(const std::exception& why) const;

  const std::string dir_;
  Snapshot about_;  // without values
  const std::size_t slots_;
  const std::string path_;
  std::string made_;  // the temporary directory, until renamed
  std::optional<Values> model_, optimizer_;
  std::optional<DurableFile> worker_state_;  // instead of both
};

CheckpointWriter::CheckpointWriter(std::string dir, const Snapshot& about, std::size_t state_slots)
    : dir_(std::move(dir)),
      about_{about.progress, about.seed,      about.fingerprint, about.layout, {}, {}, 0,
             about.source,   about.on_workers},
      slots_(state_slots),
      path_(dir_ + "/" + std::to_string(about.progress.version)) {
  try {
    begin();
  } catch (const std::exception& e) {  // Failure or filesystem_error
    std::error_code ignored;           // reports the first error only
    if (!made_.empty()) fs::remove_all(made_, ignored);
    fail(e);
  }
}

CheckpointWriter::~CheckpointWriter() {
  std::error_code ignored;
  if (!made_.empty()) fs::remove_all(made_, ignored);
}

void CheckpointWriter::begin() {
  if (fs::create_directories(dir_)) sync_directory(fs::absolute(dir_).parent_path().string());
  sweep(dir_);
  made_ = temporary_directory(path_);
  if (about_.on_workers) return void(worker_state_.emplace(made_ + "/" + worker_file, 0));
  TensorTexts texts{{"steelyard.version", std::to_string(about_.progress.version)}};
  const std::uint64_t floats = about_.layout.size();
  optimizer_.emplace(made_ + "/" + optimizer_file,
                     safetensors_header(optimizer_names(about_.layout, slots_), texts), slots_ * floats);
  texts["input.mean"] = numbers_text(about_.source.mean);
  texts["input.deviation"] = numbers_text(about_.source.deviation);
  model_.emplace(made_ + "/" + model_file, safetensors_header(model_names(about_.layout), texts), floats);
}

void CheckpointWriter::put(std::size_t slot, std::uint64_t offset, std::span<const float> values) try {
  CHECK(slot <= slots_ && offset + values.size() <= about_.layout.size(), "values have a place");
  Values& to = slot == 0 ? *model_ : *optimizer_;
  const std::uint64_t place = (slot == 0 ? 0 : slot - 1) * about_.layout.size() + offset;
  to.file.write_at(to.header + place * sizeof(float), std::as_bytes(values));
} catch (const Failure& failure) {
  fail(failure);
}

void CheckpointWriter::put_state(std::uint64_t offset, const Blob& bytes) try {
  worker_state_->write_at(offset, bytes.bytes());
} catch (const Failure& failure) {
  fail(failure);
}

std::string CheckpointWriter::finish(std::uint64_t steps) {
  try {
    Manifest manifest{about_.progress, about_.seed,   about_.fingerprint, steps,
                      slots_,          about_.layout, about_.source,      {}};
    if (worker_state_) {
      manifest.files[worker_file] = worker_state_->finish();
    } else {
      manifest.files[model_file] = model_->file.finish();
      manifest.files[optimizer_file] = optimizer_->file.finish();
    }
    const std::string text = manifest_text(manifest);
    DurableFile file(made_ + "/" + manifest_file, text.size());
    file.write(std::as_bytes(std::span(text)));
    file.finish();
    sync_directory(made_);
    put_in_place(dir_, made_, path_);
  } catch (const std::exception& e) {
    fail(e);
  }
  made_.clear();
  prune(dir_, path_);
  return path_;
}

void CheckpointWriter::fail(const std::exception& why) const {
  const std::uint64_t bytes = (1 + slots_) * about_.layout.size() * sizeof(float);
  throw Failure(ExitCode::io, "checkpoint " + path_ + " was not written: " + why.what() + " (it needs " +
                                  std::to_string(bytes / 1'000'000 + 1) +
                                  " MB; free some space there, or start with --run-dir on another disk)");
}

}  // namespace

std::unique_ptr<CheckpointSink> open_checkpoint(const std::string& dir, const Snapshot& about,
                                                std::size_t state_slots) {
  return std::make_unique<CheckpointWriter>(dir, about, state_slots);
}

std::string write_checkpoint(const std::string& dir, const Snapshot& snapshot) {
  CHECK(snapshot.parameters.size() == snapshot.layout.size(), "a snapshot has all parameters");
  for (const auto& slot : snapshot.state) {
    CHECK(slot.size() == snapshot.layout.size(), "a snapshot has all of the state");
  }
  CheckpointWriter writer(dir, snapshot, snapshot.state.size());
  writer.put(0, 0, snapshot.parameters);
  for (std::size_t i = 0; i < snapshot.state.size(); ++i) writer.put(i + 1, 0, snapshot.state[i]);
  return writer.finish(snapshot.steps);
}

Snapshot read_checkpoint(const std::string& path) {
  const Manifest manifest = read_manifest(path);
  Snapshot snapshot{manifest.progress, manifest.seed,  manifest.fingerprint, manifest.layout, {}, {},
                    manifest.steps,    manifest.source};
  if (const auto its = manifest.files.find(worker_file); its != manifest.files.end()) {
    snapshot.on_workers = true;
    snapshot.worker_state = open_sealed(path + "/" + worker_file, its->second);
    return snapshot;
  }
  read_model(path, manifest, snapshot);
  read_optimizer(path, manifest, snapshot);
  return snapshot;
}

std::vector<std::string> list_checkpoints(const std::string& dir, std::vector<std::string>* warnings) {
  std::vector<std::tuple<Term, Version, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().find(unfinished) != std::string::npos || !it->is_directory(error))
      continue;
    const std::string path = dir + "/" + it->path().filename().string();
    try {
      const Progress progress = read_manifest(path).progress;
      found.emplace_back(progress.term, progress.version, path);
    } catch (const Failure& failure) {
      warn(warnings, "skipped " + path + ": " + failure.what());
    }
  }
  std::ranges::sort(found, std::greater<>());
  std::vector<std::string> paths;
  for (auto& [term, version, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::string newest_checkpoint(const std::string& dir, std::vector<std::string>* warnings) {
  std::vector<std::string> skipped;
  const auto pass_on = [&] {
    if (warnings != nullptr) warnings->insert(warnings->end(), skipped.begin(), skipped.end());
  };
  for (const std::string& path : list_checkpoints(dir, &skipped)) {
    try {
      read_checkpoint(path);
      pass_on();
      return path;
    } catch (const Failure& failure) {
      warn(&skipped, "skipped " + path + ": " + failure.what());
    }
  }
  std::string why;
  for (const std::string& it : skipped) why += (why.empty() ? " (" : "; ") + it;
  throw Failure(ExitCode::io, dir + ": no usable checkpoint" + why + (why.empty() ? "" : ")") +
                                  ": train from the beginning, or name another run directory");
}

}  // namespace steelyard
