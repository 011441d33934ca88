// HttpServer: pages over HTTP for people and monitors, read only.
//
// It answers GET and HEAD, one request a connection, and gives nobody more than they need: four connections
// are served at a time and eight wait, a request has 4 KB at most and ten seconds for all of it, answer
// included. Whoever goes on longer, or says nothing, is cut off. The end waits for no client.
//
// A page of another site may make a browser ask here under that site's name (DNS rebinding), and so read what
// only this machine may. So a request has to say in its Host line an address in numbers, `localhost`, the
// name of this machine, or the name that was listened on.
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
  std::string tag{};  // of this state of the body: who has it already is only told so; empty: always sent
};

// By path, as in "/metrics". Called from several threads at once.
using HttpPages = std::function<HttpAnswer(const std::string& path)>;

class HttpServer {
 public:
  // Binds; port "0": any that is free. Connections wait until serve(). Throws Failure (configuration), which
  // names `option`.
  HttpServer(const HostPort& place, const std::string& option);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void serve(HttpPages pages);            // once
  [[nodiscard]] std::string url() const;  // with the port that it has, as a browser of this machine takes it
  [[nodiscard]] unsigned port() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// The body of a page, of a megabyte at most, within five seconds a step. Throws Failure (unreachable) if
// nobody answers, (protocol) if the answer is another than this.
std::string http_get(const HostPort& place, const std::string& path);

// Whether a browser that was not deceived says this in its Host line, for a server that listens on
// `listened`.
bool is_own_host(const std::string& host_line, const std::string& listened, const std::string& machine);

}  // namespace steelyard
