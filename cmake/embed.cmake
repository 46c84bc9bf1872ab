# embed(TARGET NAME FILE [PART...]): generates a source of the target that defines `extern const
# std::string_view kNAME` with the content of FILE. Each PART is the path of a file, and its content
# replaces the line "/*NAME_OF_PART*/" of FILE. The source is regenerated when a file changes.
function(embed target name file)
  file(READ ${PROJECT_SOURCE_DIR}/${file} EMBEDDED_TEXT)
  foreach(part IN LISTS ARGN)
    get_filename_component(part_name ${part} NAME)
    file(READ ${PROJECT_SOURCE_DIR}/${part} part_text)
    string(FIND "${EMBEDDED_TEXT}" "/*${part_name}*/\n" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "${file}: has no line /*${part_name}*/ for ${part}")
    endif()
    string(REPLACE "/*${part_name}*/\n" "${part_text}" EMBEDDED_TEXT "${EMBEDDED_TEXT}")
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
  target_sources(${target} PRIVATE ${generated})
endfunction()

# embed_folder(TARGET NAME FOLDER OTHERWISE): generates a source of the target that defines the list
# kNAME of pairs: the path of every file of FOLDER, from "/", and its content. A folder without an
# index.html is not there yet: then the file OTHERWISE is its index.html.
function(embed_folder target name folder otherwise)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${folder}
       ${PROJECT_SOURCE_DIR}/${folder}/*)
  set(root ${folder}/)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/index.html)
    set(files index.html)
    set(root "")
  endif()
  set(EMBEDDED_PAIRS "")
  foreach(file IN LISTS files)
    set(path ${root}${file})
    if(root STREQUAL "")
      set(path ${otherwise})
    endif()
    file(READ ${PROJECT_SOURCE_DIR}/${path} text)
    string(APPEND EMBEDDED_PAIRS "    {\"/${file}\", R\"embedded(${text})embedded\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path})
  endforeach()
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
  target_sources(${target} PRIVATE ${generated})
endfunction()
