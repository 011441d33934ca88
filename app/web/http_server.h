// HttpServer: serves read-only pages over HTTP to browsers and monitors.
//
// It answers GET and HEAD, one request per connection. Limits: four connections served at once and eight
// queued, 4 KB per request, ten seconds per connection, answer included. Slow or silent clients are
// disconnected. Shutdown does not wait for clients.
//
// Against DNS rebinding, where a page of another site makes a browser send requests here under that site's
// name, the Host header must be a numeric address, `localhost`, the name of this machine, or the name that
// the server listens on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "transport/address.h"

namespace steelyard {

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body;
  std::string tag{};             // ETag; a client that has this version gets status 304; empty: always sent
  std::function<void()> sent{};  // called when all of the body has been sent; may be empty
};

// Returns the page at a path such as "/metrics". Called from several threads at once.
using HttpPages = std::function<HttpAnswer(const std::string& path)>;

class HttpServer {
 public:
  // Binds; port "0": any free port. Connections are queued until serve(). Throws Failure (configuration),
  // with `option` in the message.
  HttpServer(const HostPort& place, const std::string& option);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void serve(HttpPages pages);            // once
  [[nodiscard]] std::string url() const;  // with the actual port, for a browser on this machine
  [[nodiscard]] unsigned port() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Fetches a page of at most a megabyte; connecting and each read may take five seconds. Throws Failure
// (unreachable) if no server answers, (protocol) if the status is not 200.
std::string http_get(const HostPort& place, const std::string& path);

// Whether a Host header is valid for a server that listens on `listened` on the machine `machine`.
bool is_own_host(const std::string& host_line, const std::string& listened, const std::string& machine);

}  // namespace steelyard
