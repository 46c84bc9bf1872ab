// Renders a parsed template once with one set of variables. Scopes are those of Jinja: `set` writes
// to the innermost one; loops, macros and blocks open new ones; macros see the scope in which they
// are defined.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/builtin.h"

namespace counterbeam::jinja {

struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<NameId, Value>> values;
  bool captured = false;  // held by a macro, which may outlive the block
};
using ScopePtr = std::shared_ptr<Scope>;

struct MacroObject : Object {
  const MacroDef* def = nullptr;
  ScopePtr scope;
};

struct LoopObject;

enum class Flow : std::uint8_t { Next, Break, Continue };

class Interpreter {
 public:
  Interpreter(const Program& program, const Limits& limits, const std::tm& now);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Throws an Error that names the template and the line.
  Text run(const std::vector<std::pair<std::string_view, Value>>& variables);

  const Heap& heap() const { return heap_; }
  Budget& budget() { return budget_; }
  const std::tm& now() const { return now_; }

  // obj.name and obj[key] as the sandbox resolves them; undefined if there is none.
  Value attribute(const Value& object, std::string_view name);
  Value subscript(const Value& object, const Value& key);
  // Looks for an attribute only, not an item; Missing if there is none.
  Value own_attribute(const Value& object, std::string_view name);

  Value call(const Value& function, Args args);
  Value call_filter(const Value& name, Value subject, Args args);
  bool call_test(const Value& name, Value subject, Args args);
  Value make_namespace(std::vector<std::pair<Text, Value>> items);
  // Renders the body of a recursive loop over other items: loop(items).
  Value recurse(LoopObject& loop, const Value& source);
  // Advances to the next item that passes the loop's filter. Returns false at the end.
  bool advance(LoopObject& loop, Value& item);

 private:
  class Depth;

  Flow execute(const Body& body, const ScopePtr& scope);
  Flow execute(const Stmt& stmt, const ScopePtr& scope);
  Flow execute_if(const Stmt& stmt, const ScopePtr& scope);
  Flow execute_for(const Stmt& stmt, const ScopePtr& scope, const Value& source, int depth);
  Flow execute_buffered(const Body& body, const ScopePtr& scope, Text& out);
  Flow execute_for_statement(const Stmt& stmt, const ScopePtr& scope);
  Flow execute_with(const Stmt& stmt, const ScopePtr& scope);
  Flow execute_scope(const Stmt& stmt, const ScopePtr& scope);
  Flow execute_captured(const Stmt& stmt, const ScopePtr& scope);
  void print(const Value& value);
  void print_all(const Stmt& stmt, const ScopePtr& scope);

  Value evaluate(const Expr& expr, const ScopePtr& scope);
  Value evaluate_name(const Expr& expr, const Scope* scope);
  Value evaluate_call(const Expr& expr, const ScopePtr& scope);
  Value evaluate_filter(const Expr& expr, Value subject, const ScopePtr& scope);
  // Applies the chain of a filter block: its innermost filter receives the block's text.
  Value apply_chain(const Expr& filter, Value text, const ScopePtr& scope);
  Value evaluate_test(const Expr& expr, const ScopePtr& scope);
  Value evaluate_compare(const Expr& expr, const ScopePtr& scope);
  Value evaluate_dict(const Expr& expr, const ScopePtr& scope);
  Value evaluate_concat(const Expr& expr, const ScopePtr& scope);
  Args evaluate_args(const Expr& expr, std::size_t skip, const ScopePtr& scope);
  std::vector<Value> evaluate_all(const std::vector<ExprPtr>& items, const ScopePtr& scope);

  void assign(const Expr& target, Value value, const ScopePtr& scope);
  void store(Scope& scope, NameId name, Value value);
  ScopePtr inner(const ScopePtr& scope);
  // Releases a scope's values unless a macro still needs them.
  void leave(const ScopePtr& scope);
  Value make_macro(const MacroDef& def, const ScopePtr& scope);
  Value call_macro(const MacroObject& macro, Args args);
  void bind_macro(const MacroObject& macro, Args args, const ScopePtr& scope);

  const Program& program_;
  Budget budget_;
  Heap heap_;
  std::tm now_;
  int line_ = 1;
  int depth_ = 0;
  Text* out_ = nullptr;
  ScopePtr root_;
  std::vector<ScopePtr> kept_;
  std::vector<Value> namespaces_;
};

struct LoopObject : Object {
  const Stmt* stmt = nullptr;
  ScopePtr outer;
  Value source;  // the iterable, for its length
  Items rest;
  std::size_t at = 0;
  bool filtered = false;
  std::int64_t index0 = -1;
  int depth0 = 0;
  std::int64_t known_length = -1;
  Value current, before, after;  // after: Missing unless peeked
  Value last_changed;
};

}  // namespace counterbeam::jinja
