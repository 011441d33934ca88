#include "server/checkpoint/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "core/file_io.h"

namespace steelyard {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw Failure(ExitCode::io, path + ": " + what + ": " + std::generic_category().message(error));
}

// Most significant byte first, as xxhsum prints it.
std::string hexadecimal(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// State of a streaming hash; reset it before use.
struct Hash {
  Hash() : state(XXH3_createState()) { CHECK(state != nullptr, "no memory for a hash"); }
  ~Hash() { XXH3_freeState(state); }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;
  XXH3_state_t* const state;
};

}  // namespace

FileSeal seal(std::span<const std::byte> bytes) {
  return {bytes.size(), hexadecimal(XXH3_128bits(bytes.data(), bytes.size()))};
}

DurableFile::DurableFile(std::string path, std::uint64_t bytes) : path_(std::move(path)) {
  file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file_.there()) fail(path_, "cannot be created", errno);
  const int error = bytes == 0 ? 0 : ::posix_fallocate(file_.get(), 0, static_cast<off_t>(bytes));
  // Some file systems cannot reserve space; there the writes will fail.
  if (error != 0 && error != EOPNOTSUPP && error != EINVAL) fail(path_, "no room", error);
}

void DurableFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  pieces_.push_back({offset, bytes.size(), XXH3_64bits(bytes.data(), bytes.size())});
  size_ = std::max(size_, offset + bytes.size());
  if (const int error = steelyard::write_at(file_.get(), offset, bytes); error != 0)
    fail(path_, "cannot be written", error);
}

FileSeal DurableFile::finish() {
  CHECK(file_.there(), "a file is finished once");
  // Less may have been written than was reserved.
  if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
    fail(path_, "cannot be cut to its size", errno);
  if (::fsync(file_.get()) != 0) fail(path_, "did not reach the disk", errno);
  const FileSeal sealed = read_back();
  if (::close(file_.release()) != 0) fail(path_, "cannot be closed", errno);
  return sealed;
}

// Compares each piece with its hash when written, and returns the hash of the whole file.
FileSeal DurableFile::read_back() {
  std::ranges::sort(pieces_, {}, &Piece::offset);
  const Hash whole, own;
  XXH3_128bits_reset(whole.state);
  std::vector<std::byte> buffer(std::min<std::uint64_t>(size_, 1 << 20));
  std::uint64_t at = 0;
  for (const Piece& piece : pieces_) {
    CHECK(piece.offset == at, "the pieces of a file follow one another");
    XXH3_64bits_reset(own.state);
    while (at < piece.offset + piece.size) {
      const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), piece.offset + piece.size - at);
      if (const int error = read_at(file_.get(), at, std::span(buffer).first(wanted)); error != 0)
        fail(path_, "cannot be read back", error);
      XXH3_64bits_update(own.state, buffer.data(), wanted);
      XXH3_128bits_update(whole.state, buffer.data(), wanted);
      at += wanted;
    }
    if (XXH3_64bits_digest(own.state) != piece.hash) {
      throw Failure(ExitCode::io, path_ + ": differs from the data written, from byte " +
                                      std::to_string(piece.offset) + " on");
    }
  }
  return {size_, hexadecimal(XXH3_128bits_digest(whole.state))};
}

void sync_directory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.there()) fail(path, "cannot be opened", errno);
  // Some network file systems report that a directory cannot be synced.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) fail(path, "did not reach the disk", errno);
}

namespace {

class SealedFile final : public StateFile {
 public:
  SealedFile(std::string path, const FileSeal& wanted)
      : path_(std::move(path)), size_(wanted.size), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!file_.there()) fail(path_, "cannot be opened", errno);
    struct stat about {};
    if (::fstat(file_.get(), &about) != 0) fail(path_, "cannot be examined", errno);
    if (static_cast<std::uint64_t>(about.st_size) != size_)
      throw Failure(ExitCode::io, path_ + ": has " + std::to_string(about.st_size) + " bytes instead of " +
                                      std::to_string(size_) + ": it was cut off or changed");
    const Hash whole;
    XXH3_128bits_reset(whole.state);
    for (std::uint64_t at = 0; at < size_;) {
      const Blob part = read(at, std::min<std::uint64_t>(size_ - at, 1 << 20));
      XXH3_128bits_update(whole.state, part.bytes().data(), part.size());
      at += part.size();
    }
    if (hexadecimal(XXH3_128bits_digest(whole.state)) != wanted.xxh3_128)
      throw Failure(ExitCode::io, path_ + ": its hash is wrong: it was changed");
  }

  [[nodiscard]] std::string path() const override { return path_; }
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] Blob read(std::uint64_t begin, std::uint64_t bytes) const override {
    auto into = std::make_shared<std::vector<std::byte>>(bytes);
    if (const int error = read_at(file_.get(), begin, *into); error != 0)
      fail(path_, "cannot be read, or was cut off", error);
    const std::span<const std::byte> view(*into);
    return {std::move(into), view};
  }
  void write(std::uint64_t, const Blob&) override { fail(path_, "is not to be written", EROFS); }

 private:
  const std::string path_;
  const std::uint64_t size_;
  const Descriptor file_;
};

}  // namespace

std::shared_ptr<StateFile> open_sealed(const std::string& path, const FileSeal& wanted) {
  return std::make_shared<SealedFile>(path, wanted);
}

std::vector<std::byte> read_bytes(const std::string& path, std::uint64_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.there()) fail(path, "cannot be opened", errno);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) fail(path, "cannot be examined", errno);
  if (!S_ISREG(about.st_mode)) throw Failure(ExitCode::io, path + ": is not a file");
  if (static_cast<std::uint64_t>(about.st_size) > most) {
    throw Failure(ExitCode::io, path + ": has " + std::to_string(about.st_size) + " bytes, more than the " +
                                    std::to_string(most) + " it may have");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(about.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "cannot be read", errno);
    if (got == 0) break;  // it shrank meanwhile: size or hash will not match
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace steelyard
