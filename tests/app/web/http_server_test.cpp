// Pages over HTTP, and invalid requests.
#include "app/web/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/support/complaint.h"
#include "tests/support/raw_http.h"

namespace steelyard::http_server_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Http : public testing::Test {
 protected:
  Http() {
    server.serve([this](const std::string& path) -> HttpAnswer {
      ++calls;
      if (path == "/large") return {200, "text/plain", std::make_shared<const std::string>(3 << 20, 'x'), ""};
      return {200, "text/html", std::make_shared<const std::string>("<p>" + path), "\"7\""};
    });
  }
  [[nodiscard]] std::string get(const std::string& path, const std::string& lines = "Host: localhost\r\n",
                                const std::string& method = "GET") const {
    return asked(server.port(), method + " " + path + " HTTP/1.1\r\n" + lines + "\r\n");
  }
  std::atomic<int> calls{0};
  HttpServer server{{"127.0.0.1", "0"}, "--web"};
};

TEST_F(Http, GetReturnsThePage) {
  EXPECT_THAT(get("/a?b=c"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/html"),
                    HasSubstr("script-src 'self'"), HasSubstr("nosniff"), HasSubstr("\r\n\r\n<p>/a")));
  EXPECT_EQ(http_get({"127.0.0.1", std::to_string(server.port())}, "/b"), "<p>/b");
  EXPECT_THAT(get("/large").size(), testing::Gt(3U << 20));
  EXPECT_THAT(get("/a", "Host: localhost\r\nAccept-Encoding: gzip, br\r\n"),
              Not(HasSubstr("Content-Encoding")));
}

TEST_F(Http, AnUnchangedPageIsNotSentAgain) {
  EXPECT_THAT(get("/a", "Host: localhost\r\nIf-None-Match: \"7\"\r\n"),
              AllOf(StartsWith("HTTP/1.1 304"), Not(HasSubstr("<p>"))));
  EXPECT_THAT(get("/a", "Host: localhost\r\nIf-None-Match: \"6\"\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Http, OnlyGetAndHeadAreAllowed) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    EXPECT_THAT(get("/a", "Host: localhost\r\nContent-Length: 5\r\n", method), StartsWith("HTTP/1.1 405"))
        << method;
  }
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(get("/a", "Host: localhost\r\n", "HEAD"),
              AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("<p>"))));
}

// DNS rebinding: another site whose name resolves to this address receives nothing.
TEST_F(Http, OtherHostNamesAreRefused) {
  for (const char* host : {"Host: evil.example\r\n", "Host: evil.example:7080\r\n", "Host: \r\n", "",
                           "Host: 127.0.0.1.evil.example\r\n", "Host: localhost.evil.example\r\n"}) {
    EXPECT_THAT(get("/a", host), StartsWith("HTTP/1.1 421")) << host;
  }
  EXPECT_EQ(calls, 0);
}

TEST(HttpHost, IsAnAddressOrAKnownName) {
  for (const char* good : {"127.0.0.1", "127.0.0.1:7080", "10.0.0.1:1", "[::1]", "[::1]:7080", "localhost",
                           "LocalHost:80", "box:7080", "Desk:7080"})
    EXPECT_TRUE(is_own_host(good, "box", "desk")) << good;
  for (const char* bad :
       {"", "evil.example", "box.evil.example", "1.2.3", "localhost:", "[evil]:80", "a:b:c"})
    EXPECT_FALSE(is_own_host(bad, "box", "desk")) << bad;
  EXPECT_FALSE(is_own_host("", "", "")) << "a machine without a name";
}

TEST_F(Http, MalformedRequestsGetNoPage) {
  for (const std::string& nonsense :
       {std::string("\r\n\r\n"), std::string("nonsense\r\n\r\n"), std::string("GET\r\n\r\n"),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", 12), std::string(400, '\0') + "\r\n\r\n"}) {
    EXPECT_THAT(asked(server.port(), nonsense), Not(HasSubstr("<p>")));
  }
  EXPECT_THAT(get("/still-there"), HasSubstr("<p>/still-there"));
}

// The HTTP library parses ranges recursively and would answer each of them.
TEST_F(Http, ManyRangesAreNotParsed) {
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 3000; ++i) ranges += ",-";
  EXPECT_THAT(get("/large", "Host: localhost\r\n" + ranges + "\r\n"), Not(HasSubstr("xx")));
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(get("/still-there"), HasSubstr("<p>/still-there"));
}

// Every response is complete, errors too: the HTTP library would send ranges that do not exist.
TEST_F(Http, RangeRequestsAreIgnored) {
  for (const char* host : {"Host: localhost\r\n", "Host: elsewhere\r\n", ""}) {
    const std::string whole = get("/a", host);
    for (const char* range : {"1-2", "40-200000", "0-300000,5-", "0-3,5-"})
      EXPECT_EQ(get("/a", std::string(host) + "Range: bytes=" + range + "\r\n"), whole) << host << range;
  }
}

// The size of a stored request is limited.
TEST_F(Http, ClientsWithLongRequestsAreDisconnected) {
  const RawClient line(server.port()), lines(server.port());
  line.say("GET /");
  lines.say("GET / HTTP/1.1\r\nHost: localhost\r\n");
  bool line_ended = false, lines_ended = false;
  for (int i = 0; i < 100'000 && !(line_ended && lines_ended); ++i) {
    line_ended = line_ended || !line.say(std::string(1000, 'a'));
    lines_ended = lines_ended || !lines.say("X-Header-" + std::to_string(i) + ": y\r\n");
  }
  EXPECT_TRUE(line_ended);
  EXPECT_TRUE(lines_ended);
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(get("/still-there"), HasSubstr("<p>/still-there"));
}

// Silent clients delay neither other clients for long nor the shutdown.
TEST(HttpShutdown, DoesNotWaitForSilentClients) {
  std::vector<std::unique_ptr<RawClient>> silent;
  auto server = std::make_unique<HttpServer>(HostPort{"127.0.0.1", "0"}, "--web");
  server->serve([](const std::string&) { return HttpAnswer{}; });
  for (int i = 0; i < 16; ++i) {
    silent.push_back(std::make_unique<RawClient>(server->port()));
    silent.back()->say("GET / HT");
  }
  // A timeout of 10 s for each of the 16 clients, four at a time, would take 40 s.
  auto ended = std::async(std::launch::async, [&] { server.reset(); });
  EXPECT_EQ(ended.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST(HttpShutdown, FreesThePortWithoutHavingServed) {
  auto never = std::make_unique<HttpServer>(HostPort{"127.0.0.1", "0"}, "--web");
  EXPECT_THAT(never->url(), testing::MatchesRegex("http://127.0.0.1:[0-9]+/"));
  const std::string port = std::to_string(never->port());
  never.reset();
  EXPECT_EQ(std::to_string(HttpServer({"127.0.0.1", port}, "--web").port()), port)
      << "the port is free again";
}

TEST(HttpErrors, AreReportedWithARemedy) {
  const HttpServer first({"127.0.0.1", "0"}, "--web");
  const std::string port = std::to_string(first.port());
  EXPECT_THAT(
      complaint_of([&] {
        HttpServer second({"127.0.0.1", port}, "--web");
      }),
      AllOf(HasSubstr("--web 127.0.0.1:" + port), HasSubstr("in use"), HasSubstr("another port, or 0")));
  EXPECT_THAT(complaint_of([&] {
                HttpServer elsewhere({"192.0.2.1", "0"}, "--web");
              }),
              HasSubstr("an address of this machine"));
  EXPECT_THAT(complaint_of([&] {
                http_get({"127.0.0.1", "1"}, "/");
              }),
              AllOf(HasSubstr("127.0.0.1:1 does not answer"), HasSubstr("--web")));
}

}  // namespace
}  // namespace steelyard::http_server_test
