#include "app/config/hosts_keys.h"

#include "app/config/job_keys.h"
#include "transport/address.h"

namespace steelyard {
namespace {

bool is_one_line(std::string_view text) { return text.find('\n') == std::string_view::npos; }

// What could be taken for an option, or for two words, by the programs that get it.
bool is_one_word(std::string_view text) {
  return text[0] != '-' && text.find_first_of(" \t\n'\"\\$`;&|<>()") == std::string_view::npos;
}

// With brackets it is meant to have a port behind it.
bool is_address(std::string_view text) {
  return is_one_word(text) && text.find_first_of("/[]") == std::string_view::npos &&
         (text.find(':') == std::string_view::npos || is_ipv6(std::string(text)));
}

std::vector<Key> keys_of_a_host(HostSpec& host) {
  const Limits address = Limits::text(is_address, "a host name or an address, without a port", false);
  return {
      {"name", &host.name, Limits::plain_name(), "what messages call it; left out: host-0, host-1, ...",
       "\"host-0\""},
      {"ssh", &host.ssh, Limits::text(is_one_word, "what ssh takes, as in \"user@host\"", false),
       "by ssh, without a password", "\"user@host\"",
       "how it is reached: one of the next two; without them it is this machine"},
      {"netns", &host.netns,
       Limits::text(is_plain_name, "the name of a network namespace, as `ip netns` lists it", false),
       "a network namespace of this machine (as root); needs an address", "\"left\""},
      {"address", &host.address, address,
       "how the other hosts reach it; left out: the host of ssh, or 127.0.0.1", "\"10.0.0.1\"",
       "where it is, and what runs there"},
      {"listen", &host.listen, address,
       "what its ports are bound to; left out: address, or 0.0.0.0 where that is a name", "\"10.0.0.1\""},
      {"steelyard", &host.steelyard, Limits::text(is_one_line, "the path of the program on that host", false),
       "the program there; left out: over ssh the one in PATH, else the one that launches", "\"steelyard\""},
      {"directory", &host.directory, Limits::text(is_one_line, "a path on that host", false),
       "where it runs; left out: here, over ssh the home directory", "\"job\""},
      {"scheduler", &host.scheduler, Limits::any(), "true for one of the hosts; job and results are there"},
      {"port", &host.port, Limits::at_least(1, 65535), "the scheduler's"},
      {"servers", &host.servers, Limits::at_least(0, 1024), "server processes"},
      {"shards", &host.shards, Limits::at_least(1, 64), "parts of the model in each of them"},
  };
}

}  // namespace

Schema schema_of(HostsDraft& draft) {
  using Kind = Section::Kind;
  std::vector<Key> worker = worker_keys(draft.worker.spec);
  worker.push_back({"data", &draft.data, Limits::any(), "data options that differ there from the job's",
                    "{ dir = \"/data\" }"});
  return {
      "the hosts of steelyard launch",
      "A hosts file says where `steelyard launch` starts what.\n"
      "It replaces the servers and workers of the job.\n",
      {{"host", "one for each machine, at least one", keys_of_a_host(draft.host), Kind::list, true},
       {"host.worker", "below its host, one for each; at least one in all", std::move(worker), Kind::list}}};
}

}  // namespace steelyard
