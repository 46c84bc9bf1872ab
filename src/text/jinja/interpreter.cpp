// Execution of statements, and scopes.
#include "text/jinja/interpreter.h"

#include <fmt/format.h>

#include "base/error.h"
#include "text/jinja/depth.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {

Interpreter::Interpreter(const Program& program, const Limits& limits, const std::tm& now)
    : program_(program), budget_(limits), heap_(&budget_), now_(now) {}

// Breaks reference cycles: macros hold scopes, and namespaces can hold anything, even themselves.
Interpreter::~Interpreter() {
  for (const ScopePtr& scope : kept_) scope->values.clear();
  for (const Value& space : namespaces_) space.as<NamespaceObject>().items.clear();
  if (root_) root_->values.clear();
}

Text Interpreter::run(const std::vector<std::pair<std::string_view, Value>>& variables) {
  root_ = std::make_shared<Scope>();
  for (const auto& [name, value] : variables)
    for (NameId id = 0; id < program_.names.size(); ++id)
      if (program_.names[id] == name) store(*root_, id, value);
  const ScopePtr top = inner(root_);
  top->captured = true;
  kept_.push_back(top);
  Text out;
  out_ = &out;
  try {
    execute(program_.body, top);
  } catch (const Fault& fault) {
    bad_input("{}, line {}: {}", program_.name, line_, fault.what());
  }
  return out;
}

ScopePtr Interpreter::inner(const ScopePtr& scope) {
  budget_.step();
  auto made = std::make_shared<Scope>();
  made->parent = scope;
  return made;
}

void Interpreter::leave(const ScopePtr& scope) {
  if (!scope->captured) scope->values.clear();
}

void Interpreter::store(Scope& scope, NameId name, Value value) {
  for (auto& [id, old] : scope.values) {
    if (id != name) continue;
    old = std::move(value);
    return;
  }
  scope.values.emplace_back(name, std::move(value));
}

void Interpreter::assign(const Expr& target, Value value, const ScopePtr& scope) {
  if (target.kind == ExprKind::Name) return store(*scope, target.name, std::move(value));
  if (target.kind == ExprKind::NamespaceTarget) {
    const Value space = evaluate_name(target, scope.get());
    if (!space.is(Kind::Namespace)) throw Fault("cannot assign attribute on non-namespace object");
    if (target.text[0] == '_')
      throw Fault(fmt::format("a namespace cannot store the underscore-prefixed attribute '{}'",
                              target.text));
    auto& items = space.as<NamespaceObject>().items;
    for (auto& [name, old] : items) {
      if (name.view() != target.text) continue;
      old = std::move(value);
      return;
    }
    items.emplace_back(Text(target.text), std::move(value));
    return;
  }
  const Items all = items(heap_, value);
  if (all.size() != target.items.size())
    throw Fault(fmt::format("{} values to unpack (expected {}, got {})",
                            all.size() < target.items.size() ? "not enough" : "too many",
                            target.items.size(), all.size()));
  for (std::size_t i = 0; i < all.size(); ++i) assign(*target.items[i], all[i], scope);
}

Flow Interpreter::execute(const Body& body, const ScopePtr& scope) {
  const Depth depth(*this);
  for (const auto& stmt : body) {
    const Flow flow = execute(*stmt, scope);
    if (flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

Flow Interpreter::execute(const Stmt& stmt, const ScopePtr& scope) {
  budget_.step();
  line_ = stmt.line;
  switch (stmt.kind) {
    case StmtKind::Data:
      budget_.scan(stmt.data.size());
      out_->append(stmt.data);
      budget_.check_text(out_->size());
      return Flow::Next;
    case StmtKind::Print:
      print_all(stmt, scope);
      return Flow::Next;
    case StmtKind::If:
      return execute_if(stmt, scope);
    case StmtKind::For:
      return execute_for_statement(stmt, scope);
    case StmtKind::Set:
      assign(*stmt.exprs[0], evaluate(*stmt.exprs[1], scope), scope);
      return Flow::Next;
    case StmtKind::SetBlock:
    case StmtKind::FilterBlock:
      return execute_captured(stmt, scope);
    case StmtKind::With:
      return execute_with(stmt, scope);
    case StmtKind::Macro:
      store(*scope, stmt.name, make_macro(*stmt.macro, scope));
      return Flow::Next;
    case StmtKind::CallBlock: {
      const Expr& call = *stmt.exprs[0];
      Value function = evaluate(*call.items[0], scope);
      Args args = evaluate_args(call, 1, scope);
      args.named.emplace_back(Text("caller"), make_macro(*stmt.macro, scope));
      print(this->call(function, std::move(args)));
      return Flow::Next;
    }
    case StmtKind::AutoEscape:
      if (truth(evaluate(*stmt.exprs[0], scope)))
        throw Fault("autoescape is for HTML pages; a chat template cannot turn it on");
      return execute_scope(stmt, scope);
    case StmtKind::Scope:
      return execute_scope(stmt, scope);
    case StmtKind::Break:
      return Flow::Break;
    case StmtKind::Continue:
      return Flow::Continue;
    case StmtKind::Unsupported:
      throw Fault(
          fmt::format("a chat template stands alone: '{}' of another template is not "
                      "supported",
                      stmt.text));
  }
  return Flow::Next;
}

Flow Interpreter::execute_if(const Stmt& stmt, const ScopePtr& scope) {
  for (std::size_t i = 0; i < stmt.exprs.size(); ++i)
    if (truth(evaluate(*stmt.exprs[i], scope))) return execute(stmt.bodies[i], scope);
  if (stmt.bodies.size() > stmt.exprs.size()) return execute(stmt.bodies.back(), scope);
  return Flow::Next;
}

Flow Interpreter::execute_scope(const Stmt& stmt, const ScopePtr& scope) {
  // A named block sees the variables of the top level, not those of a loop around it.
  const ScopePtr parent = stmt.from_root && !kept_.empty() ? kept_.front() : scope;
  const ScopePtr block = inner(parent);
  const Flow flow = execute(stmt.bodies[0], block);
  leave(block);
  return flow;
}

Flow Interpreter::execute_with(const Stmt& stmt, const ScopePtr& scope) {
  const ScopePtr block = inner(scope);
  std::vector<Value> values;
  for (std::size_t i = 1; i < stmt.exprs.size(); i += 2)
    values.push_back(evaluate(*stmt.exprs[i], scope));
  for (std::size_t i = 0; i < values.size(); ++i)
    assign(*stmt.exprs[2 * i], std::move(values[i]), block);
  const Flow flow = execute(stmt.bodies[0], block);
  leave(block);
  return flow;
}

// Executes a body with its output in a separate text.
Flow Interpreter::execute_buffered(const Body& body, const ScopePtr& scope, Text& out) {
  Text* const outer = out_;
  out_ = &out;
  Flow flow;
  try {
    flow = execute(body, scope);
  } catch (...) {
    out_ = outer;
    throw;
  }
  out_ = outer;
  return flow;
}

Flow Interpreter::execute_captured(const Stmt& stmt, const ScopePtr& scope) {
  const ScopePtr block = inner(scope);
  Text out;
  const Flow flow = execute_buffered(stmt.bodies[0], block, out);
  leave(block);
  if (flow != Flow::Next) return flow;
  Value text = heap_.text(std::move(out));
  const ExprPtr& filter = stmt.exprs.back();
  if (filter) text = apply_chain(*filter, std::move(text), scope);
  if (stmt.kind == StmtKind::SetBlock)
    assign(*stmt.exprs[0], std::move(text), scope);
  else
    print(text);
  return Flow::Next;
}

void Interpreter::print(const Value& value) {
  append_text(heap_, *out_, value);
}

void Interpreter::print_all(const Stmt& stmt, const ScopePtr& scope) {
  for (const ExprPtr& expr : stmt.exprs) print(evaluate(*expr, scope));
}

}  // namespace counterbeam::jinja
