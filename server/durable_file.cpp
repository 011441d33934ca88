#include "server/durable_file.h"

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

// A descriptor that is closed on every way out.
struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

}  // namespace

FileSeal seal(std::span<const std::byte> bytes) {
  return {bytes.size(), hexadecimal(XXH3_128bits(bytes.data(), bytes.size()))};
}

void DurableFile::FreeHash::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

DurableFile::DurableFile(std::string path, std::uint64_t bytes)
    : path_(std::move(path)), hash_(XXH3_createState()) {
  CHECK(hash_ != nullptr, "no memory for a hash");
  XXH3_128bits_reset(hash_.get());
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file_ < 0) fail(path_, "cannot be created", errno);
  const int error = bytes == 0 ? 0 : ::posix_fallocate(file_, 0, static_cast<off_t>(bytes));
  // Some file systems cannot reserve; there the writes will tell.
  if (error != 0 && error != EOPNOTSUPP && error != EINVAL) {
    ::close(file_);
    fail(path_, "no room", error);
  }
}

DurableFile::~DurableFile() {
  if (file_ >= 0) ::close(file_);
}

void DurableFile::write(std::span<const std::byte> bytes) {
  XXH3_128bits_update(hash_.get(), bytes.data(), bytes.size());
  size_ += bytes.size();
  constexpr std::size_t at_once = std::size_t{1} << 30;  // one call takes no more than 2 GB
  while (!bytes.empty()) {
    // Signals and nearly full disks both make short writes.
    const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), at_once));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(path_, "cannot be written", written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

FileSeal DurableFile::finish() {
  CHECK(file_ >= 0, "a file is finished once");
  // Less may have been written than was reserved.
  if (::ftruncate(file_, static_cast<off_t>(size_)) != 0) fail(path_, "cannot be cut to its size", errno);
  if (::fsync(file_) != 0) fail(path_, "did not reach the disk", errno);
  const int closing = std::exchange(file_, -1);
  if (::close(closing) != 0) fail(path_, "cannot be closed", errno);
  return {size_, hexadecimal(XXH3_128bits_digest(hash_.get()))};
}

void sync_directory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number < 0) fail(path, "cannot be opened", errno);
  // Some network file systems have nothing to sync in a directory and say so.
  if (::fsync(directory.number) != 0 && errno != EINVAL) fail(path, "did not reach the disk", errno);
}

std::vector<std::byte> read_bytes(const std::string& path, std::uint64_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number < 0) fail(path, "cannot be opened", errno);
  struct stat about {};
  if (::fstat(file.number, &about) != 0) fail(path, "cannot be examined", errno);
  if (!S_ISREG(about.st_mode)) throw Failure(ExitCode::io, path + ": is not a file");
  if (static_cast<std::uint64_t>(about.st_size) > most) {
    throw Failure(ExitCode::io, path + ": has " + std::to_string(about.st_size) + " bytes, more than the " +
                                    std::to_string(most) + " it may have");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(about.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.number, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "cannot be read", errno);
    if (got == 0) break;  // it shrank meanwhile: hashes and sizes will say so
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace steelyard
