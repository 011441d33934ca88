// Keys: every setting, declared once. A key has a name, the member that it fills, the values it accepts, and
// a help text. These serve all of: reading files (app/config/toml_section.h), command lines
// (app/launch/process_options.h) and the description that a program passes to the C interface
// (bindings/c/description.h), environment variables, error messages, `steelyard help`, the resolved job, and
// the JSON schema for editors.
//
// A file has sections of keys. There are three kinds of files: jobs (app/config/job_keys.h), scenarios
// (app/config/scenario_keys.h) and hosts (app/config/hosts_file.h).
//
// A schema is made for a draft: an object that holds the settings to read. Each key points to the member that
// it fills; the value of that member when the schema is made is the default. The draft must outlive the
// schema, and must not move. Rules that involve several keys are not in the schema; the reader of the file
// checks them.
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

// The member that a key fills. Its type is the kind of value: a text, a whole number, a number, true or
// false, a list of numbers or of texts; or options by name.
using Field = std::variant<std::string*, std::uint64_t*, std::uint32_t*, int*, double*, bool*,
                           std::vector<double>*, std::vector<std::string>*, OptionTexts*>;

// The values that a key accepts.
struct Limits {
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  double least = 0, most = infinity;                 // of a number
  bool without_least = false, without_most = false;  // the bounds themselves are not allowed
  std::vector<std::string> choices{};                // of a text; empty: any that `accepts` returns true for
  bool (*accepts)(std::string_view) = nullptr;       // null: any text but an empty one
  std::string expected = "a text in quotes";  // describes the texts that `accepts` allows, for messages
  // Explains why a text is not accepted, in more detail than `expected`. Null: use `expected`.
  std::string (*complaint)(std::string_view) = nullptr;
  bool may_be_number = false;                   // a text that may also be written as a number, without quotes
  std::map<std::string, std::string> former{};  // earlier names of choices, which are still accepted
  std::size_t longest = 0;                      // most elements of a list, which is never empty
  bool in_help = true;  // false: help leaves out the range, which is too wide to be useful

  [[nodiscard]] bool allow(double value) const {
    return value >= least && value <= most && !(without_least && value == least) &&
           !(without_most && value == most);
  }

  static Limits any() { return {.in_help = false}; }  // for a flag, or an arbitrary text
  static Limits at_least(double least, double most = infinity) { return {least, most}; }
  static Limits above(double least, double most = infinity) { return {least, most, true}; }
  static Limits share_below_one() { return {0, 1, false, true}; }
  static Limits list(double least, std::size_t longest) {  // of numbers
    return {.least = least, .longest = longest, .in_help = false};
  }
  static Limits texts(bool (*accepts)(std::string_view), std::size_t longest) {  // a list of texts
    return {.accepts = accepts, .longest = longest, .in_help = false};
  }
  static Limits wide(double least, double most) { return {.least = least, .most = most, .in_help = false}; }
  static Limits one_of(const std::vector<std::string>& choices) { return {.choices = choices}; }
  [[nodiscard]] Limits renamed(const std::string& old, const std::string& present) && {
    return former[old] = present, std::move(*this);
  }
  // The present name of a choice, given its present or a former name.
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
  std::string name;  // empty: every other key of the section is an option, stored in `field`
  Field field;
  Limits limits;
  std::string help;
  // As TOML, for the help, if there is no default or the default is not informative.
  std::string example{};
  std::string heading{};  // a line above the first key of a group, in the help

  // Places other than a file where the keys of a process (app/processes/process_keys.h) can be given.
  struct Elsewhere {
    bool description = false;    // the description passed to steelyard_join()
    bool environment = false;    // STEELYARD_NAME, for commands and descriptions that do not give it
    bool of_scripts = false;     // likewise, but only for descriptions: launch sets it for a script
    std::string short_option{};  // "-q"
    bool required = false;       // on a command line
    bool in_help = true;         // of a command
  };
  Elsewhere elsewhere{};
  std::string former{};  // an earlier name, which is still accepted, with a warning

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

  [[nodiscard]] std::string title() const;  // as in a file: "[job]", "[[worker]]", "[policy.<policy>]"
  [[nodiscard]] const Key* find(std::string_view key) const;
};

struct Schema {
  std::string title;  // "a job of steelyard"
  std::string intro;  // introduction of the help, in whole lines; may be empty
  std::vector<Section> sections;

  [[nodiscard]] const Section* find(std::string_view section) const;
  [[nodiscard]] const Section& at(std::string_view section) const;  // the section must exist
};

// Describes the accepted values, to follow "give": "a whole number of at least 1", "one of "sgd",
// "momentum"".
std::string allowed(const Key& key);
// The value in the draft, as TOML.
std::string value_text(const Key& key);
// Stores a value given as plain text (not TOML) in the draft. Returns false if the value is not accepted.
bool take_text(const Key& key, const std::string& text);
// "--max-batch" and "STEELYARD_MAX_BATCH" of max_batch.
std::string option_name(const std::string& key);
std::string variable_name(const std::string& key);

// The help text: all keys with defaults or examples, accepted values and meaning.
std::string describe(const Schema& schema);
// For editors that complete and check TOML by a JSON schema (draft 7).
std::string json_schema(const Schema& schema);

// Values as TOML writes them.
std::string toml_quoted(std::string_view text);  // escapes quotes, backslashes and control characters

// An option's value: without quotes if it reads back as the same text or is a list (core/option_list.h), in
// quotes otherwise.
std::string option_text(const std::string& text);

// Concatenates the parts of a table.
std::vector<Key> joined(std::vector<std::vector<Key>> parts);

// Whether a name (protocol/node.h) can also name a file: no ':', '/', '@' or '+', and no '.' or '-' first.
bool is_plain_name(std::string_view name);

}  // namespace steelyard
