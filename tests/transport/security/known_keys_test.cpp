#include "transport/security/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/complaint.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::known_keys_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class KnownKeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_key(directory_, own_);
    write_allowed(directory_, list_);
    trust_ = std::make_unique<Trust>(load_keys(directory_, own_.role, own_.name), [](const std::string&) {});
  }
  void change(const AllowList& list) {
    write_allowed(directory_, list);
    for (int looks = 0; looks < 2; ++looks) trust_->look();
  }

  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path("keys");
  const KeyPair own_ = make_key(KeyRole::worker, "ada");
  const std::string hub_ = make_key(KeyRole::scheduler, "hub").public_key;
  const std::string server_ = make_key(KeyRole::server, "s0").public_key;
  const std::string stranger_ = make_key(KeyRole::server, "s1").public_key;
  const AllowList list_{{hub_, {KeyRole::scheduler, "hub"}}, {server_, {KeyRole::server, "s0"}}};
  std::unique_ptr<Trust> trust_;
};

TEST_F(KnownKeysTest, EachEndpointHasTheExpectedKey) {
  const KnownKeys keys(trust_.get());
  EXPECT_EQ(keys.key_of({"tcp://hub:1", ""}), hub_);
  EXPECT_EQ(keys.key_of({"tcp://s0:1", server_}), server_);
  EXPECT_EQ(keys.key_of({"tcp://s1:1", stranger_}), stranger_) << "the scheduler vouches for it";
}

TEST_F(KnownKeysTest, WithoutKeysEndpointsMustBePlain) {
  KnownKeys keys(nullptr);
  EXPECT_EQ(keys.allowed(), nullptr);
  EXPECT_FALSE(keys.look());
  EXPECT_EQ(keys.key_of({"tcp://hub:1", ""}), "");
  EXPECT_THAT(complaint_of([&] { (void)keys.key_of({"tcp://s0:1", server_}); }), HasSubstr("give --keys"));
}

TEST_F(KnownKeysTest, AKeyRemovedFromTheListIsRevokedUntilRestored) {
  KnownKeys keys(trust_.get());
  EXPECT_FALSE(keys.look());
  AllowList shorter = list_;
  shorter.erase(server_);
  change(shorter);
  EXPECT_FALSE(keys.revoked(server_)) << "look() has not been called";
  EXPECT_TRUE(keys.look());
  EXPECT_FALSE(keys.look());
  EXPECT_TRUE(keys.revoked(server_));
  EXPECT_FALSE(keys.revoked(stranger_)) << "it was never in the list";
  EXPECT_THAT(complaint_of([&] {
                (void)keys.key_of({"tcp://s0:1", server_});
              }),
              AllOf(HasSubstr("tcp://s0:1"), HasSubstr("keys add"), HasSubstr(server_)));
  change(list_);
  EXPECT_TRUE(keys.look());
  EXPECT_EQ(keys.key_of({"tcp://s0:1", server_}), server_);
}

}  // namespace
}  // namespace steelyard::known_keys_test
