#include "app/cli/completion.h"

#include <CLI/CLI.hpp>

#include <map>

#include "app/cli/command_line.h"
#include "app/config/registry.h"
#include "sim/simulation.h"

namespace steelyard {
namespace {

struct Word {
  std::string text, about;
  std::vector<std::string> values{};  // of an option; empty: any text or file
};
struct Completed {
  Word command;
  std::vector<Word> words{};  // its options, and the values of its arguments
};

// The valid values of an option.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string name = option.get_name();
  if (name.starts_with("--policy") || name.starts_with("--policies"))
    return sim::simulated_policies(registry().policies);
  return name == "topic" ? help_topics() : std::vector<std::string>();
}

std::vector<Completed> completed(const CLI::App& app) {
  std::vector<Completed> list;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;
    Completed it{{command->get_name(), command->get_description()}};
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_group().empty()) continue;
      const std::vector<std::string> values = values_of(*option);
      if (!option->get_lnames().empty()) {
        it.words.push_back({"--" + option->get_lnames().front(), option->get_description(), values});
      } else {
        for (const std::string& value : values) it.words.push_back({value, ""});
      }
    }
    list.push_back(std::move(it));
  }
  return list;
}

// By option, its values, separated by blanks.
std::map<std::string, std::string> values_by_option(const std::vector<Completed>& all) {
  std::map<std::string, std::string> values;
  for (const Completed& it : all) {
    for (const Word& word : it.words) {
      if (!word.values.empty()) values[word.text] = CLI::detail::join(word.values, " ");
    }
  }
  return values;
}

std::string texts_of(const std::vector<Word>& words) {
  std::string texts;
  for (const Word& word : words) texts += (texts.empty() ? "" : " ") + word.text;
  return texts;
}

// In single quotes, for all three shells.
std::string in_quotes(const std::string& text, bool is_fish = false) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += is_fish ? "\\'" : "'\\''";
    } else if (c == '\\' && is_fish) {
      result += "\\\\";
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::string bash(const std::vector<Completed>& all) {
  std::string names, cases, options;
  for (const Completed& it : all) {
    names += it.command.text + " ";
    options += "    " + it.command.text + ") words=\"" + texts_of(it.words) + "\" ;;\n";
  }
  for (const auto& [name, words] : values_by_option(all))
    cases += "    " + name + ") words=\"" + words + "\" ;;\n";
  return R"(# Completion of steelyard for bash.
_steelyard() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=")" +
         names + R"(--help --version"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
  case $before in
)" + cases +
         R"(    --*) [ "${word:0:1}" = - ] || { mapfile -t COMPREPLY < <(compgen -f -- "$word"); return; } ;;
  esac
  [ -n "$words" ] || case ${COMP_WORDS[1]} in
)" + options +
         R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _steelyard steelyard
)";
}

// An entry of _describe: a word, a colon and a description.
std::string described(const Word& word) {
  std::string text = word.text + ":";
  for (const char c : word.about) text += c == ':' ? "\\:" : std::string(1, c);
  return in_quotes(text);
}

std::string zsh(const std::vector<Completed>& all) {
  std::string commands, cases, options;
  for (const Completed& it : all) {
    commands += "      " + described(it.command) + "\n";
    options += "    " + it.command.text + ") found=(\n";
    for (const Word& word : it.words) options += "      " + described(word) + "\n";
    options += "    ) ;;\n";
  }
  for (const auto& [name, words] : values_by_option(all))
    cases += "    " + name + ") compadd " + words + "; return ;;\n";
  return R"(#compdef steelyard
_steelyard() {
  local -a found
  if (( CURRENT == 2 )); then
    found=(
)" + commands +
         R"(    )
    _describe command found
    return
  fi
  case $words[CURRENT-1] in
)" + cases +
         R"(  esac
  case $words[2] in
)" + options +
         R"(  esac
  if [[ $PREFIX == -* || $words[2] == help ]]; then _describe word found; else _files; fi
}
_steelyard "$@"
)";
}

std::string fish(const std::vector<Completed>& all) {
  std::string text = "# Completion of steelyard for fish.\n";
  for (const Completed& it : all) {
    text += "complete -c steelyard -n __fish_use_subcommand -f -a " + it.command.text + " -d " +
            in_quotes(it.command.about, true) + "\n";
    const std::string after =
        "complete -c steelyard -n '__fish_seen_subcommand_from " + it.command.text + "' ";
    for (const Word& word : it.words) {
      if (!word.text.starts_with("--")) {
        text += after + "-f -a " + in_quotes(word.text, true) + "\n";
        continue;
      }
      text += after + "-l " + word.text.substr(2) + " -d " + in_quotes(word.about, true);
      if (!word.values.empty()) text += " -x -a " + in_quotes(CLI::detail::join(word.values, " "), true);
      text += "\n";
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const std::vector<Completed> all = completed(app);
  return shell == "zsh" ? zsh(all) : shell == "fish" ? fish(all) : bash(all);
}

}  // namespace steelyard
