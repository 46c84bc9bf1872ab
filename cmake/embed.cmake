# Pages are longer than the 65,536 bytes of a literal that every compiler must support; ours support more.
function(add_generated target source)
  target_sources(${target} PRIVATE ${source})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  endif()
endfunction()

# embed(TARGET NAME FILE [PART...]): generates a source of the target that defines `extern const
# std::string_view kNAME` with the content of FILE. Each PART is the path of a file. Its content
# replaces the line "/*NAME_OF_PART*/" of FILE; without such a line, parts are put in the place of
# the line "/*styles*/" (.css) or "/*scripts*/" (.js), one after the other in the order given. The
# source is regenerated when a file changes.
function(embed target name file)
  file(READ ${PROJECT_SOURCE_DIR}/${file} EMBEDDED_TEXT)
  set(styles "")
  set(scripts "")
  foreach(part IN LISTS ARGN)
    get_filename_component(part_name ${part} NAME)
    get_filename_component(kind ${part} LAST_EXT)
    file(READ ${PROJECT_SOURCE_DIR}/${part} part_text)
    string(FIND "${EMBEDDED_TEXT}" "/*${part_name}*/\n" found)
    if(NOT found EQUAL -1)
      string(REPLACE "/*${part_name}*/\n" "${part_text}" EMBEDDED_TEXT "${EMBEDDED_TEXT}")
    elseif(kind STREQUAL ".css")
      string(APPEND styles "${part_text}")
    else()
      string(APPEND scripts "${part_text}")
    endif()
  endforeach()
  foreach(place IN ITEMS styles scripts)
    string(FIND "${EMBEDDED_TEXT}" "/*${place}*/\n" found)
    if(found EQUAL -1 AND NOT "${${place}}" STREQUAL "")
      message(FATAL_ERROR "${file}: has no line /*${place}*/ for the parts that have no line of their own")
    endif()
    string(REPLACE "/*${place}*/\n" "${${place}}" EMBEDDED_TEXT "${EMBEDDED_TEXT}")
  endforeach()
  foreach(source IN ITEMS ${file} ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${source})
  endforeach()
  set(EMBEDDED_NAME ${name})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [==[
#include <string_view>
namespace counterbeam {
extern const std::string_view k@EMBEDDED_NAME@;
const std::string_view k@EMBEDDED_NAME@ = R"embedded(@EMBEDDED_TEXT@)embedded";
}  // namespace counterbeam
]==])
  add_generated(${target} ${generated})
endfunction()

# embed_site(TARGET NAME FILE...): generates a source of the target that defines the list `kNAME` of pairs
# (path, content) for a page that is served as several files, so that its policy can forbid scripts within
# HTML. Scripts are joined in the order given into /page.js and styles into /page.css; every other FILE has a
# path of its own, its name.
function(embed_site target name)
  set(scripts "\"use strict\";\n")
  set(styles "")
  set(EMBEDDED_PAIRS "")
  foreach(file IN LISTS ARGN)
    get_filename_component(file_name ${file} NAME)
    get_filename_component(kind ${file} LAST_EXT)
    file(READ ${PROJECT_SOURCE_DIR}/${file} text)
    if(kind STREQUAL ".js")
      string(APPEND scripts "${text}")
    elseif(kind STREQUAL ".css")
      string(APPEND styles "${text}")
    else()
      string(APPEND EMBEDDED_PAIRS "    {\"/${file_name}\", R\"embedded(${text})embedded\"},\n")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  endforeach()
  string(APPEND EMBEDDED_PAIRS "    {\"/page.js\", R\"embedded(${scripts})embedded\"},\n")
  string(APPEND EMBEDDED_PAIRS "    {\"/page.css\", R\"embedded(${styles})embedded\"},\n")
  set(EMBEDDED_NAME ${name})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [==[
#include <span>
#include <string_view>
#include <utility>
namespace counterbeam {
namespace {
constexpr std::pair<std::string_view, std::string_view> kFilesOf@EMBEDDED_NAME@[] = {
@EMBEDDED_PAIRS@};
}  // namespace
extern const std::span<const std::pair<std::string_view, std::string_view>> k@EMBEDDED_NAME@;
const std::span<const std::pair<std::string_view, std::string_view>> k@EMBEDDED_NAME@ = kFilesOf@EMBEDDED_NAME@;
}  // namespace counterbeam
]==])
  add_generated(${target} ${generated})
endfunction()
