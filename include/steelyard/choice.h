// Tables of models, data sets, policies and predictors. A job selects a row by its name and sets its options.
//
// Every row declares its options: allowed values, default and help. Checks, error messages and
// `steelyard help model` are generated from these rows. A row's function receives complete, checked options.
// This holds for built-in rows and for rows that a program adds.
//
//   {"perceptron", perceptron, "two hidden layers", {whole_option("width", 32, 1, 4096, "units in each")}}
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steelyard {

using OptionTexts = std::map<std::string, std::string>;  // name -> value, as text from the job file

struct Option {
  std::string name;
  std::string otherwise;  // the default; empty: no default
  std::string allowed;    // "a whole number from 1 to 4096": follows the word "give" in error messages
  std::string help;       // a few words
  std::function<bool(const std::string&)> accepts;  // whether the text is an allowed value
};

// The upper end of a range: the number itself is allowed, or excluded if made by below().
struct Top {
  Top(double number, bool excluded = false) : value(number), below(excluded) {}
  double value;
  bool below;
};
inline Top below(double number) { return {number, true}; }

Option whole_option(std::string name, std::optional<std::uint64_t> otherwise, std::uint64_t least,
                    std::uint64_t most, std::string help);
Option number_option(std::string name, std::optional<double> otherwise, double least, Top most,
                     std::string help);
// A list of whole numbers, as in hidden = [32, 16]; one number is a list, too.
Option wholes_option(std::string name, const std::vector<std::uint64_t>& otherwise, std::uint64_t least,
                     std::uint64_t most, std::string help);
Option flag_option(std::string name, bool otherwise, std::string help);
Option word_option(std::string name, std::string otherwise, const std::vector<std::string>& words,
                   std::string help);
Option text_option(std::string name, std::string otherwise, std::string help);

// The checked options of one model, data set or policy.
class Options {
 public:
  // Throws Failure (configuration) for an undeclared option or a value out of range; the message names the
  // option and its allowed values.
  Options(std::string owner, const std::vector<Option>& declared, const OptionTexts& given);

  // Whether the option has a value, from the job file or by default.
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }
  // Each throws Failure (configuration) if the option is not declared or has no value.
  [[nodiscard]] std::uint64_t whole(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] std::vector<std::uint64_t> wholes(const std::string& name) const;
  [[nodiscard]] bool flag(const std::string& name) const { return text(name) == "true"; }
  [[nodiscard]] const std::string& text(const std::string& name) const;

 private:
  std::string owner_;
  OptionTexts values_;
};

// A row of a table. `Make` is the type of its function; the last parameter is const Options&.
template <class Make>
struct Choice {
  Choice(std::string its_name, std::function<Make> its_make, std::string its_help = {},
         std::vector<Option> its_options = {})
      : name(std::move(its_name)),
        make(std::move(its_make)),
        help(std::move(its_help)),
        options(std::move(its_options)) {}

  std::string name;
  std::function<Make> make;
  std::string help;  // one sentence
  std::vector<Option> options;
};
template <class Make>
using Choices = std::vector<Choice<Make>>;

}  // namespace steelyard
