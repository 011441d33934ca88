// Trust: the keys of this process and its allow-list. The list is watched: a key that is removed while the
// job runs is no longer accepted, and messages from its connections are dropped
// (transport/security/peer_table.h).
//
// A list that becomes unreadable changes nothing and is reported: an incomplete file must not end a training.
// A changed list takes effect once two checks in a row find the same file, because at the first one it may be
// only partly written. An unreadable list is read again in each check.
//
// allowed(), scheduler_key() and say() are thread-safe; look() belongs to one thread, and refused() to one,
// which may be another (transport/security/curve.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/time.h"
#include "protocol/keys.h"
#include "transport/security/key_files.h"

namespace steelyard {

class Trust {
 public:
  // Writes a log line. Thread-safe; must not wait for readers.
  using Say = std::function<void(const std::string&)>;

  Trust(Keys keys, Say say);

  [[nodiscard]] const KeyPair& own() const { return own_; }
  // The scheduler's public key. Throws Failure (configuration) if the list has none, or several.
  [[nodiscard]] std::string scheduler_key() const;
  [[nodiscard]] std::shared_ptr<const AllowList> allowed() const {
    const std::lock_guard lock(mutex_);
    return allowed_;
  }

  void look();  // checks for changes; a changed list takes effect in the next check
  // Logs the refusal: once for each key while the list is unchanged, and a limited number a minute.
  void refused(const std::string& key, const std::string& address, Time now = steady_now());
  void say(const std::string& text) const { say_(text); }

 private:
  void take(AllowList list);

  const KeyPair own_;
  const std::string directory_;
  const Say say_;
  std::string stamp_, seen_;  // of the list in effect, and at the last check
  std::string trouble_;       // with the list, as last reported
  // Not std::atomic: that of g++ 12 orders its load() with a later store on x86-64 only.
  mutable std::mutex mutex_;                  // protects allowed_
  std::shared_ptr<const AllowList> allowed_;  // never null

  // Logged refusals:
  std::shared_ptr<const AllowList> told_under_;  // under this list
  std::set<std::string> told_;                   // of these keys
  Time minute_;                                  // begin of the minute in which these lines are counted:
  std::size_t lines_ = 0;
};

// KnownKeys: the keys that one link uses: the allow-list as of its last check, keys removed from that since,
// and the key expected at an endpoint.
//
// A server's key need not be on a worker's list: the worker gets it from the scheduler. A key that was on the
// list and was removed is revoked, even if the scheduler sends it.
//
// One thread, the link's. The trust outlives it.
class KnownKeys {
 public:
  explicit KnownKeys(const Trust* trust);  // null: plain text

  bool look();                                                               // whether the list has changed
  [[nodiscard]] const AllowList* allowed() const { return allowed_.get(); }  // null: plain text
  [[nodiscard]] bool revoked(const std::string& key) const { return revoked_.contains(key); }

  // The key expected at the endpoint; empty for plain text. Throws Failure (configuration) if it was revoked,
  // if the scheduler's is unknown, or if this process has no keys.
  [[nodiscard]] std::string key_of(const KeyedEndpoint& place) const;

 private:
  const Trust* const trust_;
  std::shared_ptr<const AllowList> allowed_;
  std::set<std::string> revoked_;
};

// The error text for a place with a revoked key.
std::string revocation(const KeyedEndpoint& place);

}  // namespace steelyard
