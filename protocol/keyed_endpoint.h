// An endpoint with the public key of who listens there: "tcp://10.0.0.1:4711;KEY". A server tells its own so,
// and through the scheduler, whom workers know, it reaches them.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct KeyedEndpoint {
  std::string address;
  std::string key;  // empty: none was told
};

// Where one peer may be at one of several places, with commas between them: each.
std::vector<std::string> split_places(const std::string& endpoints);
KeyedEndpoint split_key(const std::string& endpoint);
std::string with_key(const std::string& address, const std::string& key);  // as it is, where there is no key

}  // namespace steelyard
