#include "app/cli/manual.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace steelyard {
namespace {

// A text that troff shows as it is.
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  // A line that begins with either would be a request.
  return !result.empty() && (result[0] == '.' || result[0] == '\'') ? "\\&" + result : result;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// Lines as they are, without filling.
std::string as_lines(const std::string& text) {
  std::string result = ".nf\n";
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result += plain(line) + "\n";
  return result + ".fi\n";
}

std::string with_blanks(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The branches of a `case` over the word before: what a value may be.
std::string value_cases(const ProgramText& program) {
  std::string text;
  std::vector<std::string> done;
  for (const CommandText& command : program.commands) {
    for (const OptionText& option : command.options) {
      if (option.words.empty() || !option.name.starts_with("-") ||
          std::ranges::find(done, option.name) != done.end())
        continue;
      done.push_back(option.name);
      text += "    " + option.name + ") words=\"" + with_blanks(option.words) + "\" ;;\n";
    }
  }
  return text;
}

}  // namespace

std::string man_page(const ProgramText& program) {
  const std::string name = plain(program.name);
  std::string text =
      ".TH " + upper(program.name) + " 1 \"\" \"" + program.name + " " + program.version + "\"\n.SH NAME\n" +
      name + " \\- trains neural networks on machines that are not equal\n.SH SYNOPSIS\n.B " + name +
      "\n.I COMMAND\n[\\fIOPTION\\fR...]\n.SH DESCRIPTION\n" + as_lines(program.overview) + ".SH COMMANDS\n";
  for (const CommandText& command : program.commands) {
    text += ".SS " + name + " " + plain(command.name) + "\n" + plain(command.help) + "\n";
    for (const OptionText& option : command.options) {
      text += ".TP\n.B " + plain(option.name) +
              (option.value.empty() ? "" : " \\fI" + option.value + "\\fR") + "\n" + plain(option.help) +
              "\n";
    }
    if (!command.footer.empty()) text += ".PP\n" + as_lines(command.footer);
  }
  return text + ".SH EXIT STATUS\n" + as_lines(program.footer);
}

std::string bash_completion(const ProgramText& program) {
  std::string commands, options;
  for (const CommandText& command : program.commands) {
    commands += (commands.empty() ? "" : " ") + command.name;
    std::vector<std::string> words;
    for (const OptionText& option : command.options) {
      if (option.name.starts_with("-")) {
        words.push_back(option.name);
      } else {
        words.insert(words.end(), option.words.begin(), option.words.end());
      }
    }
    options += "    " + command.name + ") words=\"" + with_blanks(words) + "\" ;;\n";
  }
  const std::string function = "_" + program.name;
  return "# Completion of " + program.name + " for bash.\n" + function + "() {\n" +
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"" +
         commands +
         " --help --version\"\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n    return\n  fi\n"
         "  case $before in\n" +
         value_cases(program) +
         "    --*) [ \"${word:0:1}\" = - ] || { mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return; } "
         ";;\n"
         "  esac\n"
         "  [ -n \"$words\" ] || case ${COMP_WORDS[1]} in\n" +
         options +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "  [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
         "}\ncomplete -o filenames -F " +
         function + " " + program.name + "\n";
}

}  // namespace steelyard
