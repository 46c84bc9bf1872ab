// The files of the chat page, embedded into the program.
#pragma once

#include <span>
#include <string_view>

#include "serve/http.h"

namespace counterbeam::serve {

struct PageFile {
  std::string_view path;  // "/index.html"
  std::string_view content;
};

// The file that a path names; null: there is none. "/" is the page itself.
const PageFile* page_file(std::string_view path);

// The answer to a request for the file: 304 where the client has it already.
HttpResponse page_response(const PageFile& file, std::string_view if_none_match);

}  // namespace counterbeam::serve
