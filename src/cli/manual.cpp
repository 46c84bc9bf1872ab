#include "cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/help.h"

namespace counterbeam::cli {
namespace {

// Text that troff prints as it is: dashes stay dashes, a line never reads as a request.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char character : text) {
    const bool line_start = result.empty() || result.back() == '\n';
    if (line_start && (character == '.' || character == '\'')) result += "\\&";
    switch (character) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string paragraph(std::string_view text) {
  return text.empty() ? "" : ".PP\n" + escaped(text) + "\n";
}

// "-q, --quiet" and "--beams INT" with the names bold and the placeholder italic.
std::string label(const Option& option) {
  std::string names = option.letter.empty() ? "" : bold(option.letter) + ", ";
  names += bold(option.name);
  if (option.name.starts_with("-") && !option.value.is_flag())
    names += " \\fI" + escaped(option.value.placeholder) + "\\fR";
  return names;
}

std::string row(const Option& option) {
  std::string text = option.help;
  for (const std::string& detail : details_of(option)) text += " " + detail;
  return ".TP\n" + label(option) + "\n" + (text.empty() ? "\\&" : escaped(text)) + "\n";
}

std::string code_lines(const std::vector<std::string>& lines) {
  std::string result = ".PP\n.nf\n";
  for (const std::string& line : lines) result += escaped(line) + "\n";
  return result + ".fi\n";
}

std::string command_part(const Program& program, const Command& command) {
  std::string page = fmt::format(".SS {}\n", escaped(command.name));
  page += escaped(command.summary + ".") + "\n";
  page += code_lines({usage(program, command)});
  page += paragraph(command.description);
  for (const Command& member : command.commands)
    page += row({.name = member.name, .help = member.summary});
  for (const Option& argument : command.arguments) page += row(argument);
  for (const std::string& group : groups_of(command)) {
    if (group != "Options") page += paragraph(group + ":");
    for (const Option& option : command.options)
      if (option.group == group) page += row(option);
  }
  for (const Section& section : command.sections) {
    page +=
        paragraph(section.text.empty() ? section.title + ":" : section.title + ". " + section.text);
    for (const Option& option : section.rows) page += row(option);
  }
  if (!command.examples.empty()) page += paragraph("Examples:") + code_lines(command.examples);
  for (const Command& member : command.commands) page += command_part(program, member);
  return page;
}

}  // namespace

std::string manual_page(const Program& program) {
  std::string page = fmt::format(
      ".TH COUNTERBEAM 1 \"\" \"counterbeam {}\" \"User Commands\"\n.SH NAME\n{} \\- better "
      "answers "
      "from a language model by contrastive beam search\n.SH SYNOPSIS\n{} [\\fIOPTIONS\\fR] "
      "\\fICOMMAND\\fR ...\n.SH DESCRIPTION\n{}\n",
      escaped(program.version), program.name, bold(program.name), escaped(program.summary));
  page += paragraph(
      "It runs Hugging Face checkpoints on CPU or GPU. Results go to standard output; progress, "
      "notes and errors go to standard error.");
  page += ".SH GLOBAL OPTIONS\nThey may stand before or after the command.\n";
  for (const Option& option : program.globals) page += row(option);
  page +=
      ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow help; after a command, that of the command.\n";
  page += ".TP\n\\fB\\-\\-version\\fR\nShow the version.\n";
  page += ".SH COMMANDS\n";
  for (const Command& command : program.commands) page += command_part(program, command);
  page +=
      ".SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nFailed: out of memory, a full disk, results that "
      "cannot be written.\n.TP\n2\nBad usage or input.\n"
      ".SH ENVIRONMENT\n.TP\nHF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME\nWhere the local hub cache is, "
      "in this order.\n.TP\nNO_COLOR\nIf set and not empty, no colours.\n"
      ".SH SEE ALSO\nThe pages of the docs folder: search.md for methods and contexts, "
      "evaluation.md "
      "for tasks and reports, formats.md for files.\n";
  return page;
}

}  // namespace counterbeam::cli
