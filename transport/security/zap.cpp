#include "transport/security/zap.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "core/check.h"
#include "transport/security/curve.h"

namespace steelyard {
namespace {

constexpr int look_ms = 250;             // milliseconds
constexpr std::size_t most_frames = 16;  // libzmq sends seven
constexpr std::size_t key_bytes = 32;

// Version, request, domain, address, identity, mechanism, credentials.
constexpr std::size_t version = 0, request = 1, domain = 2, address = 3, mechanism = 5, credentials = 6,
                      frames_needed = 7;

std::vector<std::string> received(zmq::socket_t& socket) {
  std::vector<std::string> frames;
  zmq::message_t frame;
  do {
    if (!socket.recv(frame, zmq::recv_flags::dontwait)) break;
    if (frames.size() < most_frames) frames.push_back(frame.to_string());
  } while (frame.more());
  return frames;
}

std::string key_of(const std::vector<std::string>& frames) {
  if (frames.size() != frames_needed || frames[version] != "1.0" || frames[mechanism] != "CURVE" ||
      frames[credentials].size() != key_bytes)
    return {};
  std::array<char, key_letters + 1> letters{};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(frames[credentials].data());
  return zmq_z85_encode(letters.data(), bytes, key_bytes) == nullptr ? "" : letters.data();
}

}  // namespace

ZapHandler::ZapHandler(zmq::context_t& context, Trust& trust)
    : trust_(trust), socket_(context, zmq::socket_type::rep), stop_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  CHECK(stop_ >= 0, "no descriptor left for an eventfd");
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind("inproc://zeromq.zap.01");
  answering_ = std::thread([this] { serve(); });
  looking_ = std::thread([this] { look_at_list(); });
}

ZapHandler::~ZapHandler() {
  const std::uint64_t one = 1;
  (void)!write(stop_, &one, sizeof one);
  answering_.join();
  looking_.join();
  close(stop_);
}

void ZapHandler::serve() {
  std::array<zmq::pollitem_t, 2> watched{
      {{socket_.handle(), 0, ZMQ_POLLIN, 0}, {nullptr, stop_, ZMQ_POLLIN, 0}}};
  while (true) {
    try {
      zmq::poll(watched.data(), watched.size());
      if (watched[1].revents != 0) return;
      if (watched[0].revents != 0) answer();
    } catch (const zmq::error_t&) {  // an interrupted call: the next one does it
    }
  }
}

void ZapHandler::look_at_list() {
  pollfd stop{stop_, POLLIN, 0};
  while (poll(&stop, 1, look_ms) <= 0) trust_.look();
}

void ZapHandler::answer() {
  const std::vector<std::string> asked = received(socket_);
  if (asked.empty()) return;
  const std::string key = key_of(asked);
  const bool let_in = !key.empty() && trust_.allowed()->contains(key);
  const std::array<std::string, 6> reply{"1.0",
                                         asked.size() > request ? asked[request] : "",
                                         let_in ? "200" : "400",
                                         let_in ? "OK" : "unknown key",
                                         let_in ? key : "",
                                         ""};
  for (std::size_t i = 0; i < reply.size(); ++i)
    socket_.send(zmq::buffer(reply[i]),
                 i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  if (!let_in && asked.size() > address && asked[domain] != trial_domain) trust_.refused(key, asked[address]);
}

}  // namespace steelyard
