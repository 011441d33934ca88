#include "transport/security/curve.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <array>
#include <cstring>
#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "transport/security/key_files.h"

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
  CHECK(stop_.there(), "no descriptor left for an eventfd");
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind("inproc://zeromq.zap.01");
  answering_ = std::thread([this] { serve(); });
  looking_ = std::thread([this] { look_at_list(); });
}

ZapHandler::~ZapHandler() {
  const std::uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  answering_.join();
  looking_.join();
}

void ZapHandler::serve() {
  std::array<zmq::pollitem_t, 2> watched{
      {{socket_.handle(), 0, ZMQ_POLLIN, 0}, {nullptr, stop_.get(), ZMQ_POLLIN, 0}}};
  while (true) {
    try {
      zmq::poll(watched.data(), watched.size());
      if (watched[1].revents != 0) return;
      if (watched[0].revents != 0) answer();
    } catch (const zmq::error_t&) {  // an interrupted call: retried in the next turn
    }
  }
}

void ZapHandler::look_at_list() {
  pollfd stop{stop_.get(), POLLIN, 0};
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

namespace {

// ZMQ_ZAP_ENFORCE_DOMAIN, hidden among the draft options of the packaged header.
constexpr int enforce_domain = 93;
constexpr int longest_trial = 5'000;  // milliseconds

void set_key(zmq::socket_t& socket, int option, const char* letters) {
  if (zmq_setsockopt(socket.handle(), option, letters, key_letters + 1) == 0) return;
  refuse_setup(std::string("libzmq rejects the key: ") + zmq_strerror(zmq_errno()) +
               ": install a libzmq built with libsodium");
}

// The result of the self-test, once known.
bool is_refused(zmq::socket_t& monitor) {
  zmq::message_t event, address;
  if (!monitor.recv(event)) return false;
  if (event.more()) (void)monitor.recv(address);
  std::uint16_t kind = 0;
  if (event.size() >= sizeof kind) std::memcpy(&kind, event.data(), sizeof kind);
  return kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
}

}  // namespace

void make_listener(zmq::socket_t& socket, const KeyPair& own, const char* domain) {
  const int on = 1;
  socket.set(zmq::sockopt::curve_server, true);
  set_key(socket, ZMQ_CURVE_SECRETKEY, own.secret.letters());
  socket.set(zmq::sockopt::zap_domain, domain);
  if (zmq_setsockopt(socket.handle(), enforce_domain, &on, sizeof on) == 0) return;
  refuse_setup("the libzmq of this machine cannot enforce an allow-list: install 4.3.4 or later");
}

void make_caller(zmq::socket_t& socket, const KeyPair& own, const std::string& key_of_listener) {
  set_key(socket, ZMQ_CURVE_SERVERKEY, key_of_listener.c_str());
  set_key(socket, ZMQ_CURVE_PUBLICKEY, own.public_key.c_str());
  set_key(socket, ZMQ_CURVE_SECRETKEY, own.secret.letters());
}

void require_strangers_refused(zmq::context_t& context, const KeyPair& own) {
  const KeyPair stranger = make_key(KeyRole::worker, "stranger");
  const std::string place = "inproc://monitor-" + stranger.public_key;
  zmq::socket_t listener(context, zmq::socket_type::router), caller(context, zmq::socket_type::dealer);
  zmq::socket_t monitor(context, zmq::socket_type::pair);
  for (zmq::socket_t* socket : {&listener, &caller, &monitor}) socket->set(zmq::sockopt::linger, 0);
  make_listener(listener, own, trial_domain);
  make_caller(caller, stranger, own.public_key);
  zmq_socket_monitor(caller.handle(), place.c_str(),
                     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  monitor.connect(place);
  monitor.set(zmq::sockopt::rcvtimeo, longest_trial);
  // Unique to this trial; an abstract socket, without a file.
  listener.bind("ipc://@steelyard-trial-" + std::to_string(getpid()) + "-" +
                stranger.public_key.substr(0, 8));
  caller.connect(listener.get(zmq::sockopt::last_endpoint));
  const bool refused = is_refused(monitor);
  zmq_socket_monitor(caller.handle(), nullptr, 0);
  if (refused) return;
  refuse_setup(
      "self-test failed: the libzmq of this machine accepted an unknown key; install 4.3.4 or later, "
      "with CURVE");
}

}  // namespace steelyard
