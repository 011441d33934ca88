// Trust: the keys of this process, and whom it lets in. The list is watched: who is taken from it while the
// job runs is let in no more, and what its connections still say is ignored
// (transport/security/peer_table.h).
//
// A list that cannot be read any more changes nothing, and that is said: half a file must not end a training.
// So a list is taken once it has been the same at two looks, for somebody may still be writing it; one that
// could not be read is tried at each look.
//
// allowed(), scheduler_key() and say() may be called from any thread; look() from one, and refused() from
// one, which may be another (transport/security/curve.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/time.h"
#include "protocol/keys.h"
#include "transport/security/key_files.h"

namespace steelyard {

class Trust {
 public:
  // A line for people. Any thread; it must not wait for whoever reads them.
  using Say = std::function<void(const std::string&)>;

  Trust(Keys keys, Say say);

  [[nodiscard]] const KeyPair& own() const { return own_; }
  // The scheduler's public key. Throws Failure (configuration) if the list has none, or several.
  [[nodiscard]] std::string scheduler_key() const;
  [[nodiscard]] std::shared_ptr<const AllowList> allowed() const { return allowed_.load(); }

  void look();  // whether the list has changed; one that has holds from the next look on
  // Says so, once for each key while the list stays the same, and of some keys a minute.
  void refused(const std::string& key, const std::string& address, Time now = steady_now());
  void say(const std::string& text) const { say_(text); }

 private:
  void take(AllowList list);

  const KeyPair own_;
  const std::string directory_;
  const Say say_;
  std::string stamp_, seen_;  // of the list that holds, and at the last look
  std::string trouble_;       // with the list, as last said
  std::atomic<std::shared_ptr<const AllowList>> allowed_;

  // Of refusals.
  std::shared_ptr<const AllowList> told_under_;  // this list
  std::set<std::string> told_;                   // of these keys
  Time minute_;                                  // since when these are counted:
  std::size_t lines_ = 0;
};

// KnownKeys: what one link goes by of the keys of its process: the allow-list as the link last saw it, the
// keys that were on it before and are no more, and the key that has to be met at an endpoint.
//
// A server's key need not be on the list of a worker: the scheduler, which is, told it. One that was on the
// list and was taken from it is revoked, whoever vouches for it.
//
// One thread, the link's. The trust outlives it.
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
