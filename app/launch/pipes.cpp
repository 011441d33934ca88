#include "app/launch/pipes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <concepts>
#include <cstring>

#include "core/error.h"
#include "core/json.h"
#include "protocol/machine.h"

namespace steelyard {
namespace {

// The fields of each message. The kind of a line is recognised by the first field.
void each_field(auto& it, auto&& field) {
  using Kind = std::remove_cvref_t<decltype(it)>;
  if constexpr (std::is_same_v<Kind, StartProcess>) {
    field("start", it.name), field("arguments", it.arguments), field("input", it.input);
    field("program", it.program), field("environment", it.environment), field("sharing", it.sharing),
        field("cores_begin", it.cores.begin), field("cores_end", it.cores.end),
        field("cores_of", it.cores.of), field("equal_parts", it.cores.equal_parts), field("keys", it.keys);
  } else if constexpr (std::is_same_v<Kind, SignalProcess>) {
    field("to", it.name), field("signal", it.signal);
  } else if constexpr (std::is_same_v<Kind, Beat>) {
    int always = 1;
    field("beat", always);
  } else if constexpr (std::is_same_v<Kind, HostReady>) {  // the same in all releases
    field("ready", it.release), field("protocol", it.protocol);
  } else if constexpr (std::is_same_v<Kind, Said>) {
    field("from", it.name), field("error", it.error), field("text", it.text);
  } else {
    field("ended", it.name), field("status", it.status);
  }
}

template <class Message>
std::string written(const Message& message) {
  Json json;
  std::visit([&](const auto& it) { each_field(it, [&](auto key, const auto& value) { json[key] = value; }); },
             message);
  // Output may be invalid UTF-8; dump_json() replaces it.
  return dump_json(json);
}

// Ignores values of the wrong type.
template <class Message, class... Kinds>
std::optional<Message> read(const std::string& line, std::variant<Kinds...>*) {
  const Json json = parse_json(line);
  std::optional<Message> message;
  const auto try_kind = [&](auto it) {
    bool is_kind = json.is_object(), first = true;
    each_field(it, [&](auto key, auto& value) {
      const auto found = json.find(key);
      is_kind &= !std::exchange(first, false) || found != json.end();
      if (!is_kind || found == json.end()) return;
      // Conversion of a floating-point number that is out of range would be undefined.
      if (std::integral<std::remove_cvref_t<decltype(value)>> && found->is_number_float()) return;
      try {
        found->get_to(value);
      } catch (const Json::exception&) {
      }
    });
    if (is_kind) message = it;
  };
  (try_kind(Kinds{}), ...);
  return message;
}

constexpr std::size_t most_waiting = 32 << 20;  // bytes; several times the size of a job
constexpr std::size_t most_at_once = 1 << 20;   // bytes read from one pipe before the others

[[noreturn]] void fail(const std::string& what) {
  throw Failure(ExitCode::io,
                what + ": " + std::strerror(errno) + ": check the limit of open files (ulimit -n)");
}

bool is_readable(int descriptor) {
  pollfd one{descriptor, POLLIN, 0};
  return poll(&one, 1, 0) > 0;
}

}  // namespace

std::string to_line(const ToHost& message) { return written(message); }
std::string to_line(const FromHost& message) { return written(message); }

std::optional<ToHost> to_host(const std::string& line) {
  return read<ToHost>(line, static_cast<ToHost*>(nullptr));
}
std::optional<FromHost> from_host(const std::string& line) {
  return read<FromHost>(line, static_cast<FromHost*>(nullptr));
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor text_to_read(const std::string& text) {
  Descriptor file(memfd_create("steelyard", MFD_CLOEXEC));
  if (file.get() < 0) fail("cannot make a file in memory");
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0) fail("cannot write to a file in memory");
    done += static_cast<std::size_t>(wrote);
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

Descriptor log_to_write(const std::string& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (file.get() >= 0) return file;
  throw Failure(ExitCode::io,
                "cannot write " + path + ": " + std::strerror(errno) + "; choose another --run-dir");
}

std::vector<std::string> LineReader::read() {
  std::vector<std::string> lines;
  std::array<char, 1 << 16> block;
  std::size_t taken = 0;
  while (!ended_ && taken < most_at_once && is_readable(end_.get())) {
    const ssize_t got = ::read(end_.get(), block.data(), block.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) break;
    ended_ = got <= 0;
    for (ssize_t i = 0; i < got; ++i) take(block[static_cast<std::size_t>(i)], lines);
    taken += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  if (ended_ && !begun_.empty()) lines.push_back(std::exchange(begun_, {}));
  return lines;
}

void LineReader::take(char c, std::vector<std::string>& lines) {
  const bool end = c == '\n';
  if (!end) begun_ += c;
  const bool full = begun_.size() >= longest_;
  if (full || (end && !cut_)) lines.push_back(std::exchange(begun_, {}));
  if (end && !begun_.empty()) lines.push_back(std::exchange(begun_, {}));
  cut_ = full;
}

LineWriter::LineWriter(Descriptor end) : end_(std::move(end)) {
  fcntl(end_.get(), F_SETFL, fcntl(end_.get(), F_GETFL) | O_NONBLOCK);
}

void LineWriter::add(const std::string& line) {
  if (broken_ || waiting_.size() + line.size() > most_waiting) return;
  waiting_ += line + "\n";
  flush();
}

void LineWriter::flush() {
  while (!broken_ && !waiting_.empty()) {
    const ssize_t wrote = ::write(end_.get(), waiting_.data(), waiting_.size());
    if (wrote >= 0) {
      waiting_.erase(0, static_cast<std::size_t>(wrote));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
}

}  // namespace steelyard
