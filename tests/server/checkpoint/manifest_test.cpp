#include "server/checkpoint/manifest.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <span>

#include "core/error.h"

namespace steelyard::manifest_test {
namespace {

using ::testing::HasSubstr;

Manifest a_manifest() {
  Manifest m;
  m.progress = {2, 1180, 9, 4096, 0.1 + 0.2, "equal 1 ", {"ann", "", "carl"}};
  m.seed = 7;
  m.fingerprint = 0xABC;
  m.steps = 1180;
  m.state_slots = 1;
  append(m.layout, "a", {2, 3});
  append(m.layout, "b", {}, Rule::mean, 0.1 + 0.2, 0.25, 0.125);
  m.layout.ranges.back().norm_group = 5;
  m.layout.slice_size = 16;
  m.source = {"synthetic",
              8192,
              "99aa06d3014798d86001c324468d497f",
              256,
              {0.1 + 0.2, 0.5},
              {0.35, 1},
              28,
              30,
              2,
              10,
              {"cat", "dog \"x\"", "ü"},
              {"height", "kind"},
              {"linear, outputs = 3", "relu"},
              std::vector<double>(10, 0.1 + 0.2),
              std::vector<double>(10, 1e-3)};
  m.files["model.safetensors"] = {92, "99aa06d3014798d86001c324468d497f"};
  return m;
}

std::string refusal(const std::string& text) {
  try {
    parse_manifest(text, "M.json");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    EXPECT_THAT(failure.what(), HasSubstr("M.json: not a good checkpoint manifest: "));
    return failure.what();
  }
  return "accepted";
}

TEST(Manifest, RoundTrips) {
  const Manifest m = parse_manifest(manifest_text(a_manifest()), "M.json");
  EXPECT_EQ(m.progress.term, 2U);
  EXPECT_EQ(m.progress.version, 1180U);
  EXPECT_EQ(m.progress.seconds, 0.1 + 0.2);  // exactly
  EXPECT_EQ(m.progress.policy_state, "equal 1 ");
  EXPECT_EQ(m.progress.workers, (std::vector<std::string>{"ann", "", "carl"}));
  EXPECT_EQ(m.fingerprint, 0xABCU);
  EXPECT_EQ(m.state_slots, 1U);
  EXPECT_EQ(m.layout, a_manifest().layout);
  EXPECT_EQ(m.source, a_manifest().source);
  EXPECT_EQ(m.files, a_manifest().files);
}

TEST(Manifest, EachTargetHasItsScale) {
  Manifest m = a_manifest();
  m.source.target_mean.pop_back();
  EXPECT_THAT(refusal(manifest_text(m)), HasSubstr("does not have a number for each target"));
}

// An earlier release did not store the shape of the samples.
TEST(Manifest, ReadsTheSamplesOfAnEarlierRelease) {
  using Json = nlohmann::ordered_json;
  Json whole = Json::parse(manifest_text(a_manifest()));
  for (const char* key : {"height", "width", "channels", "classes", "class_names", "column_names", "layers",
                          "target_mean", "target_deviation"})
    EXPECT_EQ(whole["checkpoint"]["samples"].erase(key), 1U);
  const std::string body = whole["checkpoint"].dump();
  whole["xxh3_128"] = seal(std::as_bytes(std::span(body))).xxh3_128;
  SampleSource expected = a_manifest().source;
  expected.height = expected.width = expected.channels = expected.classes = 0;
  expected.class_names = expected.column_names = expected.layers = {};
  expected.target_mean = expected.target_deviation = {};
  EXPECT_EQ(parse_manifest(whole.dump(), "M.json").source, expected);
}

// An earlier release stored `decay` as a boolean, without `rate` and `keep`.
TEST(Manifest, ReadsTheLayoutOfAnEarlierRelease) {
  using Json = nlohmann::json;
  Json whole = Json::parse(manifest_text(a_manifest()));
  for (Json& range : whole["checkpoint"]["layout"]["ranges"]) {
    range["decay"] = range["begin"] == 0;
    range.erase("rate");
    range.erase("keep");
  }
  const std::string body = whole["checkpoint"].dump();
  whole["xxh3_128"] = seal(std::as_bytes(std::span(body))).xxh3_128;
  const Layout layout = parse_manifest(whole.dump(), "M.json").layout;
  EXPECT_EQ(layout.ranges[0], (Range{.begin = 0, .end = 6}));
  EXPECT_EQ(layout.ranges[1], (Range{.begin = 6, .end = 7, .rule = Rule::mean, .decay = 0, .norm_group = 5}));
}

TEST(Manifest, AWrongHashOrStructureIsRefused) {
  std::string text = manifest_text(a_manifest());
  text.replace(text.find("1180"), 4, "1181");
  EXPECT_THAT(refusal(text), HasSubstr("its hash does not match its contents"));
  EXPECT_THAT(refusal(""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("\"checkpoint\" is missing"));
  EXPECT_THAT(refusal("{\"checkpoint\": 3, \"xxh3_128\": 4}"), HasSubstr("\"xxh3_128\" has the wrong type"));
}

// With a valid hash: as a program with other rules for layouts would write it.
TEST(Manifest, InvalidLayoutsAreRefused) {
  Manifest m = a_manifest();
  m.layout.ranges[1].begin = 7;
  EXPECT_THAT(refusal(manifest_text(m)), HasSubstr("its ranges have holes"));
  m = a_manifest();
  m.layout.tensors[1].offset = 5;
  EXPECT_THAT(refusal(manifest_text(m)), HasSubstr("its tensors have holes"));
  m = a_manifest();
  m.layout.tensors[0].shape = {1ULL << 32, 1ULL << 32};
  EXPECT_THAT(refusal(manifest_text(m)), HasSubstr("\"a\" is larger than the model"));
  m = a_manifest();
  m.layout.tensors.pop_back();
  EXPECT_THAT(refusal(manifest_text(m)), HasSubstr("its layout is invalid"));
  m = a_manifest();
  m.layout.ranges[0].rate = -1;
  EXPECT_THAT(refusal(manifest_text(m)), HasSubstr("its ranges have invalid factors"));
  m = a_manifest();
  m.layout.slice_size = 0;
  EXPECT_THAT(refusal(manifest_text(m)), HasSubstr("its layout is invalid"));
  m = a_manifest();
  m.layout = {};
  EXPECT_THAT(refusal(manifest_text(m)), HasSubstr("its layout is invalid"));
}

}  // namespace
}  // namespace steelyard::manifest_test
