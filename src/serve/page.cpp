#include "serve/page.h"

#include <fmt/format.h>

#include <utility>

#include "base/sha256.h"

namespace counterbeam {

extern const std::span<const std::pair<std::string_view, std::string_view>> kChatPage;

namespace serve {
namespace {

std::string_view content_type(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".mjs", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".json", "application/json"},
      {".svg", "image/svg+xml"},
      {".txt", "text/plain; charset=utf-8"}};
  for (const auto& [ending, type] : kTypes)
    if (path.ends_with(ending)) return type;
  return "application/octet-stream";
}

}  // namespace

const PageFile* page_file(std::string_view path) {
  static const std::vector<PageFile> kFiles = [] {
    std::vector<PageFile> files;
    for (const auto& [name, content] : kChatPage) files.push_back({name, content});
    return files;
  }();
  if (path == "/") path = "/index.html";
  for (const PageFile& file : kFiles)
    if (file.path == path) return &file;
  return nullptr;
}

HttpResponse page_response(const PageFile& file, std::string_view if_none_match) {
  const std::string tag = fmt::format("\"{}\"", sha256(file.content).substr(0, 16));
  HttpResponse response;
  response.headers = {{"ETag", tag},
                      {"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", "default-src 'self'"},
                      {"Referrer-Policy", "no-referrer"}};
  response.type = content_type(file.path);
  if (if_none_match.find(tag) != if_none_match.npos)
    response.status = 304;
  else
    response.body = file.content;
  return response;
}

}  // namespace serve
}  // namespace counterbeam
