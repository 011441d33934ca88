// One key per role, and an allow-list of all of them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/security/trust.h"
#include "transport/zmq_context.h"

namespace steelyard::test {

class Keyring {
 public:
  Keyring() {
    for (const KeyRole role : {KeyRole::scheduler, KeyRole::server, KeyRole::worker}) {
      const KeyPair pair = make_key(role, name(role));
      list_.emplace(pair.public_key, Allowed{role, pair.name});
      pairs_.emplace(role, pair);
    }
  }
  [[nodiscard]] const KeyPair& pair(KeyRole role) const { return pairs_.at(role); }
  [[nodiscard]] const AllowList& list() const { return list_; }

  // A context that logs nothing. `directory`: as in Keys.
  [[nodiscard]] std::unique_ptr<ZmqContext> context(const KeyPair& own,
                                                    const std::string& directory = "") const {
    return std::make_unique<ZmqContext>(
        1, std::make_unique<Trust>(Keys{own, list_, directory}, [](const std::string&) {}));
  }
  [[nodiscard]] std::unique_ptr<ZmqContext> context(KeyRole role) const { return context(pair(role)); }

 private:
  std::map<KeyRole, KeyPair> pairs_;
  AllowList list_;
};

}  // namespace steelyard::test
