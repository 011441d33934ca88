#include "transport/security/key_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/error.h"
#include "protocol/node.h"

namespace steelyard {
namespace {

constexpr const char* list_file = "allowed";

[[noreturn]] void fail(const std::string& what) {
  throw Failure(ExitCode::io, what + ": " + strerror(errno));
}

struct stat status_of(int descriptor, const std::string& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) fail("cannot read the owner and mode of " + path);
  return status;
}

bool is_our_group(gid_t group) {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  if (getgroups(static_cast<int>(groups.size()), groups.data()) < 0) groups.clear();
  return group == getegid() || std::ranges::find(groups, group) != groups.end();
}

// A group of this process may read what root has made: that is how Kubernetes passes a secret to a pod.
void require_ours(const struct stat& status, const std::string& path, mode_t forbidden) {
  if (status.st_uid != geteuid() && status.st_uid != 0)
    refuse_setup(path + " belongs to another user: take ownership of it (chown)");
  if (status.st_uid == 0 && status.st_gid != 0 && is_our_group(status.st_gid)) forbidden &= ~mode_t{S_IRGRP};
  if ((status.st_mode & forbidden) == 0) return;
  const bool directory = S_ISDIR(status.st_mode);
  refuse_setup(path + (forbidden == 022 ? " can be written by others" : " can be read by others") +
               ", so they could join the job: chmod " + (directory ? "700 " : "600 ") + path +
               (forbidden == 022 ? "" : ", and replace the key if others may have read it"));
}

Descriptor open_directory(const std::string& path) {
  Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.there())
    refuse_setup("there is no key directory at " + path + " (" + strerror(errno) +
                 "): create one with `steelyard keys new " + path + " ROLE`");
  require_ours(status_of(directory.get(), path), path, 022);
  return directory;
}

// Reads the whole file. Refuses it if others could have written it, or read a secret.
std::string text_in(const Descriptor& file, const std::string& path, mode_t forbidden) {
  const struct stat status = status_of(file.get(), path);
  if (!S_ISREG(status.st_mode))
    refuse_setup(path + " is not a regular file: give a key file or a key directory");
  require_ours(status, path, forbidden);
  if (status.st_size > static_cast<off_t>(longest_key_text))
    refuse_setup(path + " is too long for a key file: give a file that `steelyard keys` made");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = read(file.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

Descriptor open_in(const Descriptor& directory, const std::string& file, const std::string& path) {
  Descriptor opened(openat(directory.get(), file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!opened.there() && errno != ENOENT)
    refuse_setup(path + " cannot be read (" + strerror(errno) +
                 "): a key file must be your own, and no symbolic link");
  return opened;
}

KeyLines parsed(std::string text, const std::string& path) {
  try {
    KeyLines lines = parse_keys(text, path);
    wipe(text);
    return lines;
  } catch (...) {
    wipe(text);
    throw;
  }
}

const KeyPair& checked(const std::vector<KeyPair>& own, KeyRole role, const std::string& path) {
  if (own.empty()) refuse_setup(path + " contains no secret key: create one with `steelyard keys new`");
  const auto found = std::ranges::find(own, role, &KeyPair::role);
  if (found == own.end())
    refuse_setup(path + " is the key of a " + name(own.front().role) + ", but this process is a " +
                 name(role) + ": each role needs its own key");
  if (!belongs_to(*found)) refuse_setup(path + ": public and secret key do not match: create a new key");
  return *found;
}

// A draft file with new text, next to the file it will replace or create. It is removed unless renamed.
class Draft {
 public:
  Draft(const Descriptor& directory, const std::string& file, const std::string& path,
        const std::string& text)
      : directory_(directory), path_(path) {
    static std::atomic<unsigned> drafts = 0;  // several threads may write
    name_ = file + ".new-" + std::to_string(getpid()) + "-" + std::to_string(++drafts);
    unlinkat(directory.get(), name_.c_str(), 0);  // left by a killed process with the same number
    const Descriptor made(
        openat(directory.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made.there()) fail("cannot write " + path);
    const bool whole = write(made.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (whole && fsync(made.get()) == 0) return;
    const int why = errno;
    unlinkat(directory.get(), name_.c_str(), 0);
    errno = why;
    fail("cannot write " + path);
  }
  ~Draft() { unlinkat(directory_.get(), name_.c_str(), 0); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void replace(const std::string& file) const {
    if (renameat(directory_.get(), name_.c_str(), directory_.get(), file.c_str()) != 0)
      fail("cannot write " + path_);
    (void)fsync(directory_.get());  // otherwise a power failure could restore a revoked key
  }
  // Creates the file unless it exists. If several processes do so at once, one gets true.
  [[nodiscard]] bool take(const std::string& file) const {
    const int at = directory_.get();
    int failed = renameat2(at, name_.c_str(), at, file.c_str(), RENAME_NOREPLACE);
    // NFS cannot rename without replacing, but hard links do not replace either.
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS))
      failed = linkat(at, name_.c_str(), at, file.c_str(), 0);
    if (failed != 0 && errno == EEXIST) return false;
    if (failed != 0) fail("cannot write " + path_);
    (void)fsync(at);
    return true;
  }

 private:
  const Descriptor& directory_;
  const std::string path_;
  std::string name_;
};

}  // namespace

KeyPair make_key(KeyRole role, const std::string& name) {
  std::array<char, key_letters + 1> open{}, secret{};
  do {  // a key that looks like an option could not be typed
    if (zmq_curve_keypair(open.data(), secret.data()) != 0)
      refuse_setup("the libzmq of this machine has no CURVE: install one built with libsodium");
  } while (open[0] == '-' || open[0] == '#');
  KeyPair pair{role, name, open.data(), Secret(secret.data())};
  explicit_bzero(secret.data(), secret.size());
  return pair;
}

bool belongs_to(const KeyPair& pair) {
  std::array<char, key_letters + 1> open{};
  return zmq_curve_public(open.data(), pair.secret.letters()) == 0 && pair.public_key == open.data();
}

void check_key_name(const std::string& name) {
  check_name("the name of a key", name);
  if (name.find('/') == std::string::npos && name[0] != '.' && name[0] != '-') return;
  throw Failure(ExitCode::usage,
                "the key name '" + name + "' must also be a file name: no '/', and a letter or digit first");
}

Keys load_keys(const std::string& path, KeyRole role, const std::string& name) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file.there()) refuse_setup("cannot read the keys in " + path + " (" + strerror(errno) + ")");
    KeyLines lines = parsed(text_in(file, path, 077), path);
    return {checked(lines.own, role, path), std::move(lines.allowed), {}};
  }
  const Descriptor directory = open_directory(path);
  for (const std::string& candidate : {name, std::string(steelyard::name(role))}) {
    const std::string file = candidate + ".key", where = path + "/" + file;
    if (candidate.empty() || candidate.find('/') != std::string::npos) continue;
    const Descriptor opened = open_in(directory, file, where);
    if (!opened.there()) continue;
    return {checked(parsed(text_in(opened, where, 077), where).own, role, where), read_allowed(path), path};
  }
  const std::string of_role = steelyard::name(role);
  refuse_setup("there is no key for this " + of_role + " in " + path + ": neither " + name + ".key nor " +
               of_role + ".key; create one with `steelyard keys new " + path + " " + of_role + "`");
}

std::string stamp_of_allowed(const std::string& directory) {
  struct stat it {};
  if (lstat((directory + "/" + list_file).c_str(), &it) != 0) return {};
  std::string stamp;
  for (const auto number : {it.st_ino, static_cast<ino_t>(it.st_size), static_cast<ino_t>(it.st_mtim.tv_sec),
                            static_cast<ino_t>(it.st_mtim.tv_nsec), static_cast<ino_t>(it.st_mode)})
    stamp += std::to_string(number) + " ";
  return stamp;
}

AllowList read_allowed(const std::string& path) {
  const Descriptor directory = open_directory(path);
  const std::string where = path + "/" + list_file;
  const Descriptor file = open_in(directory, list_file, where);
  if (!file.there()) return {};
  KeyLines lines = parsed(text_in(file, where, 022), where);
  if (!lines.own.empty())
    refuse_setup(where + " contains a secret key: only public keys belong there; create a new key");
  return std::move(lines.allowed);
}

void make_key_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail("cannot make the directory " + path);
}

void write_key(const std::string& path, const KeyPair& pair) {
  check_key_name(pair.name);
  make_key_directory(path);
  const Descriptor directory = open_directory(path);
  const std::string file = pair.name + ".key", where = path + "/" + file;
  std::string text = secret_line(pair);
  const Draft draft(directory, file, where, text);
  wipe(text);
  if (!draft.take(file))
    refuse_setup(where +
                 " already exists: choose another name, or `steelyard keys revoke` it and remove the file");
}

void remove_key(const std::string& path, const std::string& name) {
  check_key_name(name);
  const Descriptor directory = open_directory(path);
  const std::string file = name + ".key";
  if (unlinkat(directory.get(), file.c_str(), 0) != 0) fail("cannot remove " + path + "/" + file);
}

void write_allowed(const std::string& path, const AllowList& list) {
  const Descriptor directory = open_directory(path);
  Draft(directory, list_file, path + "/" + list_file, allow_lines(list)).replace(list_file);
}

void change_allowed(const std::string& directory, const std::function<void(AllowList&)>& change) {
  const Descriptor locked = open_directory(directory);
  while (flock(locked.get(), LOCK_EX) != 0) {
    if (errno != EINTR) fail("cannot lock " + directory);
  }
  AllowList list = read_allowed(directory);
  change(list);
  write_allowed(directory, list);
}

}  // namespace steelyard
