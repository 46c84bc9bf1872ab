#include "text/jinja/text_ops.h"

#include <algorithm>

#include "text/jinja/chars.h"

namespace counterbeam::jinja {
namespace {

// Rewrites every character: change(out, code, first) appends the replacement.
template <typename Change>
Text map_points(const Text& text, Change change) {
  Text out;
  out.reserve(text.size());
  const std::string_view view = text.view();
  std::string piece;
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint point = decode(view, at);
    piece.clear();
    change(piece, point.value);
    out.append(piece, text.trusted_at(at));
    at += point.size;
  }
  return out;
}

bool strippable(char32_t code, const std::string_view* chars) {
  if (!chars) return is_space(code);
  for (std::size_t at = 0; at < chars->size();) {
    const CodePoint point = decode(*chars, at);
    if (point.value == code) return true;
    at += point.size;
  }
  return false;
}

std::size_t previous(std::string_view text, std::size_t at) {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

std::vector<Text> split_space(const Text& text, std::int64_t limit) {
  const std::string_view view = text.view();
  std::vector<Text> parts;
  std::size_t at = skip_space(view, 0);
  while (at < view.size()) {
    if (limit == 0) {
      parts.push_back(text.substr(at, view.size()));
      break;
    }
    --limit;
    std::size_t end = at;
    while (end < view.size() && !is_space(decode(view, end).value)) end += decode(view, end).size;
    parts.push_back(text.substr(at, end));
    at = skip_space(view, end);
  }
  return parts;
}

std::vector<Text> split_space_right(const Text& text, std::int64_t limit) {
  const std::string_view view = text.view();
  std::vector<Text> parts;
  std::size_t end = trim_end(view);
  while (end > 0) {
    if (limit == 0) {
      parts.push_back(text.substr(0, end));
      break;
    }
    --limit;
    std::size_t start = end;
    while (start > 0 && !is_space(decode(view, previous(view, start)).value))
      start = previous(view, start);
    parts.push_back(text.substr(start, end));
    end = trim_end(view.substr(0, start));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> split_at(const Text& text, std::string_view separator, std::int64_t limit) {
  std::vector<Text> parts;
  std::size_t from = 0;
  for (; limit != 0; --limit) {
    const std::size_t found = text.view().find(separator, from);
    if (found == std::string_view::npos) break;
    parts.push_back(text.substr(from, found));
    from = found + separator.size();
  }
  parts.push_back(text.substr(from, text.size()));
  return parts;
}

std::vector<Text> split_at_right(const Text& text, std::string_view separator, std::int64_t limit) {
  std::vector<Text> parts;
  std::size_t end = text.size();
  for (; limit != 0; --limit) {
    const std::size_t found = end < separator.size()
                                  ? std::string_view::npos
                                  : text.view().rfind(separator, end - separator.size());
    if (found == std::string_view::npos) break;
    parts.push_back(text.substr(found + separator.size(), end));
    end = found;
  }
  parts.push_back(text.substr(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

Text strip(const Text& text, Side side, const std::string_view* chars) {
  const std::string_view view = text.view();
  std::size_t from = 0, to = view.size();
  if (side != Side::Right)
    while (from < to && strippable(decode(view, from).value, chars))
      from += decode(view, from).size;
  if (side != Side::Left)
    while (to > from && strippable(decode(view, previous(view, to)).value, chars))
      to = previous(view, to);
  return text.substr(from, to);
}

Text upper(const Text& text) {
  return map_points(text, append_upper);
}

Text lower(const Text& text) {
  return map_points(text, append_lower);
}

Text fold_case(const Text& text) {
  return map_points(text, append_folded);
}

Text swap_case(const Text& text) {
  return map_points(text, [](std::string& out, char32_t code) {
    is_upper(code) ? append_lower(out, code) : append_upper(out, code);
  });
}

Text capitalize(const Text& text) {
  bool first = true;
  return map_points(text, [&](std::string& out, char32_t code) {
    first ? append_title(out, code) : append_lower(out, code);
    first = false;
  });
}

Text title(const Text& text) {
  bool after_cased = false;
  return map_points(text, [&](std::string& out, char32_t code) {
    after_cased ? append_lower(out, code) : append_title(out, code);
    after_cased = is_upper(code) || is_lower(code) || is_title(code);
  });
}

Text replace(const Text& text, const Text& old, const Text& fresh, std::int64_t count,
             Budget& budget) {
  Text out;
  std::size_t from = 0, at = 0;
  budget.scan(text.size());
  while (count != 0) {
    const std::size_t found = text.view().find(old.view(), at);
    if (found == std::string_view::npos) break;
    out.append(text, from, found);
    out.append(fresh);
    budget.scan(fresh.size());
    budget.check_text(out.size());
    from = found + old.size();
    --count;
    if (!old.empty()) {
      at = from;
    } else {  // between every two characters
      if (found >= text.size()) break;
      at = found + decode(text.view(), found).size;
    }
  }
  out.append(text, from, text.size());
  return out;
}

Text pad(const Text& text, std::int64_t width, Side text_side, const Text& fill, Budget& budget) {
  const auto size = static_cast<std::int64_t>(count_points(text.view()));
  if (width <= size) return text;
  const std::int64_t gap = width - size;
  budget.check_text(static_cast<std::size_t>(gap));
  budget.scan(static_cast<std::size_t>(gap));
  std::int64_t left = text_side == Side::Left ? 0 : gap;
  if (text_side == Side::Both) left = gap / 2 + (gap & width & 1);
  Text out;
  for (std::int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (std::int64_t i = left; i < gap; ++i) out.append(fill);
  return out;
}

std::vector<Text> split(const Text& text, const Text* separator, std::int64_t limit,
                        bool from_right) {
  if (!separator) return from_right ? split_space_right(text, limit) : split_space(text, limit);
  return from_right ? split_at_right(text, separator->view(), limit)
                    : split_at(text, separator->view(), limit);
}

std::vector<Text> split_lines(const Text& text, bool keep_ends) {
  const std::string_view view = text.view();
  std::vector<Text> lines;
  std::size_t from = 0;
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint point = decode(view, at);
    std::size_t next = at + point.size;
    if (!is_line_end(point.value)) {
      at = next;
      continue;
    }
    if (point.value == '\r' && next < view.size() && view[next] == '\n') ++next;
    lines.push_back(text.substr(from, keep_ends ? next : at));
    from = at = next;
  }
  if (from < view.size()) lines.push_back(text.substr(from, view.size()));
  return lines;
}

}  // namespace counterbeam::jinja
