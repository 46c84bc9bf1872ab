// Context pairs by name: those that ship (search/contexts.h) and those that a user adds, from a
// file or one by one. Whoever reads method strings is given a book; nothing is registered globally.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/contexts.h"

namespace counterbeam {

class ContextBook {
 public:
  // Adds a pair. BadInput that opens with `place` for a name that is taken, reserved or not made of
  // letters, digits, '-', '_' and '.', and for texts that check_pair() refuses.
  void add(ContextPair pair, std::string_view place);

  // Adds the pairs of a file {"NAME": {"positive": TEXT, "negative": TEXT}, ...}; docs/contexts.md
  // describes it. BadInput names the file, the pair and the remedy.
  void add_file(const std::filesystem::path& path);

  // The pairs that were added, in order.
  std::span<const ContextPair> added() const { return added_; }

  const ContextPair* find(std::string_view name) const;  // null: there is none of that name
  // The pair of that name. The error lists all names and suggests the nearest.
  const ContextPair& at(std::string_view name) const;

  // Puts the texts of the pair that `contexts` names into the settings, so that from then on they
  // are complete without the book. Texts that are there already must be those of the named pair; a
  // name that the book does not have is then just a label. `named`: the user gave the name.
  void resolve(Settings& settings, bool named) const;

 private:
  std::vector<ContextPair> added_;
};

}  // namespace counterbeam
