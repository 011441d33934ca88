// What a job chooses by name - a model, a data set, a policy, a predictor - and what each of them can be
// told.
//
// Every row of a table declares its options: what may be given, what holds otherwise, and what it means.
// Checks, messages and `steelyard help model` are made from these rows. A maker gets its options complete and
// checked, for built-in rows and a user's own.
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

using OptionTexts = std::map<std::string, std::string>;  // as a job has them, by name

struct Option {
  std::string name;
  std::string otherwise;  // what holds where nothing is given; empty: nothing does
  std::string allowed;    // "a whole number from 1 to 4096": how a message ends that begins with "give"
  std::string help;       // a few words
  std::function<bool(const std::string&)> accepts;
};

// The upper end of a range: a number, or below() it.
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
Option flag_option(std::string name, bool otherwise, std::string help);
Option word_option(std::string name, std::string otherwise, const std::vector<std::string>& words,
                   std::string help);
Option text_option(std::string name, std::string otherwise, std::string help);

// The options of one model, data set or policy: declared ones only, each as it may be.
class Options {
 public:
  // Throws Failure (configuration) that names the option and what it may be.
  Options(std::string owner, const std::vector<Option>& declared, const OptionTexts& given);

  // Whether it has a value, given or by default.
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }
  // Each throws Failure (configuration) for an option that is not declared, or is and has no value.
  [[nodiscard]] std::uint64_t whole(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] bool flag(const std::string& name) const { return text(name) == "true"; }
  [[nodiscard]] const std::string& text(const std::string& name) const;

 private:
  std::string owner_;
  OptionTexts values_;
};

// A row of a table. `Make` is a function type that ends in const Options&.
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
  std::string help;  // one plain sentence
  std::vector<Option> options;
};
template <class Make>
using Choices = std::vector<Choice<Make>>;

}  // namespace steelyard
