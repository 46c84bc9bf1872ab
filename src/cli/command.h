// How a command describes itself: as data. The parser, --help, the manual page, the completions of
// shells and "did you mean" are all made from this description, so each of them knows every option.
// A command is one file with one function that returns its description (cli/commands.h).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam::cli {

// What an option takes and where it goes. The functions below make one; the target's content at
// that moment is the default that help shows.
struct Value {
  std::string placeholder = {};           // its type in help: INT, NUMBER, TEXT, FILE; empty: flag
  std::string standard = {};              // the default; empty: none is shown
  std::string range = {};                 // "1 to 4096"; empty: anything
  std::vector<std::string> choices = {};  // values that completion offers and help lists
  bool several = false;                   // values add up: --rows 1,4 or --rows 1 --rows 4
  // Checks and stores one value; an Error opens with `origin`, the option as the user wrote it.
  std::function<void(std::string_view value, std::string_view origin)> take = {};

  bool is_flag() const { return placeholder.empty(); }
};

constexpr int kMost = std::numeric_limits<int>::max();

Value flag(bool& target);
Value text(std::string& target, std::string placeholder = "TEXT");
Value text(std::optional<std::string>& target, std::string placeholder = "TEXT");
Value file(std::string& target);  // a path of an existing or new file
Value folder(std::string& target);
// A default out of the range means "not given" and is not shown.
Value whole(int& target, int least, int most);
Value whole(std::optional<int>& target, int least, int most);
Value whole(std::uint64_t& target);
Value number(double& target, double least, double most);
Value one_of(std::string& target, std::vector<std::string> choices);
// Lists, with commas between their items.
Value texts(std::vector<std::string>& target, std::string placeholder = "TEXT");
Value wholes(std::vector<int>& target, int least, int most);
Value numbers(std::vector<double>& target, double least, double most);
// Several, one per argument.
Value repeated(std::vector<std::string>& target, std::string placeholder);
// Anything else: what is given goes to `take`.
Value custom(std::string placeholder,
             std::function<void(std::string_view value, std::string_view origin)> take);

struct Option {
  std::string name = {};      // "--beams"; an argument without a name of its own: "QUESTION"
  Value value = {};           //
  std::string help = {};      // one sentence or two, without the default, the range and the choices
  std::string standard = {};  // a default in words, in place of the value's: "all cores"
  std::string used_by = {};   // for settings: the methods that use it, "cbs, beam"
  std::string group = "Options";  // the heading in help
  std::string letter = {};        // "-q"
  bool required = false;
};

// A table in help and in the manual page that is not about options of this command.
struct Section {
  std::string title = {};
  std::string text = {};          // a paragraph before the table
  std::vector<Option> rows = {};  // name, placeholder, help and details are shown
};

// A command that is run, or a group of commands, which have its name before their own.
struct Command {
  std::string name = {};               // in a group with the group's: "contexts search"
  std::string summary = {};            // a line, in the list of commands
  std::string description = {};        // paragraphs after it; a line that opens with a space stays
  std::vector<Option> arguments = {};  // by position; the last one may take several
  std::vector<Option> options = {};    //
  std::vector<Section> sections = {};  //
  std::vector<std::string> examples = {};  // command lines, without "$ "
  std::function<void()> run = {};          // after a parse without errors
  std::vector<Command> commands = {};      // of a group, which has no options and is not run

  bool is_group() const { return !commands.empty(); }
  // The command of this group whose last word that is; null: there is none.
  const Command* find(std::string_view word) const;
  const Command& at(std::string_view word) const;  // BadInput with the nearest name
};

// The last word of a command's name.
std::string_view own_name(const Command& command);

// The whole command line.
struct Program {
  std::string name = {};
  std::string version = {};
  std::string summary = {};
  std::vector<Option> globals = {};
  std::vector<Command> commands = {};

  const Command* find(std::string_view command) const;  // null: there is none of that name
  const Command& at(std::string_view command) const;    // BadInput with the nearest name
  // Every command that can be run: those of groups in place of the groups.
  std::vector<const Command*> runnable() const;
};

}  // namespace counterbeam::cli
