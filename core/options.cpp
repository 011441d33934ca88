#include "core/options.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "core/text.h"

namespace steelyard {
namespace {

std::vector<std::string> names_of(const std::vector<Option>& declared) {
  std::vector<std::string> names;
  for (const Option& option : declared) names.push_back(option.name);
  return names;
}

std::string unknown(const std::string& owner, const std::string& name, const std::vector<Option>& declared) {
  return owner + " has no option '" + name + "'" +
         (declared.empty() ? "; it has no options" : among(name, names_of(declared)));
}

// The numbers of "[32, 16]", which may also have quotes, as in ["32","16"], or no brackets; none if it is
// not a list of whole numbers.
std::vector<std::uint64_t> wholes_in(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<std::uint64_t> numbers;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(',', begin);
    std::string_view one = trimmed(text.substr(begin, end - begin));
    if (one.size() > 1 && one.starts_with('"') && one.ends_with('"')) one = one.substr(1, one.size() - 2);
    const auto number = number_in<std::uint64_t>(one);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

Option whole_option(std::string name, std::optional<std::uint64_t> otherwise, std::uint64_t least,
                    std::uint64_t most, std::string help) {
  const auto accepts = [=](const std::string& text) {
    const auto value = number_in<std::uint64_t>(text);
    return value && least <= *value && *value <= most;
  };
  return {std::move(name), otherwise ? std::to_string(*otherwise) : "",
          "a whole number from " + std::to_string(least) + " to " + std::to_string(most), std::move(help),
          accepts};
}

Option number_option(std::string name, std::optional<double> otherwise, double least, Top most,
                     std::string help) {
  const auto accepts = [=](const std::string& text) {
    const auto value = number_in<double>(text);
    return value && least <= *value && (most.below ? *value < most.value : *value <= most.value);
  };
  const std::string range =
      most.below ? "of at least " + number_text(least) + " and below " + number_text(most.value)
                 : "from " + number_text(least) + " to " + number_text(most.value);
  return {std::move(name), otherwise ? number_text(*otherwise) : "", "a number " + range, std::move(help),
          accepts};
}

Option wholes_option(std::string name, const std::vector<std::uint64_t>& otherwise, std::uint64_t least,
                     std::uint64_t most, std::string help) {
  const auto accepts = [=](const std::string& text) {
    const std::vector<std::uint64_t> values = wholes_in(text);
    return !values.empty() &&
           std::ranges::all_of(values, [&](std::uint64_t it) { return least <= it && it <= most; });
  };
  std::string text;
  for (const std::uint64_t value : otherwise) text += (text.empty() ? "[" : ", ") + std::to_string(value);
  return {std::move(name), text.empty() ? "" : text + "]",
          "a list of whole numbers from " + std::to_string(least) + " to " + std::to_string(most),
          std::move(help), accepts};
}

Option flag_option(std::string name, bool otherwise, std::string help) {
  const auto accepts = [](const std::string& text) { return text == "true" || text == "false"; };
  return {std::move(name), otherwise ? "true" : "false", "true or false", std::move(help), accepts};
}

Option word_option(std::string name, std::string otherwise, const std::vector<std::string>& words,
                   std::string help) {
  const auto accepts = [=](const std::string& text) { return std::ranges::find(words, text) != words.end(); };
  return {std::move(name), std::move(otherwise), "one of " + joined(words), std::move(help), accepts};
}

Option text_option(std::string name, std::string otherwise, std::string help) {
  return {std::move(name), std::move(otherwise), "a text", std::move(help),
          [](const std::string&) { return true; }};
}

std::optional<OptionTrouble> trouble_in(const std::string& owner, const std::vector<Option>& declared,
                                        const OptionTexts& given) {
  for (const auto& [name, value] : given) {
    const auto option = std::ranges::find(declared, name, &Option::name);
    if (option == declared.end()) return OptionTrouble{name, unknown(owner, name, declared)};
    if (!option->accepts(value)) {
      return OptionTrouble{name, owner + ", option " + name + " = '" + value + "': give " + option->allowed};
    }
  }
  return std::nullopt;
}

Options::Options(std::string owner, const std::vector<Option>& declared, const OptionTexts& given)
    : owner_(std::move(owner)), values_(given) {
  if (const auto trouble = trouble_in(owner_, declared, given)) refuse_setup(trouble->what);
  for (const Option& option : declared) {
    if (!option.otherwise.empty()) values_.emplace(option.name, option.otherwise);
  }
}

const std::string& Options::text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  refuse_setup(owner_ + " reads its option '" + name +
               "', which is not declared, or has no default and was not given: declare it where " + owner_ +
               " is registered");
}

std::uint64_t Options::whole(const std::string& name) const {
  if (const auto value = number_in<std::uint64_t>(text(name))) return *value;
  refuse_setup(owner_ + " reads its option '" + name + "' = '" + text(name) +
               "' as a whole number: declare it as one");
}

double Options::number(const std::string& name) const {
  if (const auto value = number_in<double>(text(name))) return *value;
  refuse_setup(owner_ + " reads its option '" + name + "' = '" + text(name) +
               "' as a number: declare it as one");
}

std::vector<std::uint64_t> Options::wholes(const std::string& name) const {
  std::vector<std::uint64_t> values = wholes_in(text(name));
  if (!values.empty()) return values;
  refuse_setup(owner_ + " reads its option '" + name + "' = '" + text(name) +
               "' as a list of whole numbers: declare it as one");
}

void in_name_of(const std::string& owner, const std::function<void()>& work) {
  try {
    work();
  } catch (const Failure& failure) {
    const std::string text = failure.what();
    throw Failure(failure.code(), text.starts_with(owner) ? text : owner + ": " + text);
  } catch (const std::bad_alloc&) {
    throw Failure(ExitCode::failed, owner + ": not enough memory: make it smaller");
  } catch (const std::exception& trouble) {
    throw Failure(ExitCode::failed, owner + ": it threw an exception: " + trouble.what());
  } catch (...) {
    throw Failure(ExitCode::failed, owner + ": it threw an object that is not a std::exception");
  }
}

}  // namespace steelyard
