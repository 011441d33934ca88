#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/web/http_server.h"
#include "core/check.h"
#include "tests/fuzz/accepts.h"
#include "tests/fuzz/entry.h"

namespace steelyard::fuzz {
namespace {

constexpr char secret[] = "<p>of this machine</p>";

HttpServer& server() {
  static HttpServer it({"127.0.0.1", "0"}, "--web");
  static const bool serves = [] {
    it.serve([](const std::string&) -> HttpAnswer {
      return {200, "text/html", std::make_shared<const std::string>(secret), "\"7\""};
    });
    return true;
  }();
  static_cast<void>(serves);
  return it;
}

sockaddr_in loopback(std::uint32_t host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host);
  return address;
}

// Sends the request, shuts down writing, and returns the whole answer. The side that closes first keeps its
// port for a minute (TIME_WAIT), so each request uses another loopback address, or ports would run out.
std::string answer_to(std::string_view request) {
  static std::uint16_t host = 0;
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in from = loopback(++host, 0), to = loopback(0, static_cast<std::uint16_t>(server().port()));
  CHECK(::bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0, "no free port");
  CHECK(::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0,
        "the server does not listen");
  static_cast<void>(::send(socket, request.data(), request.size(), MSG_NOSIGNAL));
  ::shutdown(socket, SHUT_WR);
  std::string answer;
  char part[4096];
  for (ssize_t got = 0; (got = ::recv(socket, part, sizeof part, 0)) > 0;)
    answer.append(part, static_cast<std::size_t>(got));
  ::close(socket);
  return answer;
}

}  // namespace

bool ask_page(std::span<const std::byte> request) {
  const std::string answer = answer_to(text_of(request));
  if (answer.empty()) return false;
  CHECK(answer.starts_with("HTTP/1.1 "), "an answer must be HTTP");
  const bool page = answer.find(secret) != std::string::npos;
  const std::size_t status = answer.find(' ') + 1;
  CHECK(!page || answer[status] == '2', "a page with an error status");
  CHECK(!page || answer.find("X-Content-Type-Options: nosniff") != std::string::npos,
        "a page without security headers");
  return page;
}

std::vector<std::vector<std::byte>> page_inputs() {
  return {
      input_of("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
      input_of("GET /part?x=%41%20 HTTP/1.1\r\nHost: 127.0.0.1:7080\r\nIf-None-Match: \"6\"\r\n\r\n"),
      input_of(
          "GET /metrics HTTP/1.0\r\nHost: [::1]:80\r\nRange: bytes=0-3,5-\r\nConnection: keep-alive\r\n\r\n"),
      input_of(
          "GET /a HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; c=d\r\nAccept-Encoding: gzip, br\r\n\r\n")};
}

}  // namespace steelyard::fuzz
