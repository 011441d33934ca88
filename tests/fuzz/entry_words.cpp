#include "app/launch/pipes.h"
#include "app/processes/endpoint.h"
#include "app/web/http_server.h"
#include "app/web/place.h"
#include "core/check.h"
#include "protocol/keys.h"
#include "protocol/node.h"
#include "tests/fuzz/accepts.h"
#include "tests/fuzz/entry.h"
#include "transport/address.h"

namespace steelyard::fuzz {
namespace {

void read_name(const std::string& text) {
  check_name("--name", text);
  CHECK(!text.empty() && text.size() <= longest_name, "a name of invalid length");
}

void read_endpoint(const std::string& text) {
  const std::string endpoint = complete_endpoint(text);
  CHECK(complete_endpoint(endpoint) == endpoint, "an endpoint changes when it is completed again");
  if (const auto place = host_port(endpoint); place && !place->host.empty()) {
    const auto again = host_port("tcp://" + with_port(place->host, place->port));
    CHECK(again && again->host == place->host && again->port == place->port,
          "an address changes when it is written and read");
  }
}

void read_keyed(const std::string& text) {
  const KeyedEndpoint it = split_key(text);
  CHECK(it.key.empty() || is_key(it.key), "an invalid key");
  CHECK(with_key(it.address, it.key) == text, "an endpoint changes when it is joined again");
  if (it.key.empty()) throw Failure(ExitCode::usage, "no key");
}

void read_web(const std::string& text) {
  const HostPort place = asked_place(text);
  CHECK(place.host != "*", "listens on all addresses without a request");
  const HostPort again = web_place(with_port(place.host, place.port));
  CHECK(again.host == place.host && again.port == place.port,
        "an address changes when it is written and read");
}

void read_host_line(const std::string& text) {
  if (!is_own_host(text, "box", "lion")) throw Failure(ExitCode::usage, "another host");
}

}  // namespace

bool read_place(std::span<const std::byte> bytes) {
  if (bytes.empty()) return false;
  static constexpr std::array readers{read_name, read_endpoint, read_keyed, read_web, read_host_line};
  const auto read = readers[std::to_integer<unsigned>(bytes[0]) % readers.size()];
  return accepts(bytes.subspan(1), [&](std::string_view text) { read(std::string(text)); });
}

std::vector<std::vector<std::byte>> place_inputs() {
  const std::string key(key_letters, 'a');
  const std::vector<std::vector<std::string>> texts{
      {"ada", "box-9/w:2@lab+x_y.z"},
      {"box:7070", "tcp://127.0.0.1:7070", "[::1]:7070", "ipc:///tmp/s", "tcp://[fe80::1%eth0]:1"},
      {"tcp://10.0.0.1:4711;" + key, "ipc:///tmp/s;" + key},
      {":7080", "7080", "0.0.0.0:7080", "http://127.0.0.1:7080/", "[::1]:0"},
      {"localhost:7080", "127.0.0.1", "[::1]:80", "Lion", "box:7080"}};
  std::vector<std::vector<std::byte>> inputs;
  for (std::size_t kind = 0; kind < texts.size(); ++kind)
    for (const std::string& text : texts[kind]) inputs.push_back(input_of(static_cast<char>(kind) + text));
  return inputs;
}

bool read_launch_line(std::span<const std::byte> bytes) {
  const std::string line(text_of(bytes));
  const auto down = to_host(line);
  const auto up = from_host(line);
  const auto same = [](const auto& message, const auto& read) {
    const std::string written = to_line(message);
    CHECK(written.find('\n') == std::string::npos, "a message of several lines");
    const auto again = read(written);
    CHECK(again && again->index() == message.index() && to_line(*again) == written,
          "a line changes when it is written and read");
  };
  if (down) same(*down, to_host);
  if (up) same(*up, from_host);
  return down || up;
}

std::vector<std::vector<std::byte>> launch_inputs() {
  std::vector<std::vector<std::byte>> inputs;
  const StartProcess start{
      "ada",   {"worker", "--name", "ada"}, "[train]\n", "/usr/bin/env", {"A=b", "C=d"}, 2, {0, 1, 2},
      "secret"};
  for (const ToHost& it : {ToHost(start), ToHost(SignalProcess{"ada", 15}), ToHost(Beat{})})
    inputs.push_back(input_of(to_line(it)));
  for (const FromHost& it : {FromHost(HostReady{7, "0.1.0"}), FromHost(Said{"ada", true, "a\n\"b\" \xff"}),
                             FromHost(ProcessEnded{"ada", 9})})
    inputs.push_back(input_of(to_line(it)));
  return inputs;
}

}  // namespace steelyard::fuzz
