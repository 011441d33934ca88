#include "balancing/policies.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/random.h"

namespace steelyard::balancing::policies_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::string refusal(const std::string& name, const PolicyOptions& options) {
  try {
    make_policy(name, options);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "";
}

TEST(Policies, NamesAreSortedAndComplete) {
  EXPECT_THAT(policy_names(), IsSupersetOf({"boa", "cannikin", "dlb", "equal", "lb-bsp", "lbb", "omnilearn",
                                            "orchestra", "static", "steelyard"}));
  EXPECT_TRUE(std::ranges::is_sorted(policy_names()));
  EXPECT_GE(policy_names().size(), policy_files().size()) << "a source file defines no policy";
}

TEST(Policies, OptionsAreAccepted) {
  EXPECT_EQ(refusal("lb-bsp", {{"predictor", "last"}, {"dead_band", "0"}}), "");
  EXPECT_EQ(refusal("lb-bsp", {{"predictor", "narx"}, {"dead_band", "0.1"}}), "");
  EXPECT_EQ(refusal("static", {{"speeds", "100 80 40 20"}}), "");
  EXPECT_EQ(refusal("static", {{"curves_ms", "5.896 0.59308; 8.3 0.6 0 1e-7"}}), "");
  EXPECT_EQ(refusal("dlb", {{"rounds", "97"}}), "");
  EXPECT_EQ(refusal("lbb", {{"preset", "as-released"}, {"window", "20"}, {"guard", "true"}}), "");
  EXPECT_EQ(refusal("static", {{"curves_ms", "half: 5.896 0.59308; my slow one : 8.3"}}), "");
  EXPECT_EQ(refusal("lbb", {{"profile_ms", "5.9 0.59; 51 2.7"}, {"start", "equal"}}), "");
  EXPECT_EQ(refusal("boa", {{"period", "20"}, {"forgetting", "1"}}), "");
  EXPECT_EQ(refusal("omnilearn", {{"gain", "0.5"}, {"dead_band", "0"}, {"smoothing", "1"}}), "");
  EXPECT_EQ(refusal("cannikin", {{"overlap", "0"}, {"last", "1"}, {"forgetting", "0.9"}}), "");
  EXPECT_EQ(refusal("orchestra", {{"unit", "0.5"}, {"most_apart", "4"}, {"rounds", "9"}, {"seed", "2"}}), "");
  EXPECT_EQ(refusal("steelyard", {{"caution", "0"}}), "");
}

TEST(Policies, RefusalsListValidNames) {
  EXPECT_THAT(refusal("lbbsp", {}),
              AllOf(HasSubstr("lbbsp"), HasSubstr("boa, cannikin, "), HasSubstr(", steelyard")));
  EXPECT_THAT(refusal("lb-bsp", {{"rapid", "1"}}),
              AllOf(HasSubstr("rapid"), HasSubstr("predictor, dead_band")));
  EXPECT_THAT(refusal("equal", {{"rapid", "1"}}), AllOf(HasSubstr("rapid"), HasSubstr("no options")));
  EXPECT_THAT(refusal("lb-bsp", {{"predictor", "oracle"}}),
              AllOf(HasSubstr("oracle"), HasSubstr("last, ema, arima, rnn, narx")));
  for (const char* value : {"1", "-0.1", "3 %", "", "nan"}) {
    EXPECT_THAT(refusal("lb-bsp", {{"dead_band", value}}), HasSubstr("dead_band")) << value;
  }
}

TEST(Policies, OptionsAreCheckedInEveryPolicy) {
  EXPECT_THAT(refusal("static", {{"speeds", "100 fast"}}), HasSubstr("speeds"));
  EXPECT_THAT(refusal("static", {{"speeds", "100 0"}}), HasSubstr("positive"));
  EXPECT_THAT(refusal("static", {{"curves_ms", "1 2 3 4 5"}}), HasSubstr("one to four"));
  EXPECT_THAT(refusal("static", {{"curves_ms", ""}}), HasSubstr("curves_ms"));
  EXPECT_THAT(refusal("static", {{"curves_ms", "half: 1 2; half: 3"}}), HasSubstr("'half' is listed twice"));
  EXPECT_THAT(refusal("static", {{"curves_ms", "half:"}}), HasSubstr("one to four"));
  for (const char* curve : {"0", "0 0", "-1", "1e300", "1 2 -1e300 1e300"})
    EXPECT_THAT(refusal("static", {{"curves_ms", curve}}), HasSubstr("is not a compute time")) << curve;
  EXPECT_THAT(refusal("dlb", {{"rounds", "0"}}), HasSubstr("whole number from 1"));
  EXPECT_THAT(refusal("dlb", {{"rounds", "1.5"}}), HasSubstr("whole"));
  EXPECT_THAT(refusal("lbb", {{"preset", "released"}}), HasSubstr("paper, as-released"));
  EXPECT_THAT(refusal("lbb", {{"guard", "yes"}}), HasSubstr("true or false"));
  EXPECT_THAT(refusal("lbb", {{"fine", "0.4"}}), HasSubstr("above rapid"));
  EXPECT_THAT(refusal("boa", {{"forgetting", "2"}}), HasSubstr("forgetting"));
  EXPECT_THAT(refusal("omnilearn", {{"gain", "0"}}), HasSubstr("gain"));
  EXPECT_THAT(refusal("cannikin", {{"overlap", "1"}}), HasSubstr("overlap"));
  EXPECT_THAT(refusal("orchestra", {{"unit", "0"}}), HasSubstr("unit"));
}

// Profiles in options reach the policy: LBB computes its first split from them.
TEST(Policies, ProfilesReachTheirPolicies) {
  const std::string table2 = "5.896 0.59308; 7.151 0.58077; 8.291 0.60233; 50.982 2.67139";
  const Request request{1, 512, {{.slot = 0}, {.slot = 1}, {.slot = 2}, {.slot = 3}}};
  EXPECT_THAT(make_policy("lbb", {{"profile_ms", table2}})->plan(request), ElementsAre(166, 167, 159, 20));
  EXPECT_THAT(make_policy("static", {{"curves_ms", table2}})->plan(request), ElementsAre(166, 167, 159, 20));
  // Names select the line, not the order of the workers.
  const Request named{1, 90, {{.slot = 0, .name = "slow"}, {.slot = 1, .name = "quick"}}};
  EXPECT_THAT(make_policy("static", {{"curves_ms", "quick: 0 1; slow: 0 2"}})->plan(named),
              ElementsAre(30, 60));
  EXPECT_THAT(make_policy("lbb", {{"profile_ms", "quick: 0 1; slow: 0 2"}})->plan(named),
              ElementsAre(30, 60));
  EXPECT_THAT(make_policy("lbb", {{"profile_ms", table2}, {"start", "equal"}})->plan(request),
              ElementsAre(128, 128, 128, 128));
}

Request profiled_request() {
  return {1,
          512,
          {{.slot = 0, .profile = {0.005896, 0.00059308}},
           {.slot = 1, .profile = {0.007151, 0.00058077}},
           {.slot = 2, .profile = {0.008291, 0.00060233}},
           {.slot = 3, .profile = {0.050982, 0.00267139}}}};
}

// Before a policy has learned anything, it divides by what the workers measured. `equal` stays equal.
TEST(Policies, TheFirstSplitFollowsTheWorkersProfiles) {
  for (const std::string& name : policy_names()) {
    for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu}) {
      Request request = profiled_request();
      for (WorkerView& worker : request.workers) worker.kind = kind;
      const std::vector<std::uint64_t> shares = make_policy(name)->plan(request);
      if (name == "equal") {
        EXPECT_THAT(shares, ElementsAre(128, 128, 128, 128));
      } else {
        EXPECT_THAT(shares, ElementsAre(166, 167, 159, 20)) << name;
      }
    }
  }
}

TEST(Policies, AWorkerWithoutAProfileCountsAsTheMeanOfTheOthers) {
  for (const char* name : {"lbb", "static", "boa", "steelyard"}) {
    const Request request{
        1, 110, {{.slot = 0, .profile = {0, 1}}, {.slot = 1, .profile = {0, 3}}, {.slot = 2}}};
    EXPECT_THAT(make_policy(name)->plan(request), ElementsAre(60, 20, 30)) << name;
  }
}

TEST(Policies, OptionsComeBeforeTheWorkersProfiles) {
  const Request request = profiled_request();
  EXPECT_THAT(make_policy("lbb", {{"start", "equal"}})->plan(request), ElementsAre(128, 128, 128, 128));
  EXPECT_THAT(make_policy("static", {{"speeds", "1 1 1 1"}})->plan(request), ElementsAre(128, 128, 128, 128));
  for (const char* name : {"lbb", "steelyard"}) {
    EXPECT_THAT(make_policy(name, {{"profile_ms", "0 1; 0 1; 0 1; 0 1"}})->plan(request),
                ElementsAre(128, 128, 128, 128))
        << name;
  }
}

// The rapid step of LBB takes a0 from the profile, and a policy restored between plan and times learns the
// same as one that was not (a journal may be condensed at any time).
TEST(Policies, AProfileSurvivesARestore) {
  for (const std::string& name : policy_names()) {
    const auto policy = make_policy(name), twin = make_policy(name);
    Request request = profiled_request();
    for (std::uint64_t round = 1; round < 6; ++round) {
      request.round = round;
      const std::vector<std::uint64_t> shares = policy->plan(request);
      twin->restore(policy->save());
      for (std::uint32_t slot = 0; slot < 4; ++slot) {
        const Sample sample{slot, round, shares[slot],
                            0.001 * (slot + 2) * static_cast<double>(shares[slot])};
        policy->observe(sample), twin->observe(sample);
      }
      EXPECT_EQ(policy->save(), twin->save()) << name << ", round " << round;
    }
  }
}

// Contract of every policy, under changing random clusters, random bounds and random times.
class EveryPolicy : public testing::TestWithParam<std::string> {};

struct World {
  Random random;
  std::uint64_t round = 0;

  Request request() {
    Request r{++round, 0, {}};
    std::uint64_t most = 0;
    for (std::uint32_t slot = 0; slot < 9; ++slot) {
      if (random.below(4) == 0 && (slot < 8 || !r.workers.empty())) continue;
      WorkerView worker{.slot = slot, .kind = slot % 3 == 0 ? DeviceKind::cpu : DeviceKind::gpu};
      worker.cpu = random.uniform(), worker.memory = 1000 * random.uniform();
      worker.may_rest = random.below(2) == 0;
      worker.least = random.below(6);
      worker.most = random.below(5) == 0   ? worker.least
                    : random.below(4) == 0 ? UINT64_MAX
                                           : worker.least + random.below(90);
      most += std::min<std::uint64_t>(worker.most, 500);
      r.workers.push_back(worker);
    }
    r.positions = random.below(most + 1);
    return r;
  }

  Sample sample(const WorkerView& worker, std::uint64_t share) {
    const double speed = static_cast<double>(1 + worker.slot) * 100 * (0.5 + random.uniform());
    return {worker.slot,
            round,
            share,
            static_cast<double>(share) / speed,
            worker.cpu,
            worker.memory,
            random.uniform(),
            worker.cpu,
            worker.memory};
  }
};

void expect_valid_shares(const Request& request, const std::vector<std::uint64_t>& shares) {
  ASSERT_EQ(shares.size(), request.workers.size());
  ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}), request.positions);
  const auto may_rest = [](const WorkerView& w) { return w.may_rest && w.least <= 1; };
  std::uint64_t least = 0;
  for (const WorkerView& worker : request.workers)
    least += std::min(std::max<std::uint64_t>(worker.least, 1), worker.most);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const WorkerView& worker = request.workers[i];
    ASSERT_LE(shares[i], worker.most) << "slot " << worker.slot;
    if (may_rest(worker) && shares[i] == 0) continue;
    if (least <= request.positions) {
      ASSERT_GE(shares[i], worker.least) << "slot " << worker.slot;
    }
    if (worker.most > 0 && request.positions >= request.workers.size()) {
      ASSERT_GE(shares[i], 1u) << "slot " << worker.slot;
    }
  }
}

TEST_P(EveryPolicy, SharesSumToPositionsUnderRandomBounds) {
  const std::unique_ptr<Policy> policy = make_policy(GetParam());
  World world{Random(7)};
  for (int i = 0; i < 1500; ++i) {
    const Request request = world.request();
    const std::vector<std::uint64_t> shares = policy->plan(request);
    ASSERT_NO_FATAL_FAILURE(expect_valid_shares(request, shares)) << "round " << i;
    for (std::size_t w = 0; w < shares.size(); ++w)
      policy->observe(world.sample(request.workers[w], shares[w]));
  }
}

TEST_P(EveryPolicy, RestoredPoliciesPlanIdentically) {
  const std::unique_ptr<Policy> policy = make_policy(GetParam());
  World world{Random(8)};
  std::unique_ptr<Policy> restored;
  for (int i = 0; i < 400; ++i) {
    const Request request = world.request();
    const std::vector<std::uint64_t> shares = policy->plan(request);
    if (i >= 200) {
      ASSERT_EQ(restored->plan(request), shares) << "round " << i;
    }
    for (std::size_t w = 0; w < shares.size(); ++w) {
      const Sample sample = world.sample(request.workers[w], shares[w]);
      policy->observe(sample);
      if (i >= 200) restored->observe(sample);
    }
    if (i == 199) {
      restored = make_policy(GetParam());
      restored->restore(policy->save());
    }
  }
  EXPECT_EQ(restored->save(), policy->save());
}

TEST_P(EveryPolicy, ForeignStateIsRefusedAndChangesNothing) {
  const std::unique_ptr<Policy> policy = make_policy(GetParam());
  policy->observe({.slot = 0, .round = 1, .samples = 10, .seconds = 1});
  policy->plan({.round = 2, .positions = 10, .workers = {{.slot = 0}, {.slot = 1}}});
  const std::string own = policy->save();
  for (const std::string& text :
       {std::string(), std::string("other.1 "), own + "x ", own.substr(0, own.size() - 1)}) {
    try {
      policy->restore(text);
      FAIL() << "accepted: " << text;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::io);
    }
    EXPECT_EQ(policy->save(), own);
  }
}

TEST_P(EveryPolicy, TooSmallAClusterIsRefused) {
  const std::unique_ptr<Policy> policy = make_policy(GetParam());
  EXPECT_THROW(
      policy->plan(
          {.round = 1, .positions = 21, .workers = {{.slot = 0, .most = 10}, {.slot = 1, .most = 10}}}),
      Failure);
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, testing::ValuesIn(policy_names()), [](const auto& instance) {
  std::string name = instance.param;
  std::erase(name, '-');
  return name;
});

TEST(Policies, OnlyOrchestraSupportsPacing) {
  for (const std::string& name : policy_names()) {
    const std::unique_ptr<Policy> policy = make_policy(name);
    if (name == "orchestra") {
      EXPECT_NO_THROW(require_pacing(name, *policy));
    } else {
      try {
        require_pacing(name, *policy);
        ADD_FAILURE() << name << " was accepted";
      } catch (const Failure& failure) {
        EXPECT_THAT(failure.what(), HasSubstr("policy \"" + name + "\""));
        EXPECT_THAT(failure.what(), HasSubstr("choose policy = \"orchestra\""));
      }
    }
  }
}

}  // namespace
}  // namespace steelyard::balancing::policies_test
