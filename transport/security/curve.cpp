#include "transport/security/curve.h"

#include <unistd.h>

#include <cstring>

#include "core/error.h"
#include "transport/security/key_files.h"

namespace steelyard {
namespace {

// ZMQ_ZAP_ENFORCE_DOMAIN, which the packaged header hides among its drafts.
constexpr int enforce_domain = 93;
constexpr int longest_trial = 5'000;  // milliseconds

void set_key(zmq::socket_t& socket, int option, const char* letters) {
  if (zmq_setsockopt(socket.handle(), option, letters, key_letters + 1) == 0) return;
  throw Failure(ExitCode::configuration, std::string("libzmq takes no key: ") + zmq_strerror(zmq_errno()) +
                                             ": install one that was built with libsodium");
}

// Whether the end of the trial is known, and what it was.
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
  throw Failure(ExitCode::configuration,
                "the libzmq of this machine cannot be told to refuse strangers: install 4.3.4 or later");
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
  // A name that no other trial has, and no file.
  listener.bind("ipc://@steelyard-trial-" + std::to_string(getpid()) + "-" +
                stranger.public_key.substr(0, 8));
  caller.connect(listener.get(zmq::sockopt::last_endpoint));
  const bool refused = is_refused(monitor);
  zmq_socket_monitor(caller.handle(), nullptr, 0);
  if (refused) return;
  throw Failure(ExitCode::configuration,
                "a stranger's key was not refused in a trial: the libzmq of this machine cannot be trusted; "
                "install 4.3.4 or later, with CURVE");
}

}  // namespace steelyard
