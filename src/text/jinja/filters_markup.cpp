// Filters for HTML: escaping, marking as safe, attributes and URLs.
#include <fmt/format.h>

#include "text/jinja/builtin.h"
#include "text/jinja/chars.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"
#include "text/jinja/text_ops.h"

namespace counterbeam::jinja {
namespace {

Value escape_filter(Call& call) {
  return call.heap.text(escaped(call.heap, call[0]), true);
}

Value force_escape(Call& call) {
  return call.heap.text(escape_html(call.string(0)), true);
}

Value safe(Call& call) {
  return call.heap.text(call.string(0), true);
}

// Puts `character` in place of `entity`: trusted only where all of the entity is.
Text resolve(const Text& text, std::string_view entity, std::string_view character) {
  Text out;
  std::size_t from = 0;
  for (std::size_t at; (at = text.view().find(entity, from)) != std::string_view::npos;) {
    out.append(text, from, at);
    from = at + entity.size();
    out.append(character, text.substr(at, from).all_trusted());
  }
  out.append(text, from, text.size());
  return out;
}

// Removes tags and comments, collapses white space and resolves entities.
Value strip_tags(Call& call) {
  Text text = call.string(0);
  for (const auto& [open, close] :
       {std::pair<std::string_view, std::string_view>{"<!--", "-->"}, {"<", ">"}}) {
    Text kept;
    std::size_t from = 0;
    while (true) {
      const std::size_t start = text.view().find(open, from);
      const std::size_t end =
          start == std::string_view::npos ? start : text.view().find(close, start);
      if (end == std::string_view::npos) break;
      kept.append(text, from, start);
      from = end + close.size();
    }
    kept.append(text, from, text.size());
    text = std::move(kept);
  }
  Text joined;
  for (const Text& word : split(text, nullptr, -1, false)) {
    if (!joined.empty()) joined.append(" ");
    joined.append(word);
  }
  for (const auto& [entity, character] :
       {std::pair<std::string_view, std::string_view>{"&lt;", "<"},
        {"&gt;", ">"},
        {"&#34;", "\""},
        {"&quot;", "\""},
        {"&#39;", "'"},
        {"&nbsp;", "\u00a0"},
        {"&amp;", "&"}})
    joined = resolve(joined, entity, character);
  return call.heap.text(std::move(joined));
}

Value xml_attributes(Call& call) {
  if (!call[0].is(Kind::Dict)) call.fail("a mapping is needed");
  Text out;
  for (const auto& [key, value] : call[0].as<DictObject>().items) {
    if (value.is(Kind::None) || value.is(Kind::Undefined)) continue;
    if (!key.is(Kind::Str)) call.fail("attribute names must be strings");
    if (text_of(key).view().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos)
      call.fail(fmt::format("Invalid character in attribute name: '{}'", text_of(key).view()));
    if (!out.empty() || call.flag(1, true)) out.append(" ");
    out.append(escaped(call.heap, key));
    out.append("=\"");
    out.append(escaped(call.heap, value));
    out.append("\"");
    call.budget.check_text(out.size());
  }
  return call.heap.text(std::move(out));
}

Text quote_url(const Text& text, bool query) {
  Text out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text.view()[at]);
    const bool plain =
        (c < 0x80 && is_word(c)) || c == '.' || c == '-' || c == '~' || (c == '/' && !query);
    if (plain)
      out.append(text, at, at + 1);
    else
      out.append(query && c == ' ' ? "+" : fmt::format("%{:02X}", c), text.trusted_at(at));
  }
  return out;
}

Value url_encode(Call& call) {
  if (call[0].is(Kind::Str) || !is_iterable(call[0]))
    return call.heap.text(quote_url(call.string(0), false));
  Text out;
  const Items pairs =
      call[0].is(Kind::Dict) ? dict_items(call.heap, call[0]) : items(call.heap, call[0]);
  for (const Value& pair : pairs) {
    const Items both = items(call.heap, pair);
    if (both.size() != 2) call.fail("every item must be a pair");
    if (!out.empty()) out.append("&");
    out.append(quote_url(to_text(call.heap, both[0]), true));
    out.append("=");
    out.append(quote_url(to_text(call.heap, both[1]), true));
    call.budget.check_text(out.size());
  }
  return call.heap.text(std::move(out));
}

Value urlize(Call& call) {
  call.fail("links are for HTML pages; a chat template cannot make them");
}

}  // namespace

std::vector<Builtin> markup_filters() {
  return {
      {"e", escape_filter, "_s"},
      {"escape", escape_filter, "_s"},
      {"forceescape", force_escape, "_value"},
      {"safe", safe, "_value"},
      {"striptags", strip_tags, "_value"},
      {"xmlattr", xml_attributes, "_d ?autospace"},
      {"urlencode", url_encode, "_value"},
      {"urlize", urlize, "_value *rest **named"},
  };
}

}  // namespace counterbeam::jinja
