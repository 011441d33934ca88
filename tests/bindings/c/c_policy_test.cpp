#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <steelyard/steelyard.h>

#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace steelyard::test::policy_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;

using Shares = std::vector<std::uint64_t>;

struct Free {
  void operator()(steelyard_policy* policy) const { steelyard_policy_free(policy); }
};
using Held = std::unique_ptr<steelyard_policy, Free>;

Held policy(const std::string& setup) { return Held(steelyard_policy_new(setup.c_str())); }

std::string complaint(const std::string& setup) {
  EXPECT_EQ(policy(setup), nullptr) << setup;
  return steelyard_error();
}

Shares plan(const Held& policy, std::size_t workers, std::uint64_t batch) {
  Shares shares(workers, 12345);
  EXPECT_EQ(steelyard_policy_plan(policy.get(), batch, shares.data()), 0) << steelyard_error();
  return shares;
}

// Runs rounds with workers that take `each` seconds a sample. Returns the last shares.
Shares after(int rounds, const Held& policy, std::uint64_t batch, const std::vector<double>& each) {
  Shares shares = plan(policy, each.size(), batch);
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < each.size(); ++i) seconds.push_back(each[i] * static_cast<double>(shares[i]));
    EXPECT_EQ(steelyard_policy_observe(policy.get(), seconds.data()), 0) << steelyard_error();
    shares = plan(policy, each.size(), batch);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}), batch);
  }
  return shares;
}

constexpr char three[] = R"({"workers": [{"name": "a"}, {"name": "b", "kind": "cpu"}, {}]})";

TEST(BridgePolicy, SharesFollowObservedTimes) {
  const Held it = policy(three);
  ASSERT_NE(it, nullptr) << steelyard_error();
  EXPECT_THAT(plan(it, 3, 90), ElementsAre(30, 30, 30));
  const Shares shares = after(40, it, 90, {0.001, 0.002, 0.006});
  EXPECT_THAT(shares[0], AllOf(Ge(51), Lt(58)));
  EXPECT_THAT(shares[1], AllOf(Ge(24), Lt(30)));
  EXPECT_THAT(shares[2], AllOf(Ge(7), Lt(12)));
}

TEST(BridgePolicy, SharesAreMultiplesOfTheGrainExceptTheLast) {
  const Held it = policy(R"({"workers": [{}, {}], "grain": 8})");
  ASSERT_NE(it, nullptr) << steelyard_error();
  EXPECT_THAT(after(0, it, 96, {1, 1}), ElementsAre(48, 48));
  const Shares shares = after(40, it, 100, {0.001, 0.003});
  EXPECT_EQ(shares[0] % 8, 0U);
  EXPECT_THAT(shares[0], AllOf(Ge(72), Lt(81)));
  EXPECT_THAT(plan(it, 2, 5), ElementsAre(5, 0));
}

TEST(BridgePolicy, SharesStayWithinMaxBatchAndAreNeverEmpty) {
  const Held it = policy(R"({"workers": [{"max_batch": 20}, {}, {}], "grain": 8})");
  ASSERT_NE(it, nullptr) << steelyard_error();
  const Shares shares = after(40, it, 160, {0.001, 0.001, 1});
  EXPECT_EQ(shares[0], 16U);
  EXPECT_EQ(shares[2], 8U);
}

TEST(BridgePolicy, AnUnknownTimeChangesNothing) {
  const double never = -1, nan = std::numeric_limits<double>::quiet_NaN();
  const Held it = policy(R"({"workers": [{}, {}]})");
  const Shares before = after(30, it, 64, {0.001, 0.003});
  for (int round = 0; round < 5; ++round) {
    const std::vector<double> unknown{never, nan};
    EXPECT_EQ(steelyard_policy_observe(it.get(), unknown.data()), 0);
    EXPECT_EQ(plan(it, 2, 64), before);
  }
}

TEST(BridgePolicy, AnyPolicyIsAvailableByName) {
  EXPECT_THAT(after(20, policy(R"({"policy": "equal", "workers": [{}, {}]})"), 64, {1, 9}),
              ElementsAre(32, 32));
  EXPECT_THAT(after(20, policy(R"({"policy": "lb-bsp", "options": {"predictor": "last", "dead_band": 0.01},
                                   "workers": [{}, {}]})"),
                    64, {1, 3}),
              ElementsAre(48, 16));
  // dlb plans once in three rounds.
  const Held dlb = policy(R"({"policy": "dlb", "options": {"rounds": "3"}, "workers": [{}, {}]})");
  EXPECT_THAT(after(2, dlb, 64, {1, 3}), ElementsAre(32, 32));
  EXPECT_THAT(after(1, dlb, 64, {1, 3}), ElementsAre(48, 16));
}

TEST(BridgePolicy, ErrorsNameTheWrongKey) {
  EXPECT_THAT(complaint("{"), HasSubstr("not JSON"));
  EXPECT_THAT(complaint("[]"), HasSubstr("the set-up is not a JSON object"));
  EXPECT_THAT(complaint(R"({"workers": [{}], "grains": 2})"), HasSubstr("did you mean \"grain\"?"));
  EXPECT_THAT(complaint(R"({"workers": []})"), HasSubstr("\"workers\" of the set-up"));
  EXPECT_THAT(complaint("{}"), HasSubstr("\"workers\" of the set-up"));
  EXPECT_THAT(complaint(R"({"workers": [{}], "grain": 0})"), HasSubstr("\"grain\" of the set-up is 0"));
  EXPECT_THAT(complaint(R"({"workers": [{}], "policy": 3})"), HasSubstr("\"policy\" of the set-up"));
  EXPECT_THAT(complaint(R"({"workers": [{}], "policy": "steelyrd"})"), HasSubstr("\"steelyard\""));
  EXPECT_THAT(complaint(R"({"workers": [{}], "options": {"cautoin": 1}})"), HasSubstr("caution"));
  EXPECT_THAT(complaint(R"({"workers": [{}], "options": {"caution": "much"}})"), HasSubstr("caution"));
  EXPECT_THAT(complaint(R"({"workers": [{}], "options": {"caution": []}})"), HasSubstr("\"caution\" is []"));
  EXPECT_THAT(complaint(R"({"workers": [{}], "options": 1})"), HasSubstr("\"options\""));
  EXPECT_THAT(complaint(R"({"workers": [{}, 3]})"), HasSubstr("worker 1 is not a JSON object"));
  EXPECT_THAT(complaint(R"({"workers": [{"kind": "tpu"}]})"), HasSubstr("\"kind\" of worker 0 is \"tpu\""));
  EXPECT_THAT(complaint(R"({"workers": [{"max_batch": -1}]})"), HasSubstr("\"max_batch\" of worker 0 is -1"));
  EXPECT_THAT(complaint(R"({"workers": [{"max_batch": 7}], "grain": 8})"),
              HasSubstr("at least the grain of 8"));
  EXPECT_THAT(complaint(R"({"workers": [{"batch": 7}]})"), HasSubstr("worker 0 has no key \"batch\""));
  EXPECT_EQ(steelyard_policy_new(nullptr), nullptr);
}

TEST(BridgePolicy, AnUnshareableBatchIsRefusedAndTheNextIsNot) {
  const Held it = policy(R"({"workers": [{"max_batch": 4}, {"max_batch": 4}]})");
  const std::vector<double> seconds{1, 1};
  Shares shares(2);
  EXPECT_EQ(steelyard_policy_observe(it.get(), seconds.data()), 78);
  EXPECT_THAT(steelyard_error(), HasSubstr("no plan was made yet"));
  EXPECT_EQ(steelyard_policy_plan(it.get(), 0, shares.data()), 78);
  EXPECT_THAT(steelyard_error(), HasSubstr("batch of at least 1"));
  EXPECT_EQ(steelyard_policy_plan(it.get(), 9, shares.data()), 78);
  EXPECT_THAT(steelyard_error(), HasSubstr("8"));
  EXPECT_EQ(steelyard_policy_plan(it.get(), 8, shares.data()), 0);
  EXPECT_THAT(shares, Each(4));
  EXPECT_STREQ(steelyard_error(), "");
  steelyard_policy_free(nullptr);
}

// Reports every share of a plan one by one; each worker takes `each` seconds a sample.
void report(const Held& it, const std::vector<std::uint32_t>& workers, const Shares& shares,
            const std::vector<double>& each) {
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const double seconds = each[i] * static_cast<double>(shares[i]);
    EXPECT_EQ(steelyard_policy_sample(it.get(), workers[i], shares[i], seconds, -1, -1), 0)
        << steelyard_error();
  }
}

TEST(BridgePolicy, WorkersReportJoinAndLeaveOneByOne) {
  const Held it = policy(R"({"workers": [{}, {}]})");
  for (int round = 0; round < 30; ++round) report(it, {0, 1}, plan(it, 2, 64), {0.001, 0.003});
  EXPECT_EQ(plan(it, 2, 64), (Shares{48, 16}));
  EXPECT_EQ(steelyard_policy_join(it.get(), R"({"name": "late", "kind": "gpu"})"), 2);
  EXPECT_THAT(plan(it, 3, 64), Each(Ge(1U)));
  EXPECT_EQ(steelyard_policy_leave(it.get(), 0), 0);
  for (int round = 0; round < 30; ++round) report(it, {1, 2}, plan(it, 2, 64), {0.003, 0.001});
  EXPECT_EQ(plan(it, 2, 64), (Shares{16, 48}));
  EXPECT_EQ(steelyard_policy_sample(it.get(), 0, 1, 1, -1, -1), 78);
  EXPECT_THAT(steelyard_error(), HasSubstr("there is no worker 0"));
  EXPECT_EQ(steelyard_policy_join(it.get(), "{"), -1);
  EXPECT_EQ(steelyard_policy_leave(it.get(), 1), 0);
  EXPECT_EQ(steelyard_policy_leave(it.get(), 2), 78);
  EXPECT_THAT(steelyard_error(), HasSubstr("worker 2 is the last one"));
}

TEST(BridgePolicy, ASavedPolicyPlansTheSame) {
  const Held one = policy(three), other = policy(three);
  after(20, one, 90, {0.001, 0.002, 0.004});
  const char* text = steelyard_policy_save(one.get());
  ASSERT_NE(text, nullptr) << steelyard_error();
  ASSERT_EQ(steelyard_policy_restore(other.get(), text), 0) << steelyard_error();
  EXPECT_EQ(after(5, one, 90, {0.002, 0.001, 0.004}), after(5, other, 90, {0.002, 0.001, 0.004}));
}

TEST(BridgePolicy, ADamagedTextChangesNothing) {
  const Held one = policy(three), other = policy(three);
  after(20, one, 90, {0.001, 0.002, 0.004});
  const Shares before = after(20, other, 90, {0.004, 0.002, 0.001});
  const std::string text = steelyard_policy_save(one.get());
  for (std::size_t cut = 0; cut < text.size(); cut += 7) {
    EXPECT_NE(steelyard_policy_restore(other.get(), text.substr(0, cut).c_str()), 0) << cut;
  }
  EXPECT_EQ(plan(other, 3, 90), before);
}

}  // namespace
}  // namespace steelyard::test::policy_test
