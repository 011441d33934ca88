#include "bindings/c/description.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "core/error.h"

namespace steelyard::c_api::description_test {
namespace {

using testing::HasSubstr;

const std::string tensors = R"("tensors": [
  {"name": "w", "shape": [3, 2], "decay": 0.5, "rate": 2},
  {"name": "b", "shape": [], "decay": 0},
  {"name": "mean", "shape": [4], "rule": "mean"}])";

std::string with(const std::string& keys) {
  return "{" + tensors + R"(, "scheduler": "box:7070", "train_samples": 50)" + keys + "}";
}

std::string refusal(const std::string& text) {
  try {
    read_description(text.c_str());
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing was refused";
}

TEST(Description, SetsOptionsHelloAndModel) {
  const Description it =
      read_description(with(
                           R"(, "name": "ada", "kind": "gpu", "simulate_slowdown": "2", "test_samples": 7,
             "grain": 8, "job": "[train]", "quiet": true, "wait": 3, "data": "mine", "data_hash": "f00")")
                           .c_str());
  EXPECT_EQ(it.options.scheduler, "box:7070");
  EXPECT_EQ(it.hello.name, "ada");
  EXPECT_EQ(it.hello.kind, DeviceKind::gpu);
  EXPECT_EQ(it.options.spec.simulate_slowdown, "2");
  EXPECT_TRUE(it.options.quiet);
  EXPECT_EQ(it.options.wait, 3);
  const ModelDescription& model = it.model;
  EXPECT_EQ(model.train_samples, 50);
  EXPECT_EQ(model.test_samples, 7);
  EXPECT_EQ(model.grain, 8);
  EXPECT_EQ(model.job, "[train]");
  EXPECT_EQ(model.data, "mine");
  EXPECT_EQ(model.data_hash, "f00");
  ASSERT_EQ(model.layout.tensors.size(), 3);
  EXPECT_EQ(model.layout.tensors[1].offset, 6);
  EXPECT_EQ(model.layout.size(), 11);
  ASSERT_EQ(model.layout.ranges.size(), 3);
  EXPECT_EQ(model.layout.ranges[0].decay, 0.5);
  EXPECT_EQ(model.layout.ranges[0].rate, 2);
  EXPECT_EQ(model.layout.ranges[1].decay, 0);
  EXPECT_EQ(model.layout.ranges[2].rule, Rule::mean);
}

// The launcher or the user describes a script's worker there. The description takes precedence.
TEST(Description, TakesMissingKeysFromTheEnvironment) {
  setenv("STEELYARD_NAME", "bob", 1);
  setenv("STEELYARD_SIMULATE_SLOWDOWN", "2, 4@10", 1);
  setenv("STEELYARD_EXCHANGE", "sockets", 1);
  setenv("STEELYARD_KEYS", "/x/keys", 1);
  setenv("STEELYARD_TRACE", "/x/trace", 1);
  Description it = read_description(with("").c_str());
  EXPECT_EQ(it.hello.name, "bob");
  EXPECT_EQ(it.options.spec.simulate_slowdown, "2, 4@10");
  EXPECT_EQ(it.options.exchange, "sockets");
  EXPECT_EQ(it.options.keys, "/x/keys");
  EXPECT_EQ(it.options.trace, "/x/trace");
  it = read_description(with(R"(, "keys": "", "name": "ada", "slow": 3)").c_str());
  EXPECT_EQ(it.options.keys, "");
  EXPECT_EQ(it.hello.name, "ada");
  EXPECT_EQ(it.options.spec.simulate_slowdown, "3") << "by its former name";
  setenv("STEELYARD_EXCHANGE", "pigeons", 1);
  EXPECT_THAT(
      refusal(with("")),
      HasSubstr("STEELYARD_EXCHANGE = pigeons in the environment: give one of \"auto\", \"sockets\""));
  for (const char* name : {"STEELYARD_NAME", "STEELYARD_SIMULATE_SLOWDOWN", "STEELYARD_EXCHANGE",
                           "STEELYARD_KEYS", "STEELYARD_TRACE"})
    unsetenv(name);
}

TEST(Description, ErrorsNameTheWrongKey) {
  EXPECT_THAT(refusal("nonsense"), HasSubstr("the description is not JSON: give an object such as"));
  EXPECT_THAT(refusal("[]"), HasSubstr("the description is not a JSON object"));
  EXPECT_THAT(refusal(with(R"(, "nmae": "x")")), HasSubstr("has no key \"nmae\""));
  EXPECT_THAT(refusal(with(R"(, "kind": "tpu")")), HasSubstr("\"kind\" of the description is \"tpu\""));
  EXPECT_THAT(refusal(with(R"(, "name": "a b")")), HasSubstr("a b"));
  EXPECT_THAT(refusal(with(R"(, "grain": 0)")), HasSubstr("\"grain\" of the description is 0: give"));
  EXPECT_THAT(refusal(with(R"(, "test_samples": 5000000000)")), HasSubstr("no more than 4294967295"));
  EXPECT_THAT(refusal(with(R"(, "exchange": "mail")")), HasSubstr("give one of \"auto\", \"sockets\""));
  EXPECT_THAT(refusal("{" + tensors + "}"), HasSubstr("\"scheduler\" of the description is missing"));
  EXPECT_THAT(refusal("{" + tensors + R"(, "scheduler": "a:1"})"), HasSubstr("\"train_samples\""));
  EXPECT_THAT(refusal(R"({"scheduler": "a:1", "train_samples": 1, "tensors": []})"),
              HasSubstr("\"tensors\""));
}

TEST(Description, InvalidTensorsAreRefused) {
  const auto of = [](const std::string& tensor) {
    return R"({"scheduler": "a:1", "train_samples": 1, "tensors": [{"name": "v", "shape": [2]}, )" + tensor +
           "]}";
  };
  EXPECT_THAT(refusal(of(R"({"name": "w", "shape": [4294967296, 4294967296, 4294967296]})")),
              HasSubstr("\"shape\" of tensor 1"));
  EXPECT_THAT(refusal(of(R"({"name": "w", "shape": [-1]})")), HasSubstr("\"shape\" of tensor 1"));
  EXPECT_THAT(refusal(of(R"({"name": "w", "shape": 3})")), HasSubstr("a list of whole numbers"));
  EXPECT_THAT(refusal(of(R"({"shape": [3]})")), HasSubstr("\"name\" of tensor 1 is missing"));
  EXPECT_THAT(refusal(of(R"({"name": "w", "shape": [3], "rule": "max"})")),
              HasSubstr("\"step\" or \"mean\""));
  EXPECT_THAT(refusal(of(R"({"name": "w", "shape": [3], "rate": -1})")), HasSubstr("\"rate\" of tensor 1"));
}

}  // namespace
}  // namespace steelyard::c_api::description_test
