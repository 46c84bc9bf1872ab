// for loops and the `loop` variable. As in Jinja, the `if` of a loop is evaluated as the loop
// advances, so its condition sees the effects of earlier iterations.
#include <fmt/format.h>

#include "text/jinja/depth.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {

bool Interpreter::advance(LoopObject& loop, Value& item) {
  while (loop.at < loop.rest.size()) {
    item = loop.rest[loop.at++];
    budget_.step();
    if (!loop.filtered) return true;
    const ScopePtr test = inner(loop.outer);
    assign(*loop.stmt->exprs[0], item, test);
    const bool passes = truth(evaluate(*loop.stmt->exprs[2], test));
    leave(test);
    if (passes) return true;
  }
  return false;
}

Flow Interpreter::execute_for_statement(const Stmt& stmt, const ScopePtr& scope) {
  const Value source = evaluate(*stmt.exprs[1], scope);
  if (!stmt.recursive) return execute_for(stmt, scope, source, 0);
  // A recursive loop runs like a function: break cannot leave an enclosing loop.
  Text out;
  Text* const outer = out_;
  out_ = &out;
  try {
    execute_for(stmt, scope, source, 0);
  } catch (...) {
    out_ = outer;
    throw;
  }
  out_ = outer;
  out_->append(out);
  budget_.check_text(out_->size());
  return Flow::Next;
}

Flow Interpreter::execute_for(const Stmt& stmt, const ScopePtr& scope, const Value& source,
                              int depth) {
  auto owned = std::make_unique<LoopObject>();
  LoopObject& loop = *owned;
  heap_.admit(loop, sizeof(LoopObject), 1);
  const Value loop_value(Kind::Loop, owned.release());
  // Breaks the reference cycle that loop.changed(loop) creates.
  struct Forget {
    LoopObject& loop;
    ~Forget() { loop.last_changed = Value(); }
  } const forget{loop};
  loop.stmt = &stmt;
  loop.outer = scope;
  loop.source = source;
  loop.rest = items(heap_, source);
  loop.filtered = stmt.exprs[2] != nullptr;
  loop.depth0 = depth;
  bool completed = false;  // an iteration left early does not count: Jinja then runs the else
  Value item;
  ScopePtr turn = inner(scope);
  while (true) {
    if (!loop.after.missing())
      item = std::exchange(loop.after, Value());
    else if (!advance(loop, item))
      break;
    ++loop.index0;
    loop.before = std::exchange(loop.current, item);
    if (stmt.uses_loop) store(*turn, program_.loop, loop_value);
    assign(*stmt.exprs[0], item, turn);
    const Flow flow = execute(stmt.bodies[0], turn);
    if (turn->captured) {
      leave(turn);
      turn = inner(scope);
    } else {
      turn->values.clear();
    }
    if (flow == Flow::Break) break;
    if (flow == Flow::Next) completed = true;
  }
  if (completed || stmt.bodies[1].empty()) return Flow::Next;
  const ScopePtr otherwise = inner(scope);
  const Flow flow = execute(stmt.bodies[1], otherwise);
  leave(otherwise);
  return flow;
}

Value Interpreter::recurse(LoopObject& loop, const Value& source) {
  if (!loop.stmt->recursive)
    throw Fault("The loop must have the 'recursive' marker to be called recursively.");
  const Depth depth(*this);
  Text out;
  Text* const outer = out_;
  out_ = &out;
  try {
    execute_for(*loop.stmt, loop.outer, source, loop.depth0 + 1);
  } catch (...) {
    out_ = outer;
    throw;
  }
  out_ = outer;
  return heap_.text(std::move(out));
}

}  // namespace counterbeam::jinja
