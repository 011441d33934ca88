// KnownKeys: what one link goes by of the keys of its process: the allow-list as the link last saw it, the
// keys that were on it before and are no more, and the key that has to be met at an endpoint.
//
// A server's key need not be on the list of a worker: the scheduler, which is, told it. One that was on the
// list and was taken from it is revoked, whoever vouches for it.
//
// One thread, the link's. The trust outlives it.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "protocol/keyed_endpoint.h"
#include "transport/security/trust.h"

namespace steelyard {

class KnownKeys {
 public:
  explicit KnownKeys(const Trust* trust);  // null: plain text

  bool look();                                                               // whether the list has changed
  [[nodiscard]] const AllowList* allowed() const { return allowed_.get(); }  // null: plain text
  [[nodiscard]] bool revoked(const std::string& key) const { return revoked_.contains(key); }

  // The key that must be met there; empty for plain text. Throws Failure (configuration) where there can be
  // none: it was revoked, the scheduler's is not known, or this process has no keys.
  [[nodiscard]] std::string key_of(const KeyedEndpoint& place) const;

 private:
  const Trust* const trust_;
  std::shared_ptr<const AllowList> allowed_;
  std::set<std::string> revoked_;
};

// What people are told of a place whose key was revoked.
std::string revocation(const KeyedEndpoint& place);

}  // namespace steelyard
