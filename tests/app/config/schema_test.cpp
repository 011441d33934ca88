// Reading, help and JSON schemas are made from the same tables of jobs, scenarios and hosts, so they agree.
#include "app/config/schema.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/config/hosts_file.h"
#include "app/config/job_source.h"
#include "app/config/scenario_file.h"
#include "app/config/scenario_keys.h"
#include "tests/support/complaint.h"

namespace steelyard::schema_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

struct Kind {
  const char* name;
  std::function<Schema()> schema;
  std::function<void(const std::string&)> parse;
  const char* examples;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

JobDraft job;
ScenarioDraft scenario;
HostsDraft hosts;
const Kind kinds[] = {{"job", [] { return schema_of(job); },
                       [](const std::string& text) { parse_job(text, "f.toml"); }, "examples/jobs"},
                      {"scenario", [] { return schema_of(scenario); },
                       [](const std::string& text) { parse_scenario(text, "f.toml"); }, "examples/scenarios"},
                      {"hosts", [] { return schema_of(hosts); },
                       [](const std::string& text) { parse_hosts(text, "f.toml"); }, "examples/hosts.toml"}};

// The keys of a section in the JSON schema.
Json keys_in(const Json& schema, const std::string& section) {
  const std::size_t dot = section.find('.');
  Json it = schema["properties"][section.substr(0, dot)];
  if (it["type"] == "array") it = it["items"];
  return dot == std::string::npos ? it["properties"] : keys_in(it, section.substr(dot + 1));
}

// A JSON schema checker for these schemas. Returns the first error, or an empty text.
std::string trouble(const Json& value, const Json& schema, const std::string& path) {
  const auto is = [&](const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number());
  };
  const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  if (std::ranges::none_of(types, is)) return path + " is no " + types.dump();
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
    return path + " is not one of " + schema["enum"].dump();
  if (value.is_number() && schema.contains("minimum") && value < schema["minimum"]) return path + " is small";
  if (value.is_number() && schema.contains("maximum") && value > schema["maximum"]) return path + " is large";
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) return path + " has no " + name.dump();
  }
  for (const auto& [key, part] : value.items()) {
    const std::string there = path + "." + key;
    Json rule = value.is_array() ? schema.value("items", Json(true))
                                 : schema.value("additionalProperties", Json(true));
    if (value.is_object() && schema.contains("properties")) rule = schema["properties"].value(key, rule);
    if (rule == false) return there + " is unknown";
    if (!rule.is_object()) continue;
    if (std::string found = trouble(part, rule, there); !found.empty()) return found;
  }
  return "";
}

Json as_json(const std::filesystem::path& file) {
  const JobSource source(read_input(file.string(), {"example", 1, ""}), file.string(), {});
  std::ostringstream text;
  text << toml::json_formatter{source.root()};
  return Json::parse(text.str());
}

class Schemas : public testing::TestWithParam<Kind> {};

TEST_P(Schemas, HelpAndJsonHaveEveryKey) {
  const Schema schema = GetParam().schema();
  const std::string help = describe(schema);
  const Json json = Json::parse(json_schema(schema));
  EXPECT_EQ(json["additionalProperties"], false);
  for (const Section& section : schema.sections) {
    EXPECT_THAT(help, HasSubstr(section.title()));
    for (const Key& key : section.keys) {
      if (key.name.empty()) continue;
      EXPECT_THAT(help, HasSubstr("\n  " + key.name + " = ")) << section.name;
      const Json it = keys_in(json, section.name)[key.name];
      ASSERT_TRUE(it.contains("type")) << section.name << "." << key.name;
      EXPECT_THAT(it["description"].get<std::string>(), AllOf(HasSubstr(key.help), HasSubstr(allowed(key))));
      EXPECT_FALSE(it.contains("default") && it.contains("examples")) << key.name;
      if (!key.limits.in_help || key.limits.accepts != nullptr) continue;
      for (const char* shown : {"default", "examples"}) {
        const Json value =
            it.contains(shown) && it[shown].is_array() ? it[shown][0] : it.value(shown, Json());
        if (value.is_null()) continue;
        EXPECT_THAT(trouble(value, it, key.name), IsEmpty()) << "of the " << shown;
      }
    }
  }
}

TEST_P(Schemas, TheExamplesAreValid) {
  const Json schema = Json::parse(json_schema(GetParam().schema()));
  const auto place = std::filesystem::path(__FILE__).parent_path() / "../../.." / GetParam().examples;
  std::vector<std::filesystem::path> files{place};
  if (is_directory(place)) files.assign(std::filesystem::directory_iterator(place), {});
  for (const auto& file : files) EXPECT_THAT(trouble(as_json(file), schema, ""), IsEmpty()) << file;
}

TEST_P(Schemas, ATypoInAnyKeyIsRefusedWithPlaceAndSuggestion) {
  for (const Section& section : GetParam().schema().sections) {
    if (section.find("") != nullptr) continue;  // options, which are not in the table
    const std::string below = section.name.find('.') != std::string::npos ? "[[host]]\n" : "\n";
    for (const Key& key : section.keys) {
      const std::string slip = key.name + key.name.back();
      EXPECT_THAT(complaint_of([&] { GetParam().parse(below + section.title() + "\n" + slip + " = 1\n"); }),
                  AllOf(HasSubstr("f.toml:3:1: unknown key \"" + slip + "\" in " + section.title()),
                        HasSubstr("did you mean \"" + key.name + "\"?")));
    }
  }
}

TEST_P(Schemas, ATypoInASectionIsRefusedWithASuggestion) {
  for (const Section& section : GetParam().schema().sections) {
    if (section.name.find('.') != std::string::npos) continue;
    const std::string slip = section.name + "s";
    EXPECT_THAT(complaint_of([&] { GetParam().parse("[[" + slip + "]]\n"); }),
                AllOf(HasSubstr("f.toml:1"), HasSubstr("unknown section [[" + slip + "]]"),
                      HasSubstr("did you mean \"" + section.name + "\"?")));
    EXPECT_THAT(complaint_of([&] { GetParam().parse(section.name + " = 1\n"); }),
                HasSubstr("\"" + section.name + "\" must be a section: write "));
  }
}

TEST_P(Schemas, AValueOfAnotherTypeIsRefusedWithValidOnes) {
  const Schema schema = GetParam().schema();
  for (const Section& section : schema.sections) {
    const std::size_t dot = section.name.find('.');
    const std::string below =
        dot == std::string::npos ? "\n" : schema.at(section.name.substr(0, dot)).title() + "\n";
    for (const Key& key : section.keys) {
      if (key.name.empty()) continue;
      EXPECT_THAT(
          complaint_of([&] { GetParam().parse(below + section.title() + "\n" + key.name + " = [[]]\n"); }),
          AllOf(HasSubstr("f.toml:3:"), HasSubstr(key.name + " = a list in " + section.title()),
                HasSubstr(": give " + allowed(key))));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Schemas, testing::ValuesIn(kinds),
                         [](const auto& it) { return std::string(it.param.name); });

TEST(Schema, AJobSchemaHasTypesRangesAndDefaults) {
  const Json schema = Json::parse(json_schema(schema_of(job)));
  const Json train = keys_in(schema, "train");
  EXPECT_EQ(train["batch"]["type"], "integer");
  EXPECT_EQ(train["batch"]["default"], 512);
  EXPECT_EQ(train["batch"]["minimum"], 1);
  EXPECT_EQ(train["lr"]["exclusiveMinimum"], 0) << "above 0";
  EXPECT_EQ(train["momentum"]["exclusiveMaximum"], 1);
  EXPECT_EQ(train["rounds"].count("maximum"), 0U);
  EXPECT_EQ(train["optimizer"]["enum"],
            (Json{"sgd", "momentum", "nesterov", "adam", "adamw", "lars", "lamb", "worker"}));
  EXPECT_EQ(keys_in(schema, "cluster")["sync"]["default"], "bsp");
  EXPECT_EQ(keys_in(schema, "worker")["simulate_slowdown"]["type"], (Json{"string", "number"}))
      << "2, or \"2, 6@10\"";
  EXPECT_EQ(schema["required"], Json{"worker"});
  EXPECT_EQ(schema["properties"]["worker"]["minItems"], 1);
}

TEST(Schema, SectionsWithOptionsAllowFurtherKeys) {
  const Json schema = Json::parse(json_schema(schema_of(job)))["properties"];
  for (const char* open : {"model", "data"}) EXPECT_EQ(schema[open]["additionalProperties"], true) << open;
  for (const char* closed : {"job", "train", "cluster"})
    EXPECT_EQ(schema[closed]["additionalProperties"], false) << closed;
  EXPECT_EQ(schema["policy"]["additionalProperties"]["type"], "object");
}

// A scenario's training and a host's worker use the same rows of the tables as a job.
TEST(Schema, OtherFilesUseTheRowsOfAJob) {
  const auto shared = [](const Schema& schema, const char* section, const std::vector<Key>& rows) {
    for (const Key& row : rows) {
      const Key* key = schema.find(section)->find(row.name);
      ASSERT_NE(key, nullptr) << row.name;
      EXPECT_EQ(key->help, row.help);
      EXPECT_EQ(allowed(*key), allowed(row));
    }
  };
  shared(schema_of(scenario), "job", training_keys(job.file.job, job.training));
  shared(schema_of(hosts), "host.worker", worker_keys(job.worker));
}

TEST(Schema, TheHelpMarksGroupsOfKeys) {
  EXPECT_THAT(describe(schema_of(scenario)),
              AllOf(HasSubstr("exactly one of the next four\n  time_ms = [5.9, 0.593]"),
                    HasSubstr("\n  # shape = \"periodic\""), HasSubstr("number from 0 to 1\n")));
  EXPECT_THAT(describe(schema_of(hosts)),
              HasSubstr("one of the next three; without them it is this machine\n"));
}

TEST(Schema, PlainNamesAreFitForFiles) {
  for (const char* good : {"a", "lb-bsp", "run_2.5", "0"}) EXPECT_TRUE(is_plain_name(good)) << good;
  for (const char* bad : {"", ".", "..", "-x", "a/b", "a b", "ü"}) EXPECT_FALSE(is_plain_name(bad)) << bad;
  EXPECT_TRUE(is_plain_name(std::string(64, 'a')));
  EXPECT_FALSE(is_plain_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace steelyard::schema_test
