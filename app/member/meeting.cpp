#include "app/member/meeting.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "app/processes/endpoint.h"
#include "app/processes/processes.h"
#include "app/report/run_directory.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "transport/address.h"
#include "transport/security/key_files.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path) {
  throw Failure(ExitCode::io,
                path + ": " + std::strerror(errno) + ": give --meet a directory that all tasks can write");
}

// A port that no other program uses now. It is below those that the system gives to connections (from 32768),
// so that a restarted scheduler finds it free.
std::string free_port() {
  constexpr std::uint64_t first = 20000, ports = 12000, tries = 100;
  for (std::uint64_t i = 0; i < tries; ++i) {
    const auto port = static_cast<std::uint16_t>(first + new_node(Role::scheduler).number % ports);
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) == 0)
      return std::to_string(port);
  }
  throw Failure(ExitCode::temporary,
                "this machine has no free port from 20000 to 31999: give --meet an address with a port");
}

void write_whole(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new-" + std::to_string(getpid());
  std::error_code ignored;
  fs::remove(draft, ignored);
  const Descriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool whole = file.there() &&
                     ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                     ::fsync(file.get()) == 0;
  if (!whole || ::rename(draft.c_str(), path.c_str()) != 0) fail(path);
}

// A key for each role, which the tasks share. Those of an earlier start are kept: members of a killed
// scheduler know its key.
void make_keys(const std::string& directory) {
  for (const KeyRole role : {KeyRole::scheduler, KeyRole::server, KeyRole::worker}) {
    const std::string name = steelyard::name(role);
    if (!fs::exists(directory + "/" + name + ".key")) write_key(directory, make_key(role, name));
  }
}

bool is_address(const std::string& meet) {
  if (meet.find('/') != std::string::npos) return false;
  const auto place = host_port("tcp://" + meet);
  return place && !place->host.empty() && !place->port.empty() &&
         place->port.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Meeting::Meeting(MeetingOptions options) : options_(std::move(options)) {
  if (options_.meet.empty())
    refuse_usage("give --meet: a directory that all tasks share, or the address host:port of task 0");
  if (!options_.keys.empty() && options_.insecure)
    refuse_usage("--keys and --insecure exclude each other: leave one of them out");
  if (!is_address(options_.meet)) return;
  const HostPort place = *host_port(complete_endpoint(options_.meet));
  fixed_ = Place{place.host, place.port, options_.keys};
}

std::string Meeting::keys() const {
  if (options_.insecure) return "";
  return options_.keys.empty() ? fs::absolute(options_.meet + "/keys").string() : options_.keys;
}

std::string Meeting::listen() const {
  return fixed_ && is_loopback("tcp://" + with_port(fixed_->host, fixed_->port)) ? fixed_->host : "0.0.0.0";
}

Meeting::Place Meeting::open(const std::string& port) const {
  if (fixed_) return *fixed_;
  std::error_code ignored;
  fs::create_directories(fs::path(options_.meet).parent_path(), ignored);
  if (mkdir(options_.meet.c_str(), 0700) != 0 && errno != EEXIST) fail(options_.meet);
  if (!options_.insecure && options_.keys.empty()) make_keys(keys());
  Place place{"", port.empty() ? free_port() : port, keys(),
              std::to_string(new_node(Role::scheduler).number)};
  if (const auto former = find(); former && former->port == port) place.start = former->start;
  const std::string bound = "tcp://" + with_port("0.0.0.0", place.port);
  place.host = host_port(reachable_endpoint(bound, options_.address, own_endpoint(bound)))->host;
  write_whole(file(), with_port(place.host, place.port) + " " + place.start + "\n");
  return place;
}

void Meeting::close() const {
  std::error_code ignored;
  if (!fixed_) fs::remove(file(), ignored);
}

std::optional<Meeting::Place> Meeting::find() const {
  if (fixed_) return fixed_;
  std::istringstream text(read_text(file()));
  std::string endpoint, start;
  if (!(text >> endpoint >> start)) return std::nullopt;
  const auto place = host_port("tcp://" + endpoint);
  if (!place) return std::nullopt;
  return Place{place->host, place->port, keys(), start};
}

}  // namespace steelyard
