#include "app/web/http_server.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/processor.h"
#include "core/queue.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr std::size_t most_served = 4, most_waiting = 8;  // connections
// In bytes. Enough for a browser with cookies; too few for a list of ranges that overflows the parser's
// stack.
constexpr std::size_t longest_request = 4 << 10;
constexpr Duration longest_visit = std::chrono::seconds(10);
constexpr int tick = 50;                       // milliseconds until a shutdown is noticed
constexpr std::size_t longest_page = 1 << 20;  // bytes, for http_get()

// No content from other sites, no embedding in frames, scripts only from files of this server.
const httplib::Headers safe_headers{
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
     "form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"}};

// A connection with a limit of time and of bytes, which also ends at shutdown.
class Connection : public httplib::Stream {
 public:
  Connection(int socket, const std::atomic<bool>& ended) : socket_(socket), ended_(ended) {}

  bool is_readable() const override { return from_ < to_ || ready(POLLIN); }
  bool is_writable() const override { return ready(POLLOUT); }
  ssize_t read(char* data, std::size_t size) override {
    if (from_ == to_) {
      if (read_ >= longest_request || !ready(POLLIN)) return -1;
      const ssize_t got =
          ::recv(socket_, buffer_.data(), std::min(buffer_.size(), longest_request - read_), 0);
      if (got <= 0) return got;
      from_ = 0;
      to_ = static_cast<std::size_t>(got);
      read_ += to_;
    }
    const std::size_t taken = std::min(size, to_ - from_);
    std::copy_n(buffer_.data() + from_, taken, data);
    from_ += taken;
    return static_cast<ssize_t>(taken);
  }
  ssize_t write(const char* data, std::size_t size) override {
    return ready(POLLOUT) ? ::send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { nowhere(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { nowhere(ip, port); }
  socket_t socket() const override { return socket_; }

 private:
  static void nowhere(std::string& ip, int& port) {  // addresses are not used
    ip.clear();
    port = 0;
  }
  bool ready(short what) const {
    while (!ended_ && steady_now() < end_) {
      pollfd it{socket_, what, 0};
      const int found = ::poll(&it, 1, tick);
      if (found > 0) return true;
      if (found < 0 && errno != EINTR) return false;
    }
    return false;
  }

  const int socket_;
  const std::atomic<bool>& ended_;
  const Time end_ = steady_now() + longest_visit;
  std::array<char, 4096> buffer_{};
  std::size_t from_ = 0, to_ = 0, read_ = 0;
};

class ConnectionThreads : public httplib::TaskQueue {
 public:
  ConnectionThreads() {
    for (std::size_t i = 0; i < most_served; ++i) {
      threads_.emplace_back([this] {
        while (const auto visit = waiting_.pop()) (*visit)();
      });
    }
  }
  // void in cpp-httplib 0.11; later versions close the connection if it was not queued.
  using Queued = decltype(std::declval<httplib::TaskQueue&>().enqueue(nullptr));
  Queued enqueue(std::function<void()> visit) override {
    return static_cast<Queued>(waiting_.push(std::move(visit)));
  }
  void shutdown() override {
    waiting_.close();
    threads_.clear();
  }

 private:
  BoundedQueue<std::function<void()>> waiting_{most_waiting};
  std::vector<std::jthread> threads_;
};

class Server : public httplib::Server {
 public:
  explicit Server(const std::atomic<bool>& ended) : ended_(ended) {}
  ~Server() override {  // stop() does not close a socket that never served
    if (svr_sock_ != INVALID_SOCKET) ::close(svr_sock_);
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    Connection visit(socket, ended_);
    bool closed = false;
    // cpp-httplib 0.18 takes both addresses, too.
    const bool answered = [&](auto& self) {
      if constexpr (requires { self.process_request(visit, true, closed, nullptr); })
        return self.process_request(visit, true, closed, nullptr);
      else
        return self.process_request(visit, "", 0, "", 0, true, closed, nullptr);
    }(*this);
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return answered;
  }
  const std::atomic<bool>& ended_;
};

void answer(httplib::Response& response, const HttpAnswer& it) {
  response.status = it.status;
  if (!it.tag.empty()) response.set_header("ETag", it.tag);
  if (it.status == 304 || !it.body) return;
  // As it is, without being copied or compressed: that would cost the training more than it saves the reader.
  response.set_content_provider(
      it.body->size(), it.type,
      [body = it.body](std::size_t from, std::size_t size, httplib::DataSink& to) {
        return to.write(body->data() + from, std::min(size, body->size() - from));
      },
      [sent = it.sent](bool whole) {
        if (whole && sent) sent();
      });
}

HttpAnswer refusal(int status, const std::string& why) {
  return {status, "text/plain; charset=utf-8", std::make_shared<const std::string>(why + "\n")};
}

std::string why(httplib::Error error) {
  if (error == httplib::Error::Connection) return "no server listens there, or the host does not exist";
  if (error == httplib::Error::ConnectionTimeout) return "no connection within five seconds";
  return "the server there did not send a page";
}

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
  return text;
}

}  // namespace

class HttpServer::State {
 public:
  State(const HostPort& place, const std::string& option) : place_(place) {
    // SO_REUSEADDR only: with the library's SO_REUSEPORT two servers could share a port, and each get a part
    // of the requests.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    const auto wanted = number_in<int>(place.port);
    errno = 0;
    port_ = wanted && *wanted == 0                                ? server_.bind_to_any_port(place.host)
            : wanted && server_.bind_to_port(place.host, *wanted) ? *wanted
                                                                  : -1;
    if (port_ > 0) return;
    const int why = errno;
    refuse_setup(option + " " + with_port(place.host, place.port) + ": cannot listen there" +
                 (why != 0 ? ": " + std::generic_category().message(why) : "") +
                 (why == EADDRINUSE ? ": give another port, or 0 for any free port"
                                    : ": give an address of this machine and a port that you may use"));
  }

  ~State() {
    ended_ = true;
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  void serve(HttpPages pages) {
    server_.set_default_headers(safe_headers);
    server_.set_pre_routing_handler(
        [this, pages = std::move(pages)](const httplib::Request& request, httplib::Response& response) {
          visited(request, response, pages);
          return httplib::Server::HandlerResponse::Handled;
        });
    std::promise<void> begun;
    server_.new_task_queue = [&begun] {
      begun.set_value();
      return new ConnectionThreads;  // the server takes ownership
    };
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    begun.get_future().wait();  // stop() has no effect before the server has started
  }

  [[nodiscard]] unsigned port() const { return static_cast<unsigned>(port_); }
  [[nodiscard]] std::string url() const {
    const std::string host = place_.host == "0.0.0.0" ? "127.0.0.1"
                             : place_.host == "::"    ? "::1"
                                                      : place_.host;
    return "http://" + with_port(host, std::to_string(port_)) + "/";
  }

 private:
  void visited(const httplib::Request& request, httplib::Response& response, const HttpPages& pages) const {
    // Range requests are ignored: the library does not check ranges against the size of the body.
    const_cast<httplib::Request&>(request).ranges.clear();
    const std::string host = request.get_header_value("Host");
    if (!is_own_host(host, place_.host, machine_))
      return answer(response,
                    refusal(421, "This server does not have that name: use the address of this machine"));
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      return answer(response, refusal(405, "Read only: use GET or HEAD"));
    }
    HttpAnswer it = pages(request.path);
    if (!it.tag.empty() && request.get_header_value("If-None-Match") == it.tag) it.status = 304;
    answer(response, it);
  }

  const HostPort place_;
  const std::string machine_ = host_name();
  int port_ = -1;
  std::atomic<bool> ended_{false};
  Server server_{ended_};
  std::jthread thread_;
};

HttpServer::HttpServer(const HostPort& place, const std::string& option)
    : state_(std::make_unique<State>(place, option)) {}
HttpServer::~HttpServer() = default;
void HttpServer::serve(HttpPages pages) { state_->serve(std::move(pages)); }
std::string HttpServer::url() const { return state_->url(); }
unsigned HttpServer::port() const { return state_->port(); }

bool is_own_host(const std::string& host_line, const std::string& listened, const std::string& machine) {
  const auto place = host_port("tcp://" + host_line);
  const std::string host = lowered(place ? place->host : host_line);
  if (host.empty()) return false;
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_ipv4(host) || is_ipv6(brackets ? host.substr(1, host.size() - 2) : host)) return true;
  return host == "localhost" || host == lowered(listened) || host == lowered(machine);
}

std::string http_get(const HostPort& place, const std::string& path) {
  const std::string where = with_port(place.host, place.port);
  httplib::Client client(place.host, number_in<int>(place.port).value_or(0));
  client.set_connection_timeout(5);
  client.set_read_timeout(5);
  std::string body;
  const auto result = client.Get(path, [&](const char* data, std::size_t size) {
    body.append(data, std::min(size, longest_page - body.size()));
    return body.size() < longest_page;
  });
  if (!result && body.empty())
    throw Failure(ExitCode::unreachable, where + " does not answer: " + why(result.error()) +
                                             ": use the address printed by --web of a running job");
  if (!result || result->status != 200)
    throw Failure(ExitCode::protocol, "the server at " + where + " is not a Steelyard page" +
                                          (result ? " (status " + std::to_string(result->status) + ")" : "") +
                                          ": use the address printed by --web of a running job");
  return body;
}

}  // namespace steelyard
