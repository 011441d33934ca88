// Keys: everything that a person can set, each declared once. A key has a name, the member that it fills,
// what may stand there, and a sentence. From these follow the reading of files (app/config/toml_section.h),
// of command lines (app/launch/process_options.h) and of the description that a program gives to the C
// interface (bindings/c/description.h), environment variables, messages, `steelyard help`, the resolved job
// and the JSON schema for editors.
//
// A file has sections of keys. There are three files: of jobs (app/config/job_keys.h), of scenarios
// (app/config/scenario_keys.h) and of hosts (app/config/hosts_file.h).
//
// A schema is made for a draft: the settings that are about to be read. Each key points at the member that it
// fills, and what stands there before is its default. The draft must outlive the schema, and stay in its
// place. Rules that join several keys are no part of a schema; the reader of the file looks at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/options.h"

namespace steelyard {

// Where a value lives. The type says what kind of value it is: a text, a whole number, a number, true or
// false, a list of numbers; or options, plain values by name, of which some must be numbers.
using NumberOptions = std::map<std::string, double>;
using Field = std::variant<std::string*, std::uint64_t*, std::uint32_t*, int*, double*, bool*,
                           std::vector<double>*, std::vector<std::string>*, OptionTexts*, NumberOptions*>;

// Which values may stand there.
struct Limits {
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  double least = 0, most = infinity;                 // of a number
  bool without_least = false, without_most = false;  // the bounds themselves are not allowed
  std::vector<std::string> choices{};                // of a text; empty: any that `accepts` likes
  bool (*accepts)(std::string_view) = nullptr;       // null: any text but an empty one
  std::string expected = "a text in quotes";         // what may be given then
  // Says more of a text that is not accepted than `expected` does. Null: nothing says more.
  std::string (*complaint)(std::string_view) = nullptr;
  bool may_be_number = false;                   // a text that may be written without quotes
  std::map<std::string, std::string> former{};  // earlier names of choices, which are still read
  std::size_t longest = 0;                      // of a list, which is never empty
  bool in_help = true;                          // false: the range is wider than people want

  [[nodiscard]] bool allow(double value) const {
    return value >= least && value <= most && !(without_least && value == least) &&
           !(without_most && value == most);
  }

  static Limits any() { return {.in_help = false}; }  // of a flag, or a text that may be anything
  static Limits at_least(double least, double most = infinity) { return {least, most}; }
  static Limits above(double least, double most = infinity) { return {least, most, true}; }
  static Limits share_below_one() { return {0, 1, false, true}; }
  static Limits list(double least, std::size_t longest) {  // of numbers
    return {.least = least, .longest = longest, .in_help = false};
  }
  static Limits wide(double least, double most) { return {.least = least, .most = most, .in_help = false}; }
  static Limits one_of(const std::vector<std::string>& choices) { return {.choices = choices}; }
  [[nodiscard]] Limits renamed(const std::string& old, const std::string& present) && {
    return former[old] = present, std::move(*this);
  }
  // The choice of this name, or what has replaced it.
  [[nodiscard]] const std::string& present(const std::string& choice) const {
    const auto found = former.find(choice);
    return found == former.end() ? choice : found->second;
  }
  static Limits text(bool (*accepts)(std::string_view), const std::string& expected, bool in_help = true) {
    return {.accepts = accepts, .expected = expected, .in_help = in_help};
  }
  static Limits text_or_number(bool (*accepts)(std::string_view), const std::string& expected) {
    return {.accepts = accepts, .expected = expected, .may_be_number = true};
  }
  static Limits plain_name();
};

struct Key {
  std::string name;  // empty: any other key of the section, as one of the options in `field`
  Field field;
  Limits limits;
  std::string help;
  // As TOML, for the help, where there is no default or it does not show what is meant.
  std::string example{};
  std::string heading{};  // a line above it, where a group of keys begins

  // What a process is started with (app/processes/process_keys.h) can be given elsewhere than in a file.
  struct Elsewhere {
    bool description = false;    // to steelyard_join()
    bool environment = false;    // as STEELYARD_NAME, for commands and descriptions that do not give it
    bool of_scripts = false;     // likewise, for descriptions alone: a script finds it there
    std::string short_option{};  // "-q"
    bool required = false;       // on a command line
    bool in_help = true;         // of a command
  };
  Elsewhere elsewhere{};
  std::string former{};  // an earlier name, which is still read, with a warning

  [[nodiscard]] Key also(Elsewhere places) && { return elsewhere = std::move(places), std::move(*this); }
  [[nodiscard]] Key formerly(std::string old_name) && {
    return former = std::move(old_name), std::move(*this);
  }
};

struct Section {
  enum class Kind : std::uint8_t { one, list, named };  // [job], [[worker]], [policy.lbb]
  std::string name;                                     // "host.worker": a list in each [[host]]
  std::string help;
  std::vector<Key> keys{};
  Kind kind = Kind::one;
  bool required = false;

  [[nodiscard]] std::string title() const;  // as a person writes it
  [[nodiscard]] const Key* find(std::string_view key) const;
};

struct Schema {
  std::string title;  // "a job of steelyard"
  std::string intro;  // what people have to know first, as lines; may be empty
  std::vector<Section> sections;

  [[nodiscard]] const Section* find(std::string_view section) const;
  [[nodiscard]] const Section& at(std::string_view section) const;  // one that there is
};

// "a whole number of at least 1", "one of "sgd", "momentum"": how a message ends that begins with "give".
std::string allowed(const Key& key);
// What stands in the draft, as TOML.
std::string value_text(const Key& key);
// Puts a value that is given as text, not as TOML, where it belongs. False if it may not stand there.
bool take_text(const Key& key, const std::string& text);
// "--max-batch" and "STEELYARD_MAX_BATCH" of max_batch.
std::string option_name(const std::string& key);
std::string variable_name(const std::string& key);

// All keys with defaults or examples, allowed values and meaning, for people.
std::string describe(const Schema& schema);
// For editors that complete and check TOML by a JSON schema (draft 7).
std::string json_schema(const Schema& schema);

// Values as TOML writes them.
std::string toml_quoted(std::string_view text);  // "so \"that\" any text can be read again"

// An option's text as a value: bare if reading it bare gives the same text back, in quotes otherwise.
std::string option_text(const std::string& text);

// For tables that are made of parts.
std::vector<Key> joined(std::vector<std::vector<Key>> parts);

// A name (protocol/node.h) that can be a file's too: without ':', '/', '@' and '+', and no '.' or '-' first.
bool is_plain_name(std::string_view name);

}  // namespace steelyard
